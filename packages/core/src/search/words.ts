// Splits text into words. Unifies case, accents and width, cuts identifiers into their parts, and turns scripts without
// spaces into pairs of characters.
// Implements S14.

const LETTER_LOW = 1
const LETTER_UP = 2
const DIGIT = 3

const KINDS = new Uint8Array(128)
for (let code = 97; code <= 122; code++) KINDS[code] = LETTER_LOW
for (let code = 65; code <= 90; code++) KINDS[code] = LETTER_UP
for (let code = 48; code <= 57; code++) KINDS[code] = DIGIT

/** Scripts that separate words by no spaces, or attach endings to them. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/u

const RUNS = new RegExp(`(${UNSPACED.source})|[\\p{L}\\p{N}\\p{M}]+|\\p{Extended_Pictographic}`, 'gu')

/** Receives one word; `isJoined` marks a second spelling of parts just emitted ("git", "hub", then "github"). */
export type Emit = (word: string, isJoined: boolean) => void

/** Calls `emit` with every word of a text, in order. */
export function eachWord(text: string, emit: Emit): void {
  if (isAscii(text)) asciiWords(text, emit)
  else otherWords(text, emit)
}

/** Returns the words of a text. */
export function splitWords(text: string): string[] {
  const words: string[] = []
  eachWord(text, (word) => words.push(word))
  return words
}

const HIDDEN = /(?:\p{Cf}|\p{Variation_Selector}|\u034f|\u115f|\u1160|\u3164|\uffa0)+/gu

/** Removes invisible characters: soft hyphens, zero-width spaces and joiners, direction marks. */
export function withoutHidden(text: string): string {
  return isAscii(text) ? text : text.replace(HIDDEN, '')
}

/** Unifies accents and width; keeps case, which shows where an identifier's parts begin. */
export function unaccent(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .normalize('NFC')
}

/** Returns whether a word is in a script without spaces. */
export function isUnspaced(word: string): boolean {
  return UNSPACED.test(word)
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) return false
  return true
}

function asciiWords(text: string, emit: Emit): void {
  let start = -1
  for (let index = 0; index <= text.length; index++) {
    const kind = index < text.length ? KINDS[text.charCodeAt(index)]! : 0
    if (kind !== 0) {
      if (start < 0) start = index
    } else if (start >= 0) {
      const isPossessive = index === start + 1 && text.charCodeAt(start - 1) === 39 && isEnding(text, start)
      if (!isPossessive) run(text, start, index, emit)
      start = -1
    }
  }
}

/** Returns whether a letter is the s, t, d or m after an apostrophe, which is not a word. */
function isEnding(text: string, index: number): boolean {
  return 'stdmSTDM'.includes(text[index]!)
}

/** Emits a run of letters and digits: whole if it has no boundaries inside, else its parts and the joined word. */
function run(text: string, start: number, end: number, emit: Emit): void {
  if (!hasEdge(text, start, end)) {
    emit(text.slice(start, end).toLowerCase(), false)
    return
  }
  const parts = asciiParts(text, start, end)
  for (const part of parts) emit(part, false)
  if (parts.length === 2 && end - start <= MAX_JOINED_LENGTH) {
    emit(parts[0]! + parts[1]!, true)
    return
  }
  for (let index = 1; index < parts.length; index++) {
    const [before, after] = [parts[index - 1]!, parts[index]!]
    if (isDigit(before) !== isDigit(after)) emit(before + after, true)
  }
}

const MAX_JOINED_LENGTH = 20

function isDigit(part: string): boolean {
  return KINDS[part.charCodeAt(0)] === DIGIT
}

/** Returns whether a run has a boundary: a capital or digit after a small letter, or the other way round. */
function hasEdge(text: string, start: number, end: number): boolean {
  const first = KINDS[text.charCodeAt(start)]!
  let previous = first
  for (let index = start + 1; index < end; index++) {
    const kind = KINDS[text.charCodeAt(index)]!
    if (kind !== previous && !(index === start + 1 && first === LETTER_UP && kind === LETTER_LOW)) return true
    previous = kind
  }
  return false
}

/**
 * Splits camelCase, HTTPServer and base64; keeps plurals of acronyms (URLs) and one leading letter (iPhone, OAuth)
 * whole.
 */
