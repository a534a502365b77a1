import { defineConfig } from 'vitest/config'

/** Tests that leave nothing behind in their process: no variables, handlers or globals. */
const shared = ['test/*.test.ts', 'test/{figures,messages,oracle,search}/**/*.test.ts']
const startsProcesses = ['test/{examples,package,validate}.test.ts']

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    projects: [
      {
        // One process for many files: loading the sources anew for each took longer than most of these tests.
        extends: true,
        test: { name: 'shared', isolate: false, include: shared, exclude: startsProcesses },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['test/*/**/*.test.ts', ...startsProcesses],
          exclude: ['test/{figures,messages,oracle,search}/**', '**/node_modules/**'],
        },
      },
    ],
  },
})
