import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Tests that start programs and wait for them more than they compute. */
const waiting = [
  'test/{examples,package}.test.ts',
  'test/{clients,conformance,terminal}/**/*.test.ts',
  'test/cli/hostile-folder.test.ts',
  'test/inspector/page*.test.ts',
  'test/replicas/{processes,stores}.test.ts',
  // gateway-results: shelving 11 MB fails in a process that has run many other files; the cause is not known yet.
  'test/mcp/{gateway-results,kill-loop,processes,real-servers,real-servers-awkward}.test.ts',
]

/** Those that wait begin, and those that share a process follow each other: a process is kept only for the next of them. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isWaiting = ({ project }: TestSpecification) => project.name === 'waiting'
    return [...sorted.filter(isWaiting), ...sorted.filter((file) => !isWaiting(file))]
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    // More than there are cores, since many tests wait.
    maxWorkers: Math.min(6, Math.ceil(availableParallelism() * 1.5)),
    // Limits for a machine that is busy with other work; what a test waits for ends its wait.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    sequence: { sequencer: WaitingFirst },
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    projects: [
      {
        extends: true,
        test: { name: 'waiting', include: waiting, exclude: ['**/node_modules/**'] },
      },
      {
        // One process for many files: loading the sources anew for each took longer than most of these tests. So they
        // leave nothing behind in it: no variables, handlers or globals.
        extends: true,
        test: {
          name: 'shared',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...waiting, '**/node_modules/**'],
        },
      },
    ],
  },
})
