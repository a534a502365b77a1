// What a hidden search loaded, carried by the client itself: in the id of the call that follows it. The history alone
// then tells what was loaded and where, to this process, to the next one and to every replica.
import { hash } from '../../lib/index.ts'

/** A search that the client never saw: before which block of the reply it ran, what it loaded, how many it left out. */
export type HiddenSearch = { readonly at: number; readonly names: readonly string[]; readonly left: number }

const MARK = '__shelf_'
const CODES = /^(?:[0-9a-z]+_[0-9a-z]+(?:_[0-9a-z]{7})*(?:-(?!$)|$))*$/

/** The id of a call that follows these searches; one that holds our mark by chance gets another, to be read back. */
export function carry(id: string, searches: readonly HiddenSearch[]): string {
  if (searches.length === 0 && !id.includes(MARK)) return id
  const codes = searches.map(({ at, left, names }) =>
    [at.toString(36), left.toString(36), ...names.map(codeOf)].join('_'),
  )
  return `${id}${MARK}${codes.join('-')}`
}

/** The id as the model gave it. */
export function withoutCarried(id: string): string {
  return divided(id).plain
}

/** The searches that an id carries; tools that are gone are left out. */
export function carriedBy(id: string, names: CodedNames): HiddenSearch[] {
  return divided(id).codes.map((code) => {
    const [at = '', left = '', ...codes] = code.split('_')
    const known = codes.flatMap((one) => names.get(one) ?? [])
    return { at: Number.parseInt(at, 36), left: Number.parseInt(left, 36), names: known }
  })
}

/** Characters that an id may carry, and searches that count of them: clients could write any number. */
const LONGEST = 100_000
const MOST_SEARCHES = 50

/** Whether an id carries searches. */
export function carriesSearches(id: string): boolean {
  return id.includes(MARK) && divided(id).codes.length > 0
}

/** An id and what it carries; a mark that nothing of ours follows is part of the id. */
function divided(id: string): { plain: string; codes: readonly string[] } {
  const mark = id.lastIndexOf(MARK)
  const codes = id.slice(mark + MARK.length)
  if (mark < 0 || codes.length > LONGEST || !CODES.test(codes)) return { plain: id, codes: [] }
  return { plain: id.slice(0, mark), codes: codes === '' ? [] : codes.split('-', MOST_SEARCHES) }
}

export type CodedNames = ReadonlyMap<string, string>

export function codeNames(names: Iterable<string>): CodedNames {
  return new Map([...names].map((name) => [codeOf(name), name]))
}

function codeOf(name: string): string {
  return hash(name).slice(-7)
}
