// Makes mutants of source files with Stryker's instrumenter and draws a sample of them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Instrumenter } from '@stryker-mutator/instrumenter'

const silent = { debug() {}, info() {}, isDebugEnabled: () => false }
/** Mutators of strings are off: most strings are messages for people, which tests should not pin word by word. */
const excludedMutations = ['StringLiteral']

/** Every mutant of the files, with its source text and an identity that edits elsewhere do not change. */
export async function listMutants(files) {
  const sources = new Map(files.map((name) => [name, readFileSync(name, 'utf8')]))
  const { mutants } = await instrument(
    [...sources].map(([name, content]) => ({ name, content, mutate: true })),
  )
  return withIdentities(
    mutants.map((mutant) => ({ ...mutant, ...textAt(sources.get(mutant.fileName), mutant.location) })),
  )
}

/** The sources with these mutants in them, by file, and the mutants with the ids they have there. */
export async function mutate(mutants) {
  const names = [...new Set(mutants.map(({ fileName }) => fileName))]
  const { files, mutants: made } = await instrument(
    names.map((name) => ({
      name,
      content: readFileSync(name, 'utf8'),
      mutate: mutants.filter(({ fileName }) => fileName === name).map(({ location }) => location),
    })),
  )
  const ids = new Map(made.map((mutant) => [keyOf(mutant), mutant.id]))
  return {
    sources: new Map(files.map(({ name, content }) => [name, content])),
    mutants: mutants.map((mutant) => ({ ...mutant, id: ids.get(keyOf(mutant)) })),
  }
}

/** Draws a sample of this size; the same one for the same seed. */
export function sample(mutants, count, seed) {
  const places = new Map(mutants.map((mutant) => [mutant, sha256(`${seed}\n${mutant.identity}`)]))
  return [...mutants].sort((a, b) => (places.get(a) < places.get(b) ? -1 : 1)).slice(0, count)
}

async function instrument(files) {
  const options = { ignorers: [], excludedMutations, plugins: null }
  const made = await new Instrumenter(silent).instrument(files, options)
  return { files: made.files, mutants: made.mutants.filter(({ status }) => status === undefined) }
}

function keyOf({ fileName, location: { start, end }, mutatorName, replacement }) {
  return [fileName, start.line, start.column, end.line, end.column, mutatorName, replacement].join(' ')
}

function withIdentities(mutants) {
  const seen = new Map()
  return mutants.map((mutant) => {
    const text = [mutant.fileName, mutant.mutatorName, mutant.original, mutant.replacement].join('\n')
    const occurrence = seen.get(text) ?? 0
    seen.set(text, occurrence + 1)
    return { ...mutant, identity: sha256(`${text}\n${occurrence}`) }
  })
}

function sha256(text) {
  return createHash('sha256').update(text).digest('hex')
}

function textAt(source, { start, end }) {
  const lines = source.split('\n')
  const covered = lines.slice(start.line, end.line + 1)
  covered[covered.length - 1] = covered.at(-1).slice(0, end.column)
  covered[0] = covered[0].slice(start.column)
  return { original: covered.join('\n'), line: lines[start.line].trim() }
}
