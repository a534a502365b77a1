// The test run in which run.mjs tries mutants: every test that enters the mutated files, in two processes.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import { readJob } from './job.mjs'
import { exclude } from './tests.mjs'

process.env.PROPERTY_RUNS ??= '5'
const { sources, tests, isIsolated = false } = readJob()
const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Files that start no process, by the ends of their names. */
const QUICK = /(?:cases|parts|units)\.test\.ts$/

/** Quick files first: a mutant that one of them kills costs the slow ones nothing. */
class QuickFirst extends BaseSequencer {
  async sort(files) {
    const smallFirst = (await super.sort(files)).reverse()
    const isQuick = ({ moduleId }) => QUICK.test(moduleId)
    return [...smallFirst.filter(isQuick), ...smallFirst.filter((file) => !isQuick(file))]
  }
}

export default defineConfig({
  root: here('../..'),
  cacheDir: here('../../.mutants/vite'),
  plugins: [{ name: 'mutants', enforce: 'pre', load: (id) => sources[id.split('?')[0]] }],
  test: {
    setupFiles: [here('./setup.mjs')],
    runner: here('./runner.mjs'),
    include: tests,
    exclude,
    pool: 'forks',
    isolate: isIsolated,
    maxWorkers: 2,
    sequence: { sequencer: QuickFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A mutant may leave a promise behind that nobody awaits. The runner counts it; it must not end the run.
    dangerouslyIgnoreUnhandledErrors: true,
    reporters: [here('./quiet-reporter.mjs')],
  },
})
