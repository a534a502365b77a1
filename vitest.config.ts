import { defineConfig } from 'vitest/config'

/** Tests that only compute. */
const pure = ['test/*.test.ts', 'test/{figures,oracle,search}/**/*.test.ts']
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
        test: { name: 'pure', isolate: false, include: pure, exclude: startsProcesses },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['test/*/**/*.test.ts', ...startsProcesses],
          exclude: ['test/{figures,oracle,search}/**', '**/node_modules/**'],
        },
      },
    ],
  },
})
