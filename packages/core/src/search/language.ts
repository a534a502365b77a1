// Detects queries in other languages and translates them word by word, with a table that is part of the package.
// Implements S14, S18.

import type { Hit } from '../query.ts'
import type { PoolTool } from '../types.ts'
import { actionOfVerb } from './intent.ts'
import { FILLER_WORDS, STOP_WORDS, unaccent } from './words.ts'

/** Log-probabilities of words, in bits. This one: an unknown word. */
const UNKNOWN = -22
const POOL_WORD = -15
const FUNCTION_WORD = -7
const FILLER_WORD = -10
/** Another form of a known word. */
const FORM = -19
/** Bonus for a letter that only few languages have. */
const OWN_LETTER = 6

/** How much better than English, in bits, another language must explain the words. */
const MARGIN = 6

/** Share of the letters that must be in another script for a query to count as being in another language. */
const MIN_FOREIGN_SHARE = 0.4

/** How many Latin letters a character of these scripts counts as. */
const DENSITY: Partial<Record<WritingSystem, number>> = { han: 3, kana: 2, hangul: 2 }

const BY_SCRIPT: Partial<Record<WritingSystem, readonly string[]>> = {
  cyrillic: ['ru', 'uk'],
  greek: ['el'],
  arabic: ['ar', 'fa'],
  hebrew: ['he'],
  hangul: ['ko'],
  kana: ['ja'],
  han: ['zh', 'ja'],
}

/** Letters that distinguish a language from its neighbours. Needed because words are compared without accents. */
const LETTERS: Readonly<Record<string, string>> = {
  ca: 'çŀ',
  cs: 'ěřůčšž',
  da: 'øæå',
  de: 'ßäöü',
  es: 'ñ¿¡',
  fa: 'پچژگ',
  fi: 'äö',
  fr: 'çœêèù',
  hu: 'őű',
  it: 'èìòù',
  no: 'øæå',
  pl: 'łąęśźżćń',
  pt: 'ãõç',
  ro: 'ășțâî',
  ru: 'ыэъё',
  sv: 'åäö',
  tr: 'şğıçöü',
  uk: 'іїєґ',
  vi: 'đơưạảấầậắằặẻẽếềểễệịọỏốồổộớờởợụủứừửữựỳỵỷ',
}

/** Characters of a query that are read. */
const MAX_CHARACTERS = 2000

/** Returns whether a query may be in another language than English, judged without any table. */
function mayBeForeign(words: readonly ForeignWord[], isKnown: (word: string) => boolean): boolean {
  return words.some(
    ({ word, script, isName }) =>
      script !== 'other' && !isName && !STOP_WORDS.has(word) && !FILLER_WORDS.has(word) && !isKnown(word),
  )
}

/** Returns the code of the query's language; undefined for English and for languages without a table. */
function detectLanguage(
  query: string,
  words: readonly ForeignWord[],
  bridge: Bridge,
  isKnown: (word: string) => boolean,
): string | undefined {
  const script = foreignScript(words)
  const letters = new Set(query.slice(0, MAX_CHARACTERS).toLowerCase())
  if (script) {
    const foreign = words.filter((word) => word.script !== 'latin')
    const score = (lexicon: Lexicon) => sumOf(foreign, ({ word }) => wordScore(word, lexicon))
    return mostLikely(BY_SCRIPT[script] ?? [], bridge, letters, score)?.language
  }
  const latin = words.filter(({ word, script: its, isName }) => its === 'latin' && !isName && word.length > 1)
  const scripted = new Set(Object.values(BY_SCRIPT).flat())
  const languages = bridge.languages.filter((language) => !scripted.has(language))
  const lead = (lexicon: Lexicon) => leadOf(latin, lexicon, bridge.english, isKnown)
  const best = mostLikely(languages, bridge, letters, lead)
  return best && best.score > MARGIN ? best.language : undefined
}

/**
 * Returns how much better than English a language explains the words. Skips capitalised words, which are names except in
 * languages that capitalise nouns.
 */
function leadOf(
  words: readonly ForeignWord[],
  lexicon: Lexicon,
  english: Lexicon,
  isKnown: (word: string) => boolean,
): number {
  const telling = lexicon.language === CAPITAL_NOUNS ? words : words.filter(({ isCapital }) => !isCapital)
  return sumOf(telling, ({ word }) => {
    const own = englishScore(word, english, isKnown)
    const score = wordScore(word, lexicon)
    const isBorrowed = lexicon.translate(word)?.[0] === word
    return isBorrowed ? Math.min(0, score - own) : score - own
  })
}

