// Fewer examples for each property: a mutant shows itself in the first few, or never.
import fc from 'fast-check'

fc.configureGlobal({ numRuns: 10 })
