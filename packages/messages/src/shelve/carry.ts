// Encodes what a hidden search loaded in the id of the call that follows it. The client sends the id back, so any process
// or replica can restore the search from the history alone.
import { hash } from '@toolshelf/core/internal'

/** The tools that a search loaded, and how many matches it left out. */
export type FoundNames = { readonly names: readonly string[]; readonly left: number }

/** Where in a reply a search ran. */
export type SearchPlace = {
  /** The index of the block that it ran before. */
  readonly at: number
  /** How many of the blocks before it are thinking, which not every client sends back. */
  readonly thoughts: number
}

export type HiddenSearch = FoundNames & SearchPlace

const MARK = '__shelf_'
const CODES = /^(?:[0-9a-z]+(?:T[0-9a-z]+)?_[0-9a-z]+(?:_[0-9a-z]{7})*(?:-(?!$)|$))*$/

/** Adds the searches to the id of the call that follows them; escapes ids that contain the mark by chance. */
export function carry(id: string, searches: readonly HiddenSearch[]): string {
  if (searches.length === 0 && !id.includes(MARK)) return id
  const codes = searches.map((search) =>
    [placeCode(search), search.left.toString(36), ...search.names.map(codeOf)].join('_'),
  )
  return `${id}${MARK}${codes.join('-')}`
}

function placeCode({ at, thoughts }: SearchPlace): string {
  return at.toString(36) + (thoughts > 0 ? `T${thoughts.toString(36)}` : '')
}

/** Returns the model's original id. */
export function withoutCarried(id: string): string {
  return divided(id).plain
}

/** Returns the searches encoded in an id, without tools that no longer exist. */
export function carriedBy(id: string, names: CodedNames): HiddenSearch[] {
  return divided(id).codes.map((code) => {
    const [place = '', left = '', ...codes] = code.split('_')
    const [at = '', thoughts = '0'] = place.split('T')
    const known = codes.flatMap((one) => names.get(one) ?? [])
    return {
      at: Number.parseInt(at, 36),
      thoughts: Number.parseInt(thoughts, 36),
      left: Number.parseInt(left, 36),
      names: known,
    }
  })
}

/** Limits on the characters read from an id and on its searches, because clients can send any id. */
const MAX_ID_LENGTH = 100_000
const MAX_SEARCHES = 50

export function carriesSearches(id: string): boolean {
  return id.includes(MARK) && divided(id).codes.length > 0
}

/** Splits an id into the original and the encoded searches; a mark without valid codes after it belongs to the id. */
function divided(id: string): { plain: string; codes: readonly string[] } {
  const mark = id.lastIndexOf(MARK)
  const codes = id.slice(mark + MARK.length)
  if (mark < 0 || codes.length > MAX_ID_LENGTH || !CODES.test(codes)) return { plain: id, codes: [] }
  return { plain: id.slice(0, mark), codes: codes === '' ? [] : codes.split('-', MAX_SEARCHES) }
}

/** Tool names by their short codes. */
export type CodedNames = ReadonlyMap<string, string>

export function codeNames(names: Iterable<string>): CodedNames {
  return new Map([...names].map((name) => [codeOf(name), name]))
}

function codeOf(name: string): string {
  return hash(name).slice(-7)
}
