// The tests of one mutation run, in one process. run.mjs says which.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { exclude } from './tests.mjs'

process.env.PROPERTY_RUNS ??= '10'
const include = JSON.parse(process.env.MUTANTS_TESTS)

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    setupFiles: [fileURLToPath(new URL('./setup.mjs', import.meta.url))],
    include,
    exclude,
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: [],
  },
})
