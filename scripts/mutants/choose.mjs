// Lists the mutants that Stryker makes of some files and chooses among them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Instrumenter } from '@stryker-mutator/instrumenter'

const silent = { debug() {}, info() {}, isDebugEnabled: () => false }

/** Every mutant of the files with its source text, and a key that tells it from the others. */
export async function listMutants(files, excludedMutations) {
  const sources = new Map(files.map((name) => [name, readFileSync(name, 'utf8')]))
  const input = [...sources].map(([name, content]) => ({ name, content, mutate: true }))
  const options = { ignorers: [], excludedMutations, plugins: null }
  const { mutants } = await new Instrumenter(silent).instrument(input, options)
  const listed = mutants
    .filter(({ status }) => status === undefined)
    .map((mutant) => ({
      ...mutant,
      key: keyOf(mutant),
      ...textAt(sources.get(mutant.fileName), mutant.location),
    }))
  return withIdentities(listed)
}

/** The same mutant has the same key in another run on the same sources. */
export function keyOf({ fileName, location, mutatorName, replacement }) {
  const { start, end } = location
  return [fileName, start.line, start.column, end.line, end.column, mutatorName, replacement].join(' ')
}

/** As many mutants as asked for, the same ones every time. */
export function sample(mutants, count) {
  return [...mutants].sort((a, b) => (a.identity < b.identity ? -1 : 1)).slice(0, count)
}

/** A hash that neither edits elsewhere in the file nor other files change. */
function withIdentities(mutants) {
  const seen = new Map()
  return mutants.map((mutant) => {
    const text = [mutant.fileName, mutant.mutatorName, mutant.original, mutant.replacement].join('\n')
    const occurrence = seen.get(text) ?? 0
    seen.set(text, occurrence + 1)
    return { ...mutant, identity: createHash('sha256').update(`${text}\n${occurrence}`).digest('hex') }
  })
}

function textAt(source, { start, end }) {
  const lines = source.split('\n')
  const covered = lines.slice(start.line, end.line + 1)
  covered[covered.length - 1] = covered.at(-1).slice(0, end.column)
  covered[0] = covered[0].slice(start.column)
  return { original: covered.join('\n'), line: lines[start.line].trim() }
}