const CAPITAL_NOUNS = 'de'

function sumOf(words: readonly ForeignWord[], value: (word: ForeignWord) => number): number {
  return words.reduce((sum, word) => sum + value(word), 0)
}

/** Returns the non-Latin script that a good part of the query is written in. */
function foreignScript(words: readonly ForeignWord[]): WritingSystem | undefined {
  const letters = new Map<WritingSystem, number>()
  let all = 0
  for (const { word, script } of words) {
    if (script === 'other') continue
    const length = word.length * (DENSITY[script] ?? 1)
    letters.set(script, (letters.get(script) ?? 0) + length)
    all += length
  }
  const foreign = all - (letters.get('latin') ?? 0)
  if (foreign === 0 || foreign < MIN_FOREIGN_SHARE * all) return undefined
  if (letters.has('kana')) return 'kana'
  const [dominant] = [...letters].filter(([script]) => script !== 'latin').sort((a, b) => b[1] - a[1])
  return dominant?.[0]
}

function mostLikely(
  languages: readonly string[],
  bridge: Bridge,
  letters: ReadonlySet<string>,
  scoreOf: (lexicon: Lexicon) => number,
): { readonly language: string; readonly score: number } | undefined {
  let best: { language: string; score: number } | undefined
  for (const language of languages) {
    const lexicon = bridge.lexicon(language)
    if (!lexicon) continue
    const own = [...(LETTERS[language] ?? '')].filter((letter) => letters.has(letter)).length
    const score = scoreOf(lexicon) + own * OWN_LETTER
    if (!best || score > best.score) best = { language, score }
  }
  return best
}

function wordScore(word: string, lexicon: Lexicon): number {
  const frequency = lexicon.frequency(word)
  if (frequency !== undefined) return frequency - Math.log2(lexicon.total)
  return otherForm(word, lexicon) === undefined ? UNKNOWN : FORM
}

function englishScore(word: string, english: Lexicon, isKnown: (word: string) => boolean): number {
  const score = wordScore(word, english)
  if (STOP_WORDS.has(word)) return Math.max(score, FUNCTION_WORD)
  if (FILLER_WORDS.has(word)) return Math.max(score, FILLER_WORD)
  return isKnown(word) ? Math.max(score, POOL_WORD) : score
}

/** The words of one language, with their frequencies and English translations. */
type Lexicon = {
  readonly language: string
  /** Returns how often a word occurs, as a power of two; undefined for an unknown word. */
  frequency(word: string): number | undefined
  /** The sum of all words' counts. */
  readonly total: number
  /** Returns English translations, most likely first; empty for a function word, undefined for an unknown word. */
  translate(word: string): readonly string[] | undefined
  /** Returns the word with the longest common prefix, of at least `min` characters; undefined if there is none. */
  nearest(word: string, min: number): string | undefined
}

/** The lexicons of a table; each is decoded on first use. */
export type Bridge = {
  readonly languages: readonly string[]
  readonly english: Lexicon
  lexicon(language: string): Lexicon | undefined
}

/** `TSB2`, little-endian. */
export const BRIDGE_MAGIC = 0x32425354
/** Bytes of the header: magic and number of lexicons. */
export const BRIDGE_HEADER = 8
/** Bytes of a directory entry: language code, numbers of words, of targets, and of bytes of the words. */
export const DIRECTORY_ENTRY = 20
const CODE_BYTES = 8

/**
 * Finds another form of an unknown word: the known word with the longest common prefix, if that is most of both words.
 */
export function otherForm(word: string, { nearest }: Pick<Lexicon, 'nearest'>): string | undefined {
  const { min, part } = HANGUL.test(word) ? SYLLABLES : CODED_LETTERS
  const form = nearest(word, Math.max(min, Math.ceil(word.length * part)))
  return form !== undefined && form.length * part <= word.length ? form : undefined
}

const HANGUL = /\p{Script=Hangul}/u

/** Characters, and share of the word, that two forms must have in common. Korean endings are long. */
const CODED_LETTERS = { min: 4, part: 0.6 }
const SYLLABLES = { min: 2, part: 0.45 }

