// Encodes what a hidden search loaded in the id of the call that follows it. The client sends the id back, so any process
// or replica can restore the search from the history alone. Finds and removes these traces for other upstreams.
import { blocksOf, type Fields, hash, oncePerFrozen, textOf } from '@toolshelf/core/internal'
import type { MessagesRequest } from '../types.ts'

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
function withoutCarried(id: string): string {
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

/** Returns whether the history contains additions that an upstream without tool search could refuse. */
export function hasTraces({ messages }: MessagesRequest): boolean {
  return messages.some(hasTrace)
}

const hasTrace = oncePerFrozen(
  (message: Fields): boolean =>
    Array.isArray(message.content) &&
    (withPlainIds(message) !== message || blocksOf(message.content).some((block) => 'caller' in block)),
)

/** Restores the model's original ids in a request. */
export function withoutCarriedIds(request: MessagesRequest): MessagesRequest {
  return withMessages(request, withPlainIds)
}

/** Changes each message of a request; returns the same object if none changes. */
export function withMessages(request: MessagesRequest, change: (message: Fields) => Fields): MessagesRequest {
  const messages = request.messages.map(change)
  const isSame = messages.every((message, index) => message === request.messages[index])
  return isSame ? request : { ...request, messages }
}

/** Restores the model's original ids in a message; returns the same object if nothing changes. */
export const withPlainIds = oncePerFrozen((message: Fields): Fields => {
  if (!Array.isArray(message.content)) return message
  const blocks = blocksOf(message.content)
  const content = blocks.map((block) => {
    const field = block.type === 'tool_use' ? 'id' : block.type === 'tool_result' ? 'tool_use_id' : undefined
    const id = field && textOf(block[field])
    const plain = id && withoutCarried(id)
    return field && plain !== id ? { ...block, [field]: plain } : block
  })
  const isSame = content.every((block, index) => block === blocks[index])
  return isSame ? message : Object.freeze({ ...message, content })
})