function asciiParts(text: string, start: number, end: number): string[] {
  const lower = text.slice(start, end).toLowerCase()
  const parts: string[] = []
  let from = start
  for (let index = start + 1; index < end; index++) {
    if (!isEdge(text, index, end)) continue
    const isLeading = index === start + 1 && KINDS[text.charCodeAt(start)] !== DIGIT
    if (isLeading && KINDS[text.charCodeAt(index)] !== DIGIT) continue
    parts.push(lower.slice(from - start, index - start))
    from = index
  }
  parts.push(lower.slice(from - start))
  return parts
}

function isEdge(text: string, index: number, end: number): boolean {
  const before = KINDS[text.charCodeAt(index - 1)]!
  const here = KINDS[text.charCodeAt(index)]!
  if (before === DIGIT || here === DIGIT) return before !== here
  if (before === LETTER_LOW) return here === LETTER_UP
  if (here === LETTER_LOW || index + 1 >= end) return false
  const isPlural = index + 2 === end && text.charCodeAt(index + 1) === 115
  return KINDS[text.charCodeAt(index + 1)] === LETTER_LOW && !isPlural
}

/** Like `asciiParts`, for other scripts with capitals. */
function partsOf(run: string): string[] {
  return run
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{L})(\d)/gu, '$1 $2')
    .replace(/(\d)(\p{L})/gu, '$1 $2')
    .split(' ')
}

function otherWords(text: string, emit: Emit): void {
  for (const match of unaccent(withoutHidden(text)).matchAll(RUNS)) {
    if (match[1] !== undefined) pairs(match[1], emit)
    else for (const piece of match[0].split(UNSPACED_EDGE)) mixed(piece, emit)
  }
}

const UNSPACED_EDGE = new RegExp(`(${UNSPACED.source})`, 'u')

function mixed(piece: string, emit: Emit): void {
  if (piece === '') return
  if (UNSPACED.test(piece)) pairs(piece, emit)
  else if (isAscii(piece)) asciiWords(piece, emit)
  else for (const part of partsOf(piece)) emit(part.toLowerCase(), false)
}

/** Emits pairs of characters; single ones as a second spelling, so that a query of one character finds them. */
function pairs(run: string, emit: Emit): void {
  const characters = [...run]
  if (characters.length <= 2) emit(run, false)
  else
    for (let index = 1; index < characters.length; index++)
      emit(characters[index - 1]! + characters[index]!, false)
  if (characters.length > 1) for (const character of characters) emit(character, true)
}

/** Words whose forms Porter's algorithm does not unify. */
const IRREGULAR = new Map(
  Object.entries({
    analysis: 'analyz',
    analyses: 'analyz',
    analyse: 'analyz',
    analysed: 'analyz',
    analytics: 'analyz',
    analytical: 'analyz',
    conversion: 'convert',
    conversions: 'convert',
    deletion: 'delet',
    summary: 'summar',
    summaries: 'summar',
    summarize: 'summar',
    summarise: 'summar',
    summarization: 'summar',
    summarizer: 'summar',
    summarizes: 'summar',
    summarizing: 'summar',
    sent: 'send',
    bought: 'buy',
    sold: 'sell',
    found: 'find',
    paid: 'pai',
    written: 'write',
    wrote: 'write',
    ran: 'run',
    built: 'build',
    made: 'make',
    drawn: 'draw',
    children: 'child',
    people: 'person',
    news: 'news',
    optimum: 'optim',
    translator: 'translat',
    recipe: 'recip',
    subscription: 'subscrib',
    subscriptions: 'subscrib',
    description: 'describ',
    descriptions: 'describ',
    weather: 'weather',
    status: 'status',
    canvas: 'canvas',
    alias: 'alias',
    business: 'business',
    businesses: 'business',
    university: 'universiti',
    universities: 'universiti',
    universal: 'universal',
    organization: 'organiz',
    organisation: 'organiz',
    organ: 'organ',
    general: 'general',
    generic: 'generic',
    generally: 'general',
    generate: 'generat',
    generated: 'generat',
    generates: 'generat',
    generating: 'generat',
    generation: 'generat',
    generator: 'generat',
    policy: 'polici',
    police: 'police',
    communication: 'communic',
    community: 'commun',
  }),
)