/** The columns of one lexicon. */
type Block = {
  /** How many UTF-16 units each word shares with the word before. */
  readonly shared: Uint8Array
  readonly frequencies: Uint8Array
  /** How many targets each word has. */
  readonly counts: Uint8Array
  /** The low and the high bytes of the targets, which are indexes of English words. */
  readonly lows: Uint8Array
  readonly highs: Uint8Array
  /** The rests of the words as UTF-8, one to a line. The words are sorted. */
  readonly rests: Uint8Array
}

/**
 * Reads a table: header, directory, English first, and then the columns of `Block`, each of all lexicons: what is alike stands
 * together, and becomes smaller when compressed.
 */
export function createBridge(bytes: Uint8Array): Bridge {
  const blocks = readDirectory(bytes)
  const english = blocks.get('en')
  if (!english) throw new Error('The language table has no English words.')
  const englishWords = decodeWords(english)
  const lexicons = new Map<string, Lexicon>([['en', lexiconOf('en', english, englishWords, [])]])
  return {
    languages: [...blocks.keys()].filter((language) => language !== 'en'),
    english: lexicons.get('en')!,
    lexicon(language) {
      const block = blocks.get(language)
      if (!lexicons.has(language) && block)
        lexicons.set(language, lexiconOf(language, block, decodeWords(block), englishWords))
      return lexicons.get(language)
    },
  }
}

function readDirectory(bytes: Uint8Array): Map<string, Block> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.byteLength < BRIDGE_HEADER || view.getUint32(0, true) !== BRIDGE_MAGIC)
    throw new Error('The file is not a language table.')
  const count = view.getUint32(4, true)
  const start = BRIDGE_HEADER + count * DIRECTORY_ENTRY
  if (start > bytes.byteLength) throw new Error('The language table is truncated.')
  const heads = Array.from({ length: count }, (_, index) => {
    const at = BRIDGE_HEADER + index * DIRECTORY_ENTRY
    const code = new TextDecoder().decode(bytes.subarray(at, at + CODE_BYTES)).replace(/\0+$/, '')
    const [words, targets, rests] = [8, 12, 16].map((field) => view.getUint32(at + field, true))
    return { code, words: words!, targets: targets!, rests: rests! }
  })
  const size = heads.reduce((sum, { words, targets, rests }) => sum + 3 * words + 2 * targets + rests, start)
  if (size !== bytes.byteLength) throw new Error('The language table is truncated.')
  let at = start
  const next = (length: number) => {
    at += length
    return bytes.subarray(at - length, at)
  }
  const columns = (['words', 'words', 'words', 'targets', 'targets', 'rests'] as const).map((length) =>
    heads.map((head) => next(head[length])),
  )
  return new Map(
    heads.map(({ code }, index) => {
      const [shared, frequencies, counts, lows, highs, rests] = columns.map((column) => column[index]!)
      let targets = 0
      for (const count of counts!) targets += count
      if (targets !== lows!.length) throw new Error('The language table is damaged.')
      return [code, { shared, frequencies, counts, lows, highs, rests } as Block]
    }),
  )
}

/** The words of a block, in its order. */
function decodeWords({ shared, rests }: Block): string[] {
  const lines = new TextDecoder().decode(rests).split('\n')
  const words: string[] = []
  let word = ''
  for (let place = 0; place < shared.length; place++) {
    word = word.slice(0, shared[place]!) + (lines[place] ?? '')
    words.push(word)
  }
  return words
}

function lexiconOf(
  language: string,
  { frequencies, counts, lows, highs }: Block,
  words: readonly string[],
  english: readonly string[],
): Lexicon {
  const starts = new Uint32Array(words.length + 1)
  let total = 0
  for (let index = 0; index < words.length; index++) {
    starts[index + 1] = starts[index]! + counts[index]!
    total += 2 ** frequencies[index]!
  }
  const placeOf = (word: string) => {
    const place = placeFor(words, word)
    return words[place] === word ? place : undefined
  }
  return {
    language,
    total,
    frequency(word) {
      const place = placeOf(word)
      return place === undefined ? undefined : frequencies[place]
    },
    translate(word) {
      const place = placeOf(word)
      if (place === undefined) return undefined
      const found: string[] = []
      for (let at = starts[place]!; at < starts[place + 1]!; at++) {
        const target = english[lows[at]! | (highs[at]! << 8)]
        if (target !== undefined) found.push(target)
      }
      return found
    },
    nearest: (word, min) => nearestWord(words, word, min),
  }
}

