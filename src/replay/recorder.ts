// Collects what the readers of all formats find into a recording: sizes and names, never content.
import type { BilledTokens } from '../core/figures/index.ts'
import { isDeferralNote } from '../core/history/index.ts'
import { SEARCH_TOOL } from '../core/index.ts'
import { blocksOf, readingOf } from '../core/oracle/index.ts'
import { type Fields, fieldsOf, textOf } from '../lib/index.ts'
import type { RecordedTurn, Recording, TranscriptFormat } from './types.ts'

/** Replies of one recording. */
const MAX_TURNS = 50_000
/** Conversations of one recording that are counted separately; further ones share the last. */
const MAX_LANES = 2_000
const MAX_NAME_LENGTH = 200
const MAX_CALLS = 200
const MAX_QUERY_LENGTH = 500

/** A reply as a reader found it. */
export type FoundReply = {
  /** Parts with the same id are one reply; undefined for a reply that is complete. */
  readonly id?: string | undefined
  readonly model: string
  readonly calls: readonly string[]
  readonly queries: readonly string[]
  readonly characters: number
  readonly usage?: BilledTokens | undefined
  readonly tools?: readonly Fields[] | undefined
}

/** Collects a recording; readers call it for each line. */
export type Recorder = {
  /** Adds this many characters to a conversation: what the user said, or what a tool returned. */
  readonly add: (lane: string, characters: number) => void
  /** Sets the characters of a conversation, for logs that repeat all of it in each request. */
  readonly resize: (lane: string, characters: number, isEdited: boolean) => void
  readonly reply: (lane: string, reply: FoundReply) => void
  /** Sets the usage of the last reply of a conversation, unless it has one. */
  readonly setUsage: (lane: string, usage: BilledTokens) => void
  /** Replaces a conversation by one of this many characters. */
  readonly compact: (lane: string, characters: number) => void
  readonly markDeferring: () => void
  readonly markUnreadable: () => void
  readonly recording: (format: TranscriptFormat, takesReferences: boolean) => Recording
}

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }
type Lane = {
  characters: number
  isCompacted: boolean
  last: Writable<RecordedTurn> | undefined
  lastId?: string
}

/** Creates an empty recorder. */
export function createRecorder(): Recorder {
  const lanes = new Map<string, Lane>()
  const turns: Writable<RecordedTurn>[] = []
  const counts = { unreadable: 0, leftOut: 0, compactions: 0 }
  let isDeferring = false

  function laneOf(name: string): Lane {
    const known = lanes.get(lanes.size < MAX_LANES || lanes.has(name) ? name : OTHERS)
    const lane = known ?? { characters: 0, isCompacted: false, last: undefined }
    if (!known) lanes.set(lanes.size < MAX_LANES ? name : OTHERS, lane)
    return lane
  }

  /** Adds a further part of the lane's last reply. */
  function extend(lane: Lane, { calls, queries, characters, usage }: FoundReply): void {
    const { last } = lane
    if (!last) return
    last.calls = [...last.calls, ...calls].slice(0, MAX_CALLS)
    last.queries = [...last.queries, ...queries].slice(0, MAX_CALLS)
    last.replyCharacters += characters
    last.usage = usage ?? last.usage
  }

  return {
    add(name, characters) {
      laneOf(name).characters += characters
    },
    resize(name, characters, isEdited) {
      const lane = laneOf(name)
      lane.characters = characters
      lane.isCompacted = isEdited && lane.last !== undefined
      if (lane.isCompacted) counts.compactions++
    },
    reply(name, reply) {
      const lane = laneOf(name)
      if (reply.queries.length > 0) isDeferring = true
      if (reply.id !== undefined && reply.id === lane.lastId) extend(lane, reply)
      else if (turns.length >= MAX_TURNS) counts.leftOut++
      else {
        lane.last = turnOf(lanes.has(name) ? name : OTHERS, lane, reply)
        turns.push(lane.last)
      }
      if (reply.id !== undefined) lane.lastId = reply.id
      lane.isCompacted = false
      lane.characters += reply.characters
    },
    setUsage(name, usage) {
      const { last } = laneOf(name)
      if (last) last.usage ??= usage
    },
    compact(name, characters) {
      const lane = laneOf(name)
      counts.compactions++
      lane.characters = characters
      lane.isCompacted = lane.last !== undefined
    },
    markDeferring() {
      isDeferring = true
    },
    markUnreadable() {
      counts.unreadable++
    },
    recording: (format, takesReferences) => ({ format, turns, isDeferring, takesReferences, ...counts }),
  }
}

const OTHERS = 'others'

function turnOf(name: string, lane: Lane, reply: FoundReply): Writable<RecordedTurn> {
  const { model, calls, queries, characters, usage, tools } = reply
  return {
    lane: name,
    model: model.slice(0, MAX_NAME_LENGTH),
    calls: calls.slice(0, MAX_CALLS).map((call) => call.slice(0, MAX_NAME_LENGTH)),
    queries: queries.slice(0, MAX_CALLS).map((query) => query.slice(0, MAX_QUERY_LENGTH)),
    characters: lane.characters,
    replyCharacters: characters,
    usage,
    isCompacted: lane.isCompacted,
    ...(tools ? { tools } : {}),
  }
}

/** What a message contributes: its length without searches and notes about deferred tools, and its calls. */
export type MessageParts = Pick<FoundReply, 'calls' | 'queries' | 'characters'>

/** Ids of search calls whose results have not been seen yet. */
const MAX_OPEN_SEARCHES = 1_000

/** Returns a function that reads messages in the Messages shape; it remembers searches to leave out their results. */
export function createMessageReader(): (message: Fields) => MessageParts {
  const searches = new Set<unknown>()
  return (message) => {
    const calls: string[] = []
    const queries: string[] = []
    const kept: Fields[] = []
    for (const block of blocksOf(message.content)) {
      const { type, name, id, input, tool_use_id: answered } = block
      const call = type === 'tool_use' ? readCall(textOf(name), input) : undefined
      if (call?.query !== undefined) {
        queries.push(call.query)
        if (searches.size < MAX_OPEN_SEARCHES) searches.add(id)
        continue
      }
      if (type === 'tool_result' && searches.delete(answered)) continue
      if (type === 'text' && isDeferralNote(textOf(block.text))) continue
      if (call) calls.push(call.name)
      kept.push(block)
    }
    const { characters } = readingOf({ messages: [{ role: message.role, content: kept }] })
    return { calls, queries, characters }
  }
}

const SEARCH_NAME = new RegExp(`(?:^|__)${SEARCH_TOOL}$`)
const CALL_NAME = /(?:^|__)CallTool$/

/** Reads a call: a search by its query, a call through CallTool by the name inside, any other by its name. */
export function readCall(name: string, input: unknown): { name: string; query?: string } {
  if (SEARCH_NAME.test(name)) return { name, query: textOf(fieldsOf(input).query) }
  const inner = CALL_NAME.test(name) ? textOf(fieldsOf(input).name) : ''
  return { name: inner || name }
}
