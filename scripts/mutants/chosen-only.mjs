// A Stryker plugin: vitest as the test runner, for the mutants that run.mjs chose. All others are skipped.
// (A checker could skip them too, but would give its worker to the tests afterwards: two processes instead of one.)
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { commonTokens, declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { strykerPlugins as vitestPlugins } from '@stryker-mutator/vitest-runner'
import { keyOf } from './choose.mjs'

const root = process.env.MUTANTS_ROOT
const chosen = new Set(JSON.parse(readFileSync(process.env.MUTANTS_CHOSEN, 'utf8')))
const isChosen = (mutant) => chosen.has(keyOf({ ...mutant, fileName: relative(root, mutant.fileName) }))

createRunner.inject = [commonTokens.injector]
function createRunner(injector) {
  const vitest = injector.injectFunction(vitestPlugins[0].factory)
  return {
    capabilities: () => vitest.capabilities(),
    init: () => vitest.init(),
    dryRun: (options) => vitest.dryRun(options),
    mutantRun(options) {
      if (isChosen(options.activeMutant)) return vitest.mutantRun(options)
      return Promise.resolve({ status: 'error', errorMessage: 'not chosen' })
    },
    dispose: () => vitest.dispose(),
  }
}

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'chosen-only', createRunner)]
