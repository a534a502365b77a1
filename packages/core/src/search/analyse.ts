// Computes a tool's index terms and their strengths: BM25F's weighted, length-normalised and saturated counts over its
// fields.
import type { PoolTool } from '../types.ts'
import { NO_TERM, searchFields, type Vocabulary } from './query-words.ts'
import type { LexicalSettings } from './settings.ts'
import { type Emit, eachWord } from './words.ts'

/** The largest strength of a posting. A posting's value has 14 bits of strength and two flags. */
export const STRENGTH_STEPS = 16383
/** Flag: the term is a word of the tool's name. */
export const IN_NAME = 1
/** Flag: the term is a word of the server's name. */
export const IN_SERVER = 2

const NAME = 0
const SERVER = 1

/** Words of a server's name that say nothing about it. */
const SERVER_FILLER = new Set(['mcp', 'server', 'api'])

/** Buffers for analysing one tool after another. Each tool overwrites the result of the one before. */
export type Analyser = {
  readonly vocabulary: Vocabulary
  readonly settings: LexicalSettings
  /** The number of terms in the result; `terms` and `values` hold them. */
  size: number
  readonly terms: number[]
  readonly values: number[]
  nameSize: number
  serverSize: number
  /** Sums per term for the tool being analysed. */
  strengths: Float64Array
  flags: Uint8Array
  readonly forms: Set<number>
  readonly occurrences: number[]
  field: number
  length: number
  readonly emit: Emit
}

/** Creates an analyser whose buffers grow with the vocabulary. */
export function createAnalyser(vocabulary: Vocabulary, settings: LexicalSettings): Analyser {
  const analyser: Analyser = {
    vocabulary,
    settings,
    size: 0,
    terms: [],
    values: [],
    nameSize: 0,
    serverSize: 0,
    strengths: new Float64Array(1024),
    flags: new Uint8Array(1024),
    forms: new Set(),
    occurrences: [],
    field: 0,
    length: 0,
    emit: (word, isJoined) => readWord(analyser, word, isJoined),
  }
  return analyser
}

/** Analyses a tool; the result is in the analyser until the next call. */
export function analyse(analyser: Analyser, tool: PoolTool): void {
  const { occurrences, forms, settings, emit } = analyser
  analyser.size = analyser.nameSize = analyser.serverSize = 0
  occurrences.length = 0
  forms.clear()
  const texts = searchFields(tool)
  for (let field = 0; field < texts.length; field++) {
    if (settings.weights[field] === 0) continue
    const first = occurrences.length
    analyser.field = field
    analyser.length = 0
    for (const text of texts[field]!) if (text !== '') eachWord(text, emit)
    weigh(analyser, first)
  }
  collect(analyser)
}

function readWord(analyser: Analyser, word: string, isJoined: boolean): void {
  const { vocabulary, settings, field } = analyser
  const isNumeric = isNumber(word)
  if (settings.sameForm > 0 && field === NAME && !isJoined && !isNumeric)
    analyser.forms.add(vocabulary.learnForm(word))
  const term = vocabulary.learn(word)
  if (term === NO_TERM) return
  if (term >= analyser.strengths.length) grow(analyser, term)
  analyser.occurrences.push(term)
  if (isJoined) return
  analyser.length++
  if (field > SERVER || isNumeric) return
  if (field === SERVER && SERVER_FILLER.has(word)) return
  const flag = field === NAME ? IN_NAME : IN_SERVER
  if ((analyser.flags[term]! & flag) !== 0) return
  analyser.flags[term]! |= flag
  if (flag === IN_NAME) analyser.nameSize++
  else analyser.serverSize++
}

function grow(analyser: Analyser, term: number): void {
  const { strengths, flags } = analyser
  analyser.strengths = new Float64Array(Math.max(term + 1, strengths.length * 2))
  analyser.flags = new Uint8Array(analyser.strengths.length)
  analyser.strengths.set(strengths)
  analyser.flags.set(flags)
}

/** Adds the gains of a field's words, whose occurrences start at `first`. */
function weigh({ settings, field, length, occurrences, strengths }: Analyser, first: number): void {
  const gain = fieldGain(settings, field, length)
  for (let index = first; index < occurrences.length; index++) strengths[occurrences[index]!]! += gain
}

/** Returns the gain of one occurrence in a field with `length` words. */
export function fieldGain(settings: LexicalSettings, field: number, length: number): number {
  const penalty = settings.lengthPenalty[field]!
  return settings.weights[field]! / (1 - penalty + (penalty * length) / settings.usualLength[field]!)
}

function collect(analyser: Analyser): void {
  const { occurrences, strengths, flags, forms, terms, values, settings } = analyser
  for (const term of occurrences) {
    const strength = strengths[term]!
    if (strength === 0) continue
    const step = Math.max(1, Math.round((strength / (strength + settings.saturation)) * STRENGTH_STEPS))
    terms[analyser.size] = term
    values[analyser.size++] = (step << 2) | flags[term]!
    strengths[term] = 0
    flags[term] = 0
  }
  for (const form of forms) {
    terms[analyser.size] = form
    values[analyser.size++] = STRENGTH_STEPS << 2
  }
  analyser.nameSize = Math.min(255, analyser.nameSize)
  analyser.serverSize = Math.min(255, analyser.serverSize)
}

function isNumber(word: string): boolean {
  const code = word.charCodeAt(0)
  return code >= 48 && code <= 57
}