const STEP_2: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['isation', 'ize'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['entli', 'ent'],
  ['ousli', 'ous'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['iser', 'ize'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['ator', 'ate'],
  ['eli', 'e'],
]

const STEP_3: readonly (readonly [string, string])[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]

const STEP_4 = [
  ...['ement', 'ance', 'ence', 'able', 'ible', 'ment', 'ant', 'ent', 'ism', 'ate', 'iti', 'ous', 'ive'],
  ...['ize', 'ise', 'ion', 'al', 'er', 'ic', 'ou'],
]

/** Returns the stem of a lower-case word without accents; leaves short words and words in other scripts as they are. */
export function stem(word: string): string {
  const irregular = IRREGULAR.get(word)
  if (irregular !== undefined) return irregular
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word
  let text = endings(plural(word))
  text = replaceSuffix(text, STEP_2)
  text = replaceSuffix(text, STEP_3)
  return tidy(stripSuffix(text))
}

function plural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies')) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1)
  if (word.endsWith('ss') || word.endsWith('us') || !word.endsWith('s')) return word
  return word.length > 3 || /[aeiou]s$/.test(word) === false ? word.slice(0, -1) : word
}

/** Removes -ed and -ing, and turns a final y into i. */
function endings(word: string): string {
  let text = word
  if (text.endsWith('eed')) {
    if (measure(text.slice(0, -3)) > 0) text = text.slice(0, -1)
  } else {
    const cut = text.endsWith('ing') ? 3 : text.endsWith('ed') ? 2 : 0
    const base = text.slice(0, text.length - cut)
    if (cut > 0 && base.length > 1 && hasVowel(base)) text = restore(base)
  }
  return text.endsWith('y') && text.length > 2 && hasVowel(text.slice(0, -1)) ? `${text.slice(0, -1)}i` : text
}

function restore(base: string): string {
  if (/(?:at|bl|iz)$/.test(base)) return `${base}e`
  if (/([^aeioulsz])\1$/.test(base)) return base.slice(0, -1)
  return measure(base) === 1 && isShort(base) ? `${base}e` : base
}

function replaceSuffix(word: string, rules: readonly (readonly [string, string])[]): string {
  for (const [suffix, replacement] of rules) {
    if (!word.endsWith(suffix)) continue
    const base = word.slice(0, word.length - suffix.length)
    return measure(base) > 0 ? base + replacement : word
  }
  return word
}

function stripSuffix(word: string): string {
  for (const suffix of STEP_4) {
    if (!word.endsWith(suffix)) continue
    const base = word.slice(0, word.length - suffix.length)
    const isAllowed = measure(base) > 1 && (suffix !== 'ion' || /[st]$/.test(base))
    return isAllowed ? base : word
  }
  return word
}

function tidy(word: string): string {
  let text = word
  if (text.endsWith('e')) {
    const base = text.slice(0, -1)
    const size = measure(base)
    if (size > 1 || (size === 1 && !isShort(base))) text = base
  }
  return text.endsWith('ll') && measure(text) > 1 ? text.slice(0, -1) : text
}

/** Counts how often a vowel is followed by a consonant: Porter's m. */
function measure(word: string): number {
  let count = 0
  let wasVowel = false
  for (let index = 0; index < word.length; index++) {
    const vowel = isVowel(word, index)
    if (wasVowel && !vowel) count++
    wasVowel = vowel
  }
  return count
}

function isVowel(word: string, index: number): boolean {
  const letter = word[index]!
  if ('aeiou'.includes(letter)) return true
  return letter === 'y' && index > 0 && !isVowel(word, index - 1)
}

function hasVowel(word: string): boolean {
  for (let index = 0; index < word.length; index++) if (isVowel(word, index)) return true
  return false
}

/** Returns whether a word ends in consonant, vowel, consonant, the last not w, x or y. */
function isShort(word: string): boolean {
  const end = word.length - 1
  if (end < 2 || /[wxy]$/.test(word)) return false
  return !isVowel(word, end) && isVowel(word, end - 1) && !isVowel(word, end - 2)
}

const GROUPS = `
  delete remove erase discard
  get fetch retrieve obtain
  find search lookup query locate discover
  show display list view
  get show
  read view open
  create add make generate open
  generate produce compose
  build construct make
  update edit modify change
  set change configure adjust
  send post share deliver
  message dm chat text
  notify alert notification
  start launch run execute begin
  stop halt end terminate
  stop cancel
  close end
  buy purchase order shop
  cost price fee
  movie film cinema
  song track music
  image picture photo photograph
  mail email
  directory folder
  doc document
  repository repo
  info information detail
  data information
  location place
  address location
  restaurant dining
  hotel accommodation lodging
  job career employment position
  meeting event appointment
  calendar schedule
  reminder alarm remind
  todo task
  weather forecast
  stock share ticker
  currency exchange
  compute calculate
  calculate evaluate
  convert transform
  website webpage site web
  url link
  customer client
  employee staff worker
  ticket issue
  bug issue
  route direction navigate
  trip travel itinerary vacation
  car vehicle automobile
  phone mobile
  article post
  summary summarize overview
  chart graph plot
  chart diagram visualize
  archive zip compress
  copy duplicate clone
  move transfer
  reserve book reservation
  doctor physician
  health medical
  recipe cook
  food meal
  verify validate check
  compare difference
  average mean
  total sum
  count number
  invite invitation
  latest recent newest
  friend contact
  team group
  author writer
  picture drawing
  test exam quiz
  learn study education
  gift present
  cheap discount deal coupon
  house home property
  rent rental
  company business firm
  law legal
  money finance financial
  error problem
  fix repair
  speech voice audio
  speak voice
  game play
  sport match
  code program
  ai model
  pdf document
  note memo
  comment reply
  answer respond reply
  label tag
  history past
  upload import
  download export
  save store
  log record
  login signin authenticate
  password credential
  user account
  size length
  quantity amount
`

let table: ReadonlyMap<string, readonly string[]> | undefined

/**
 * Returns the synonyms of a stem, with itself among them and some more than once. Builds its table on first use, because
 * most commands start and never search.
 */
export function synonymsOf(stemmed: string): readonly string[] | undefined {
  table ??= tableOf(GROUPS)
  return table.get(stemmed)
}

function tableOf(groups: string): Map<string, string[]> {
  const table = new Map<string, string[]>()
  for (const line of groups.trim().split('\n')) {
    const stems = line.trim().split(/\s+/).map(stem)
    for (const one of stems) table.set(one, [...(table.get(one) ?? []), ...stems])
  }
  return table
}

const split = (text: string): string[] => text.trim().split(/\s+/)

/** Function words: never indexed, never searched. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  split(`
    a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it its
    they them their theirs who whom whose which what when where why how is are was were be been being am do does did
    doing have has had having can could will would shall should may might must cannot of to in on at by for from with
    about as into onto through during before after between out off over under again then than there here so such too
    very and or but nor if because while until upon per via within without against toward towards along across among
    any all both each every few more most other others another some no not only own same just also even ever yet
    im ive id ill youre youve hes shes theyre weve were thats whats heres theres lets dont doesnt didnt cant couldnt
    wont wouldnt shouldnt isnt arent wasnt werent havent hasnt hadnt don doesn didn couldn wouldn shouldn isn aren
    wasn weren haven hasn hadn ll ve re etc eg ie
  `),
)

/** Words that people and models put around what they want. Indexed, but searched only if a query has no other words. */
export const FILLER_WORDS: ReadonlySet<string> = new Set(
  split(`
    please kindly want wants wanted wish need needs needed like likes help helps helping assist assistance hi hello hey
    thanks thank appreciate able let know tell give gives giving wondering wonder trying try tries looking seeking
    interested going gonna wanna gotta ok okay sure actually really maybe perhaps possible possibly probably currently
    quickly easily simply something anything everything someone anyone somebody anybody thing things stuff way ways
    kind lot lots bit regarding concerning related specific specifically certain particular given following ensure
    finally lastly firstly secondly thirdly additionally furthermore moreover afterwards afterward next now today
    ask asking question questions planning plan plans decided hoping hope think thinking guess love enjoy
    mention mentioned called named titled various several many much different useful available required necessary
    good great nice best better suitable appropriate relevant well quick easy new
    use used using uses make makes making take takes taking go goes come comes say says said see seen
    tool tools function functions service capability
  `),
)
