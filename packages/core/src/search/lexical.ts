// Holds the lexical index: each tool as a document of terms with their strengths (BM25F: weighted, length-normalised and
// saturated counts over its fields), and for each term its documents. Immutable: an update creates a new index that copies
// unchanged documents, so a search never sees a partial change.
import type { PoolTool } from '../types.ts'
import { createToolSlices, runAtOnce, type Sliced } from './reading.ts'
import { LEXICAL, type LexicalSettings } from './settings.ts'
import { stem } from './stem.ts'
import { eachWord, STOP_WORDS, searchFields } from './words.ts'

/** An immutable index over a list of tools. */
export type LexicalIndex = {
  readonly tools: readonly PoolTool[]
  readonly settings: LexicalSettings
  readonly vocabulary: Vocabulary
  readonly documents: Documents
  readonly postings: Postings
  /** Returns whether any tool has the word, in this or another form. */
  knows(word: string): boolean
}

/** The terms of all documents, one document after the other. */
type Documents = {
  /** Where each document's postings begin; has one more entry than there are documents. */
  readonly starts: Uint32Array
  readonly terms: Uint32Array
  /** 14 bits of strength and two flags per term. */
  readonly values: Uint16Array
  /** The number of words in each document's tool name and server name. */
  readonly nameSizes: Uint8Array
  readonly serverSizes: Uint8Array
}

/** The documents of every term, one term after the other. */
export type Postings = {
  /** Where each term's postings begin; has one more entry than there are terms. */
  readonly starts: Uint32Array
  readonly documents: Uint32Array
  readonly values: Uint16Array
  /** The strongest posting of each term. */
  readonly strongest: Uint16Array
}

/** The largest strength of a posting. */
export const STRENGTH_STEPS = 16383
/** Flag: the term is a word of the tool's name. */
export const IN_NAME = 1
/** Flag: the term is a word of the server's name. */
export const IN_SERVER = 2

/** Fields, in the order of FIELDS. */
const NAME = 0
const SERVER = 1

/** Words of a server's name that say nothing about it. */
const SERVER_FILLER = new Set(['mcp', 'server', 'api'])

/** Creates the index of a list of tools. */
export function createLexicalIndex(
  tools: readonly PoolTool[],
  settings: LexicalSettings = LEXICAL,
): LexicalIndex {
  return runAtOnce(buildLexicalIndex(tools, settings))
}

/** Builds an index, as work that may be interrupted; copies what an earlier index with the same settings has. */
export function* buildLexicalIndex(
  tools: readonly PoolTool[],
  settings: LexicalSettings,
  earlier?: LexicalIndex,
): Sliced<LexicalIndex> {
  const before = earlier && isWorn(earlier) ? undefined : earlier
  const vocabulary = before?.vocabulary ?? createVocabulary()
  const places = new Map(before?.tools.map((tool, place) => [tool, place]))
  const expected = before ? before.documents.terms.length + 4096 : tools.length * 24
  const writer = new Writer(vocabulary, settings, tools.length, expected)
  const isSliceOver = createToolSlices()
  for (let at = 0; at < tools.length; at++) {
    const first = places.get(tools[at]!)
    if (!before || first === undefined) {
      writer.add(tools[at]!)
      if (isSliceOver(tools[at]!)) yield
      continue
    }
    let last = first
    while (at + 1 < tools.length && places.get(tools[at + 1]!) === last + 1) {
      last++
      at++
    }
    writer.copy(before.documents, first, last)
  }
  const documents = writer.finish()
  const postings = invert(documents, vocabulary.size)
  const knows = (word: string) => countOf(postings, vocabulary.termOf(word)) > 0
  return { tools, settings, vocabulary, documents, postings, knows }
}

/** Returns whether most terms of an index's vocabulary are of former tools. */
function isWorn({ vocabulary, postings }: LexicalIndex): boolean {
  return vocabulary.size > 100_000 && vocabulary.size > postings.documents.length
}

/** Returned for a word without a term. */
export const NO_TERM = -1

type Vocabulary = ReturnType<typeof createVocabulary>

