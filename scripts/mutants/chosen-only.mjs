// A Stryker plugin: lets only the mutants pass that run.mjs chose.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { keyOf } from './choose.mjs'

const root = process.env.MUTANTS_ROOT
const chosen = new Set(JSON.parse(readFileSync(process.env.MUTANTS_CHOSEN, 'utf8')))
const isChosen = (mutant) => chosen.has(keyOf({ ...mutant, fileName: relative(root, mutant.fileName) }))

const checker = {
  async init() {},
  async check(mutants) {
    const verdict = (mutant) =>
      isChosen(mutant) ? { status: 'passed' } : { status: 'compileError', reason: 'not chosen' }
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, verdict(mutant)]))
  },
  async group(mutants) {
    return [mutants.map(({ id }) => id)]
  },
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Checker, 'chosen-only', checker)]