/** Finds the nearest word by prefix. Words are sorted, so those with a common prefix are next to where the word would be. */
export function nearestWord(words: readonly string[], word: string, min: number): string | undefined {
  let best: string | undefined
  let max = Number.NEGATIVE_INFINITY
  const visit = (place: number) => {
    const other = words[place]!
    const shared = sharedLength(word, other)
    if (shared < min) return false
    const closeness = shared - (other.length - shared) * REST
    if (closeness > max) [max, best] = [closeness, other]
    return true
  }
  const middle = placeFor(words, word)
  for (let place = middle; place < Math.min(words.length, middle + REACH); place++) if (!visit(place)) break
  for (let place = middle - 1; place >= Math.max(0, middle - REACH); place--) if (!visit(place)) break
  return best
}

function placeFor(words: readonly string[], word: string): number {
  let [low, high] = [0, words.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (words[middle]! < word) low = middle + 1
    else high = middle
  }
  return low
}

/** How many words on either side are compared. */
const REACH = 64
/** The penalty per extra character of the other word: prefers words whose endings are shorter. */
const REST = 0.5

function sharedLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

/** How words of a script are translated: Latin words may be English; scripts without spaces need segmentation. */
type WritingSystem =
  | 'latin'
  | 'cyrillic'
  | 'greek'
  | 'arabic'
  | 'hebrew'
  | 'hangul'
  | 'kana'
  | 'han'
  | 'other'

/** A word of a query that may be in another language. */
type ForeignWord = {
  /** Lower case, without accents. */
  readonly word: string
  readonly script: WritingSystem
  /** Has digits or capitals inside, so it is a product name, an identifier or a value, and is never translated. */
  readonly isName: boolean
  /** Starts with a capital inside the query: a name, or a noun in languages that capitalise nouns. */
  readonly isCapital: boolean
}

const MAX_WORDS = 200

/** Runs of a script without spaces, in which kana and Han may be mixed, or words of letters and digits. */
const RUNS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+|[\p{L}\p{N}\p{M}]+/gu
const UNSPACED_START = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]/u
const MIXED = /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+)/u

/** Returns the words of the query's beginning, in order. */
export function foreignWords(text: string): ForeignWord[] {
  const words: ForeignWord[] = []
  for (const [run] of unaccent(text.slice(0, MAX_CHARACTERS)).matchAll(RUNS)) {
    for (const piece of UNSPACED_START.test(run) ? [run] : run.split(MIXED)) {
      if (piece === '') continue
      const isCapital = words.length > 0 && CAPITAL.test(piece)
      words.push({ word: piece.toLowerCase(), script: scriptOf(piece), isName: NAME.test(piece), isCapital })
      if (words.length === MAX_WORDS) return words
    }
  }
  return words
}

const CAPITAL = /^\p{Lu}/u
const NAME = /\p{Ll}\p{Lu}|\p{Lu}{2}|\d/u