/** Creates the table of the terms of all tools that an index, or one it was updated from, has seen. */
function createVocabulary() {
  const words = new Map<string, number>()
  const stems = new Map<string, number>()
  const forms = new Map<string, number>()
  const texts: string[] = []
  const byLetter = new Map<string, string[]>()

  function enter(table: Map<string, number>, text: string): number {
    const known = table.get(text)
    if (known !== undefined) return known
    table.set(text, texts.length)
    return texts.push(text) - 1
  }

  function learnStem(stemmed: string): number {
    if (!stems.has(stemmed)) {
      const list = byLetter.get(stemmed[0]!)
      if (list) list.push(stemmed)
      else byLetter.set(stemmed[0]!, [stemmed])
    }
    return enter(stems, stemmed)
  }

  return {
    /** Returns the term of a tool's word, by its stem; creates it if it is new. Function words have none. */
    learn(word: string): number {
      const known = words.get(word)
      if (known !== undefined) return known
      const term = STOP_WORDS.has(word) ? NO_TERM : learnStem(stem(word))
      words.set(word, term)
      return term
    },
    /** Returns the term of the exact form of a word, separate from its stem's. */
    learnForm: (word: string) => enter(forms, word),
    /** Returns the term of a query's word, or `NO_TERM` if no tool ever had it. */
    termOf: (word: string) => words.get(word) ?? stems.get(stem(word)) ?? NO_TERM,
    formOf: (word: string) => forms.get(word) ?? NO_TERM,
    ofStem: (stemmed: string) => stems.get(stemmed) ?? NO_TERM,
    /** Returns every stem of any present or former tool that begins with this letter, for corrections. */
    startingWith: (letter: string): readonly string[] => byLetter.get(letter) ?? [],
    textOf: (term: number) => texts[term] ?? '',
    get size() {
      return texts.length
    },
  }
}

/** Writes documents: a document depends only on its tool, so that it can be copied as long as its tool is the same. */
class Writer {
  readonly #vocabulary: Vocabulary
  readonly #settings: LexicalSettings
  readonly #starts: Uint32Array
  readonly #nameSizes: Uint8Array
  readonly #serverSizes: Uint8Array
  #terms: Uint32Array
  #values: Uint16Array
  #document = 0
  #size = 0
  /** Of the tool being read: its terms, one per word, and its exact forms; the sums of gains by term. */
  readonly #occurrences: number[] = []
  readonly #forms = new Set<number>()
  #strengths = new Float64Array(1024)
  #flags = new Uint8Array(1024)
  /** The field being read, and its words. */
  #field = 0
  #length = 0

  constructor(vocabulary: Vocabulary, settings: LexicalSettings, count: number, expected: number) {
    this.#vocabulary = vocabulary
    this.#settings = settings
    this.#starts = new Uint32Array(count + 1)
    this.#nameSizes = new Uint8Array(count)
    this.#serverSizes = new Uint8Array(count)
    this.#terms = new Uint32Array(Math.max(256, expected))
    this.#values = new Uint16Array(this.#terms.length)
  }

