// Reads the licensed texts: WordNet, openly licensed API descriptions, command-line help, names of services.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clean, firstSentence, splitName } from './words.mjs'

/** Lemmas, glosses, "lemma: gloss" and usage examples of WordNet. */
export function* wordnetTexts(folder) {
  for (const { lemmas, gloss, examples } of synsets(folder)) {
    yield* lemmas
    yield gloss
    yield `${lemmas[0]}: ${gloss}`
    yield* examples
  }
}

/** WordNet's files of animals and plants are skipped: thousands of Latin names that no tool uses. */
const SPECIES = new Set(['05', '20'])

function* synsets(folder) {
  for (const part of ['noun', 'verb', 'adj', 'adv']) {
    for (const line of readFileSync(join(folder, 'dict', `data.${part}`), 'latin1').split('\n')) {
      const fields = line.split(' ')
      if (line.startsWith('  ') || line === '') continue
      if (SPECIES.has(fields[1]) && /[A-Z]/.test(fields[4])) continue
      const size = Number.parseInt(fields[3], 16)
      const lemmas = []
      for (let i = 0; i < size; i++) lemmas.push(fields[4 + 2 * i].replace(/\(.*\)/, '').replaceAll('_', ' '))
      const [, text = ''] = line.split('|')
      const [gloss, ...examples] = text
        .split(/;(?![^()]*\))/)
        .map((piece) => piece.trim().replaceAll('"', ''))
      yield { lemmas, gloss, examples: examples.filter((example) => example.length > 8) }
    }
  }
}

/** Pairs that mean the same: a word and its gloss, an operation's name and its description. With their source. */
export function* pairTexts(places) {
  for (const { lemmas, gloss, examples } of synsets(places.wordnet)) {
    yield [lemmas.join(' '), gloss, 'wordnet']
    for (const example of examples) yield [example, `${lemmas[0]} ${gloss}`, 'wordnet']
  }
  for (const { specification, title } of openInterfaces(places.interfaces)) {
    for (const operation of operations(specification)) {
      const name = splitName(operation.operationId ?? '')
      const sentence = firstSentence(operation.description ?? operation.summary)
      const summary = clean(operation.summary)
      yield [name, sentence, 'interfaces']
      yield [`${clean(title)} ${name}`, sentence, 'interfaces']
      if (summary !== sentence) yield [summary, sentence, 'interfaces']
    }
  }
}

const OPEN_LICENCE = /apache|\bmit\b|\bbsd|cc0|creative ?commons|\bcc[- ]by\b(?!-)|public domain|unlicense/i
const CLOSED_LICENCE = /noncommercial|by-n[cd]|by-sa|terms/i
const MAXIMUM_OF_ONE_INTERFACE = 160

/** Names, summaries and first sentences of API operations whose specification states an open licence. */
export function* interfaceTexts(folder) {
  for (const { specification, title, description } of openInterfaces(folder)) {
    yield clean(title)
    yield firstSentence(description)
    yield* operationTexts(specification, title)
  }
}

function* openInterfaces(folder) {
  for (const path of filesUnder(join(folder, 'api'), '.json')) {
    const specification = JSON.parse(readFileSync(path, 'utf8'))
    const { license, title, description } = specification.info ?? {}
    const stated = `${license?.name ?? ''} ${license?.url ?? ''}`
    if (OPEN_LICENCE.test(stated) && !CLOSED_LICENCE.test(stated)) yield { specification, title, description }
  }
}

/** The described operations; of a large interface a sample. */
function operations(specification) {
  const all = Object.values(specification.paths ?? {}).flatMap((path) => Object.values(path ?? {}))
  const described = all.filter((operation) => operation?.summary || operation?.description)
  const step = Math.max(1, described.length / MAXIMUM_OF_ONE_INTERFACE)
  const size = Math.ceil(described.length / step)
  return Array.from({ length: size }, (_, index) => described[Math.floor(index * step)])
}

function* operationTexts(specification, title) {
  for (const [index, operation] of operations(specification).entries()) {
    const name = splitName(operation.operationId ?? '')
    const sentence = firstSentence(operation.description ?? operation.summary)
    yield name
    yield clean(operation.summary)
    yield sentence
    yield `${name}. ${sentence}`
    if (index % 4 === 0) yield `${clean(title)} ${name}`
    const names = (operation.parameters ?? []).map((parameter) => splitName(parameter?.name ?? ''))
    if (names.length > 2) yield names.join(' ')
    const parameter = operation.parameters?.[0]
    if (parameter?.description) yield `${splitName(parameter.name)}: ${firstSentence(parameter.description)}`
  }
}

/** Descriptions of commands and options from shell completions. */
export function* commandTexts(folder) {
  for (const path of filesUnder(join(folder, 'build'), '.js')) {
    const found = readFileSync(path, 'utf8').matchAll(/description:"((?:[^"\\]|\\.)*)"/g)
    let left = MAXIMUM_OF_ONE_INTERFACE
    for (const [, text] of found) {
      yield firstSentence(text.replaceAll(/\\./g, ' '))
      if (--left === 0) break
    }
  }
}

/** Names of products and services. */
export function brandNames(folder) {
  return JSON.parse(readFileSync(join(folder, 'data', 'simple-icons.json'), 'utf8')).map(({ title }) => title)
}

function* filesUnder(folder, ending) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesUnder(path, ending)
    else if (entry.name.endsWith(ending)) yield path
  }
}
