// Prints each mutant that no test noticed as soon as it is tried, and the totals. A Stryker plugin.
import { relative } from 'node:path'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { keyOf } from './choose.mjs'

const OUTCOMES = {
  Killed: 'killed',
  Timeout: 'timedOut',
  Survived: 'survived',
  NoCoverage: 'uncovered',
  Ignored: 'static',
}
const QUIET = new Set(['killed', 'timedOut', 'static'])

const totals = { killed: 0, timedOut: 0, survived: 0, uncovered: 0, static: 0, errors: 0 }
const survivors = []
let root = ''
let chosen = new Map()

/** To be called in front of the run, with the mutants whose outcomes count. */
export function startReport(folder, mutants) {
  root = folder
  chosen = new Map(mutants.map((mutant) => [mutant.key, mutant]))
}

/** The share counts neither constants of modules, which are not tried, nor mutants that broke the run itself. */
export function printTotals() {
  const killed = totals.killed + totals.timedOut
  const tried = killed + totals.survived + totals.uncovered
  const share = tried === 0 ? '' : `: ${((100 * killed) / tried).toFixed(0)} %`
  console.log(`killed ${killed} of ${tried}${share} ${JSON.stringify(totals)}`)
}

/** The identities of the mutants that no test noticed. */
export function survivorsSoFar() {
  return survivors
}

class Survivors {
  onMutantTested(result) {
    const mutant = chosen.get(keyOf({ ...result, ...placeOf(result) }))
    if (mutant === undefined) return
    const outcome = OUTCOMES[result.status] ?? 'errors'
    totals[outcome]++
    if (QUIET.has(outcome)) return
    survivors.push(mutant.identity)
    show(outcome, mutant, result)
  }
}

/** Reports count lines and columns from one, mutants from zero. */
function placeOf({ fileName, location: { start, end } }) {
  const fromZero = ({ line, column }) => ({ line: line - 1, column: column - 1 })
  return { fileName: relative(root, fileName), location: { start: fromZero(start), end: fromZero(end) } }
}

function show(outcome, { fileName, location, line, original, replacement, mutatorName }, { statusReason }) {
  console.log(`${outcome} ${fileName}:${location.start.line + 1}:${location.start.column + 1} ${mutatorName}`)
  console.log(`  ${line}`)
  console.log(`  - ${brief(original)}`)
  console.log(`  + ${brief(replacement)}`)
  if (outcome === 'errors') console.log(`  ${statusReason}`)
}

function brief(text) {
  const joined = text.replace(/\s+/g, ' ')
  return joined.length > 160 ? `${joined.slice(0, 157)}...` : joined
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, 'survivors', Survivors)]