const SCRIPTS: readonly (readonly [WritingSystem, RegExp])[] = [
  ['latin', /\p{Script=Latin}/u],
  ['kana', /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['han', /\p{Script=Han}/u],
  ['hangul', /\p{Script=Hangul}/u],
  ['cyrillic', /\p{Script=Cyrillic}/u],
  ['arabic', /\p{Script=Arabic}/u],
  ['greek', /\p{Script=Greek}/u],
  ['hebrew', /\p{Script=Hebrew}/u],
]

function scriptOf(word: string): WritingSystem {
  return SCRIPTS.find(([, pattern]) => pattern.test(word))?.[0] ?? 'other'
}

/** The ranking of one text. */
export type QueryRanking = {
  /** Best first. */
  readonly hits: readonly Hit[]
  /** The largest share of the query's words, by rarity, that any one tool has; 0 to 1. */
  readonly coverage: number
  readonly matched: () => number
}

/** The share of a text's letters that must be Latin for the table of meanings to read it. */
const MIN_READABLE_SHARE = 0.5

/** Returns whether most letters are Latin; a text without letters counts as readable. */
export function isMostlyLatin(text: string): boolean {
  const beginning = text.slice(0, MAX_CHARACTERS)
  const foreign = beginning.match(NOT_LATIN)?.length ?? 0
  if (foreign === 0) return true
  const latin = beginning.match(LATIN)?.length ?? 0
  return latin >= MIN_READABLE_SHARE * (latin + foreign)
}

const LATIN = /\p{Script=Latin}/gu
const NOT_LATIN = /(?!\p{Script=Latin})\p{L}/gu

/**
 * Adds up both rankings. The weight of the query's own words is the share of them that the best tool covers, and at most
 * `known`, the share that tools have exactly: completed or corrected words are mostly similar by chance.
 */
export function mergeRankings(own: QueryRanking, english: QueryRanking, known: number): QueryRanking {
  const scores = new Map<PoolTool, number>()
  const add = ({ hits }: QueryRanking, share: number) => {
    const best = hits.reduce((most, { score }) => Math.max(most, score), 0)
    if (best <= 0) return
    for (const { tool, score } of hits) scores.set(tool, (scores.get(tool) ?? 0) + (share * score) / best)
  }
  const ownShare = Math.min(own.coverage, known) ** OWN_POWER
  add(own, ownShare)
  add(english, 1 - ownShare)
  const hits = [...scores].map(([tool, score]) => ({ tool, score })).sort((a, b) => b.score - a.score)
  return {
    hits,
    coverage: Math.max(own.coverage, english.coverage),
    matched: () => Math.max(own.matched(), english.matched()),
  }
}

/**
 * Makes the query's own words count only if a tool has most of them: a few are borrowed from English, or similar by
 * chance.
 */
const OWN_POWER = 2

/** A word of a query and its translation. */
type TranslatedWord = {
  /** The word in lower case and without accents. */
  readonly from: string
  /** The words to search for instead; empty for function words and unknown words. */
  readonly to: readonly string[]
}

/** A translated query. */
export type Translation = {
  readonly language: string
  readonly words: readonly TranslatedWord[]
  /** The English words as one text. */
  readonly text: string
  /** The query in its own language, without function words if the language separates words by spaces. */
  readonly own: string
  /** The share of those words that some tool has; 1 for languages that do not separate words. */
  readonly known: number
}

/**
 * Translates a query; returns undefined if it is English, or in a language without a table. `isKnown` returns whether
 * some tool has the word.
 */
export type Translate = (
  query: string,
  isKnown: (word: string) => boolean,
) => Promise<Translation | undefined>

/** Creates a translator. It calls `bridge` when the first query needs it; without a table it translates nothing. */
export function createTranslate(bridge: () => Promise<Bridge | undefined>): Translate {
  return async (query, isKnown) => {
    const words = foreignWords(query)
    if (!mayBeForeign(words, isKnown)) return undefined
    const table = await bridge()
    const language = table && detectLanguage(query, words, table, isKnown)
    const lexicon = language === undefined ? undefined : table?.lexicon(language)
    if (!table || !lexicon) return undefined
    const translateAll = (words: readonly ForeignWord[]) =>
      words.flatMap((word) => translateWord(word, lexicon, table, isKnown))
    const englishOf = (words: readonly ForeignWord[]) => translateAll(words).flatMap(({ to }) => to)
    const translated = translateAll(words)
    const text =
      deniedDeletion(query, (clause) => englishOf(foreignWords(clause))) ??
      [...new Set(translated.flatMap(({ to }) => to))].join(' ')
    if (text === '') return undefined
    return {
      language: lexicon.language,
      words: translated,
      text,
      ...ownWords(query, words, lexicon, isKnown),
    }
  }
}

function ownWords(
  query: string,
  words: readonly ForeignWord[],
  lexicon: Lexicon,
  isKnown: (word: string) => boolean,
): Pick<Translation, 'own' | 'known'> {
  if (words.some(({ script }) => script === 'kana' || script === 'han' || script === 'hangul'))
    return { own: query, known: 1 }
  const telling = words.filter(({ word, isName }) => isName || lexicon.translate(word)?.length !== 0)
  const known = telling.filter(({ word }) => isKnown(word)).length
  return { own: telling.map(({ word }) => word).join(' '), known: known / (telling.length || 1) }
}

function translateWord(
  { word, script, isName }: ForeignWord,
  lexicon: Lexicon,
  { english }: Bridge,
  isKnown: (word: string) => boolean,
): TranslatedWord[] {
  if (isName) return [{ from: word, to: [word] }]
  if (script === 'kana' || script === 'han') return longestMatches(word, lexicon)
  const exact = lexicon.translate(word)
  if (exact) return [{ from: word, to: exact }]
  if (script === 'latin' && (isKnown(word) || english.frequency(word) !== undefined))
    return [{ from: word, to: STOP_WORDS.has(word) ? [] : [word] }]
  return [{ from: word, to: compound(word, lexicon) ?? inflected(word, lexicon) ?? [] }]
}

/** Segments a run of a script without spaces: at each character, the longest word in the lexicon. */
function longestMatches(run: string, lexicon: Lexicon): TranslatedWord[] {
  const found: TranslatedWord[] = []
  for (let from = 0; from < run.length; ) {
    let to = Math.min(run.length, from + MAX_UNSPACED_LENGTH)
    while (to > from && lexicon.frequency(run.slice(from, to)) === undefined) to--
    if (to > from) found.push({ from: run.slice(from, to), to: lexicon.translate(run.slice(from, to)) ?? [] })
    from = Math.max(to, from + 1)
  }
  return found
}

const MAX_UNSPACED_LENGTH = 12
const MIN_PART_LENGTH = 4
const MAX_WORD_LENGTH = 60

/**
 * Splits a compound such as "Zahnarzttermin" into two known words, the first as long as possible, with an optional
 * linking sound between them.
 */
function compound(word: string, lexicon: Lexicon): readonly string[] | undefined {
  if (word.length > MAX_WORD_LENGTH) return undefined
  for (let end = word.length - MIN_PART_LENGTH; end >= MIN_PART_LENGTH; end--) {
    const head = lexicon.translate(word.slice(0, end))
    if (!head || head.length === 0) continue
    for (const link of LINKS) {
      if (!word.startsWith(link, end)) continue
      const rest = word.slice(end + link.length)
      if (rest.length < MIN_PART_LENGTH) continue
      const tail = lexicon.translate(rest) ?? inflected(rest, lexicon)
      if (tail && tail.length > 0) return [...head.slice(0, 1), ...tail.slice(0, 1)]
    }
  }
  return undefined
}

function inflected(word: string, lexicon: Lexicon): readonly string[] | undefined {
  const form = otherForm(word, lexicon)
  return form === undefined ? undefined : lexicon.translate(form)
}

const LINKS = ['', 's', 'n', 'en', 'es', 'e']

/** Negations, in lower case and without accents, of languages that use separate words for them. */
const DENYING_WORDS = new Set(
  `nicht nichts kein keine keinen niemals ne rien jamais no nada nunca nao non niente nulla mai niet niets geen nooit
  nie nic nigdy nikdy не ничего никогда нічого ніколи inte inget ingenting aldrig ikke intet لا`.split(/\s+/),
)

/** Negations in Chinese, Japanese and Korean, which write them without spaces or as endings. */
const DENYING_PARTS = /不要|不用|不必|不删|别|勿|しない|ないで|せずに|지\s?(?:마|말|않)/u

const CLAUSE_END = /[,;.!?\n，。、；！？،؛؟]+/u
const MAX_CLAUSES = 12

/**
 * Returns the English words of a query that asks to look and forbids deleting, with "do not delete" appended; undefined for
 * every other query. `translateClause` returns the English words of a part of the query.
 */
function deniedDeletion(
  query: string,
  translateClause: (clause: string) => readonly string[],
): string | undefined {
  const clauses = query.slice(0, MAX_CHARACTERS).split(CLAUSE_END).slice(0, MAX_CLAUSES)
  if (clauses.length < 2 || !clauses.some(denies)) return undefined
  const kept: string[] = []
  let isForbidden = false
  for (const clause of clauses) {
    const words = translateClause(clause)
    if (denies(clause) && words.some((word) => actionOfVerb(word) === 'delete')) isForbidden = true
    else kept.push(...words)
  }
  const wantsToLook = kept.some((word) => actionOfVerb(word) === 'read')
  return isForbidden && wantsToLook ? `${[...new Set(kept)].join(' ')}, do not delete` : undefined
}

function denies(clause: string): boolean {
  if (DENYING_PARTS.test(clause)) return true
  const words = clause
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .match(/[\p{L}\p{M}]+/gu)
  return words?.some((word) => DENYING_WORDS.has(word)) ?? false
}
