import { defineConfig } from 'vitest/config'

/** Tests that start programs and wait for them more than they compute. */
const waiting = [
  'test/{examples,package}.test.ts',
  'test/{clients,conformance,terminal}/**/*.test.ts',
  'test/cli/{demo,hostile-folder,run}.test.ts',
  'test/mcp/{kill-loop,processes,real-servers,real-servers-awkward}.test.ts',
]

export default defineConfig({
  test: {
    pool: 'forks',
    // Limits for a machine that is busy with other work; what a test waits for ends its wait.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    projects: [
      {
        // One process for many files: loading the sources anew for each took longer than most of these tests. So they
        // leave nothing behind in it: no variables, handlers or globals.
        extends: true,
        test: {
          name: 'shared',
          isolate: false,
          maxWorkers: 2,
          include: ['test/**/*.test.ts'],
          exclude: [...waiting, '**/node_modules/**'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'waiting',
          maxWorkers: 4,
          include: waiting,
          exclude: ['**/node_modules/**'],
          sequence: { groupOrder: 0 },
        },
      },
    ],
  },
})
