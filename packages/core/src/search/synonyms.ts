// Finds other words to search for: synonyms, and for a word that no tool has its completions, parts or corrections.
import { editDistance } from '../names.ts'
import { stem } from './stem.ts'

/** Words of one meaning, a line each. */
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

let table: Map<string, string[]> | undefined

/**
 * Returns the synonyms of a stem, with itself among them and some more than once. Builds its table on first use, because
 * most commands start and never search.
 */
export function synonymsOf(stemmed: string): readonly string[] {
  if (!table) {
    table = new Map()
    for (const line of GROUPS.trim().split('\n')) {
      const stems = line.trim().split(/\s+/).map(stem)
      for (const one of stems) table.set(one, [...(table.get(one) ?? []), ...stems])
    }
  }
  return table.get(stemmed) ?? []
}

/** A stem to search for in place of an unknown word. */
export type Repair = {
  readonly word: string
  readonly how: 'prefix' | 'typo' | 'part'
  readonly share: number
}

const MIN_PREFIX_LENGTH = 3
const MIN_TYPO_LENGTH = 4
const MAX_WORD_LENGTH = 40
const MAX_REPAIRS = 8

/** Returns stems near an unknown word: completions, else the two words it consists of, else corrections. */
export function repair(
  word: string,
  stems: readonly string[],
  isKnown: (word: string) => boolean,
  mayCorrect: boolean,
): Repair[] {
  if (word.length > MAX_WORD_LENGTH || !/^\p{L}+$/u.test(word)) return []
  const longer = completions(word, stems)
  if (longer.length > 0) return longer
  const halves = split(word, isKnown)
  return halves.length > 0 || !mayCorrect ? halves : corrections(word, stems)
}

function completions(word: string, stems: readonly string[]): Repair[] {
  if (word.length < MIN_PREFIX_LENGTH) return []
  const found = stems.filter((other) => other.startsWith(word) && other !== word)
  return nearestFirst(found).map((other) => ({ word: other, how: 'prefix', share: 1 }))
}

function corrections(word: string, stems: readonly string[]): Repair[] {
  if (word.length < MIN_TYPO_LENGTH) return []
  const maxDistance = word.length < 8 ? 1 : 2
  const stemmed = stem(word)
  let nearest = maxDistance
  let found: string[] = []
  for (const other of stems) {
    if (Math.abs(other.length - word.length) > nearest || other.length < MIN_TYPO_LENGTH) continue
    const distance = Math.min(editDistance(word, other, nearest), editDistance(stemmed, other, nearest))
    if (distance > nearest) continue
    if (distance < nearest) found = []
    nearest = distance
    found.push(other)
  }
  return nearestFirst(found).map((other) => ({ word: other, how: 'typo', share: 1 / nearest }))
}

function split(word: string, isKnown: (word: string) => boolean): Repair[] {
  for (let end = word.length - 3; end >= 3; end--) {
    const [head, tail] = [word.slice(0, end), word.slice(end)]
    if (isKnown(head) && isKnown(tail))
      return [head, tail].map((part) => ({ word: part, how: 'part', share: 1 }))
  }
  return []
}

/** Sorts short words first, then alphabetically, so that the order of tools does not matter. */
function nearestFirst(words: string[]): string[] {
  return words.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, MAX_REPAIRS)
}