  add(tool: PoolTool): void {
    this.#occurrences.length = 0
    this.#forms.clear()
    const fields = searchFields(tool)
    for (let field = 0; field < fields.length; field++)
      if (this.#settings.weights[field] !== 0) this.#readField(field, fields[field]!)
    this.#reserve(this.#occurrences.length + this.#forms.size)
    const [strengths, flags, terms, values] = [this.#strengths, this.#flags, this.#terms, this.#values]
    const { saturation } = this.#settings
    let size = this.#size
    for (const term of this.#occurrences) {
      const strength = strengths[term]!
      if (strength === 0) continue
      const step = Math.max(1, Math.round((strength / (strength + saturation)) * STRENGTH_STEPS))
      terms[size] = term
      values[size++] = (step << 2) | flags[term]!
      strengths[term] = 0
      flags[term] = 0
    }
    for (const form of this.#forms) {
      terms[size] = form
      values[size++] = STRENGTH_STEPS << 2
    }
    this.#size = size
    this.#starts[++this.#document] = size
  }

  /** Copies documents with the same vocabulary, from `first` up to `last`. */
  copy(from: Documents, first: number, last: number): void {
    const [begin, end] = [from.starts[first]!, from.starts[last + 1]!]
    this.#reserve(end - begin)
    this.#terms.set(from.terms.subarray(begin, end), this.#size)
    this.#values.set(from.values.subarray(begin, end), this.#size)
    this.#nameSizes.set(from.nameSizes.subarray(first, last + 1), this.#document)
    this.#serverSizes.set(from.serverSizes.subarray(first, last + 1), this.#document)
    for (let source = first; source <= last; source++)
      this.#starts[++this.#document] = this.#size + from.starts[source + 1]! - begin
    this.#size += end - begin
  }

  /** Returns the documents, without the unused room. */
  finish(): Documents {
    const [terms, values] = [this.#terms.slice(0, this.#size), this.#values.slice(0, this.#size)]
    return { starts: this.#starts, terms, values, nameSizes: this.#nameSizes, serverSizes: this.#serverSizes }
  }

  #readField(field: number, texts: readonly string[]): void {
    const first = this.#occurrences.length
    this.#field = field
    this.#length = 0
    for (const text of texts) if (text !== '') eachWord(text, this.#readWord)
    const gain = fieldGain(this.#settings, field, this.#length)
    for (let at = first; at < this.#occurrences.length; at++) this.#strengths[this.#occurrences[at]!]! += gain
  }

  readonly #readWord = (word: string, isJoined: boolean): void => {
    const field = this.#field
    const isNumeric = isDigit(word.charCodeAt(0))
    if (this.#settings.sameForm > 0 && field === NAME && !isJoined && !isNumeric)
      this.#forms.add(this.#vocabulary.learnForm(word))
    const term = this.#vocabulary.learn(word)
    if (term === NO_TERM) return
    if (term >= this.#strengths.length) {
      this.#strengths = resized(
        this.#strengths,
        new Float64Array(Math.max(term + 1, this.#strengths.length * 2)),
      )
      this.#flags = resized(this.#flags, new Uint8Array(this.#strengths.length))
    }
    this.#occurrences.push(term)
    if (isJoined) return
    this.#length++
    if (field > SERVER || isNumeric || (field === SERVER && SERVER_FILLER.has(word))) return
    const flag = field === NAME ? IN_NAME : IN_SERVER
    if ((this.#flags[term]! & flag) !== 0) return
    this.#flags[term]! |= flag
    const sizes = field === NAME ? this.#nameSizes : this.#serverSizes
    if (sizes[this.#document]! < 255) sizes[this.#document]!++
  }

  #reserve(more: number): void {
    if (this.#size + more <= this.#terms.length) return
    const room = Math.max(this.#size + more, Math.ceil(this.#terms.length * 1.5))
    this.#terms = resized(this.#terms, new Uint32Array(room))
    this.#values = resized(this.#values, new Uint16Array(room))
  }
}

function resized<List extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(
  from: List,
  to: List,
): List {
  to.set(from)
  return to
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/** Returns the gain of one occurrence in a field with `length` words. */
export function fieldGain(settings: LexicalSettings, field: number, length: number): number {
  const penalty = settings.lengthPenalty[field]!
  return settings.weights[field]! / (1 - penalty + (penalty * length) / settings.usualLength[field]!)
}

/** Builds the postings of documents, in two linear passes. */
function invert(from: Documents, termCount: number): Postings {
  const starts = new Uint32Array(termCount + 1)
  const { terms, values: sourceValues } = from
  for (let index = 0; index < terms.length; index++) starts[terms[index]! + 1]!++
  for (let term = 0; term < termCount; term++) starts[term + 1]! += starts[term]!
  const next = starts.slice()
  const documents = new Uint32Array(terms.length)
  const values = new Uint16Array(terms.length)
  const strongest = new Uint16Array(termCount)
  for (let document = 0; document + 1 < from.starts.length; document++) {
    const end = from.starts[document + 1]!
    for (let index = from.starts[document]!; index < end; index++) {
      const term = terms[index]!
      const place = next[term]!++
      const value = sourceValues[index]!
      documents[place] = document
      values[place] = value
      if (value > strongest[term]!) strongest[term] = value
    }
  }
  return { starts, documents, values, strongest }
}

/** Returns how many documents have a term. */
export function countOf({ starts }: Postings, term: number): number {
  return term >= 0 && term + 1 < starts.length ? starts[term + 1]! - starts[term]! : 0
}
