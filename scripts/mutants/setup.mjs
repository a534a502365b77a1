// Runs property tests with fewer examples: a mutant fails in the first few, or never.
import fc from 'fast-check'

fc.configureGlobal({ numRuns: 10 })
