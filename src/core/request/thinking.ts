// Leaves out thinking that is bound to tools, a system prompt or messages which are different now: the API would refuse
// it. Thinking is valid if exactly what is in front of it was sent to the model that wrote it. Only new messages are read
// (L4). Definitions that messages refer to need no check: once sent, they stay as they are.
// Implements N5.

import { hash, oncePerFrozen, toJson, withoutCacheControl } from '../../lib/index.ts'
import { filterThinking, isThinking, messageBlocks } from '../history/index.ts'
import type { Context } from '../state.ts'
import type { Block, Definition, Message, RequestLike } from '../types.ts'
import type { Demands } from './demands.ts'

/** The last request to a model that binds thinking; extended in place. */
export type BoundRequest = {
  readonly messages: Message[]
  /** The hash of everything in front of each message, and at the end that of the whole request. */
  readonly before: string[]
  /** Messages that have lost thinking, by their place. */
  readonly changed: Map<number, Message>
}

/** Messages with only valid thinking, and the state to recognise it by. */
type Valid = {
  readonly messages: readonly Message[]
  readonly grounds: readonly string[] | undefined
  /** Thinking by hand, which must begin a series of calls, is left out at the start of the current one. */
  readonly losesThinking: boolean
}

/** Hashes to remember; beyond that the oldest thinking is left out, which the API allows. */
const MAX_GROUNDS = 4096

/** Leaves out thinking that is no longer valid. Before the first request to a model that binds it, all counts as valid. */
export function withValidThinking(
  { capability, memory, state: { grounds } }: Context,
  { system }: RequestLike & { readonly system?: unknown },
  tools: readonly Definition[],
  demands: Demands,
  messages: readonly Message[],
): Valid {
  if (!capability.boundThinking) return { messages, grounds, losesThinking: false }
  const front = [...demands.tools, ...tools.filter(({ defer_loading }) => defer_loading !== true)]
  const start = hash(toJson([front.map(hashOf), withoutCacheControl(system)]))
  if (memory.bound?.before[0] !== start) memory.bound = { messages: [], before: [start], changed: new Map() }
  const { bound } = memory
  let link = forgetFrom(sameStart(bound.messages, messages), bound)
  let all: ReadonlySet<string> | undefined
  const isKnown = (one: string): boolean => {
    // In most turns only the newest is asked for.
    if (grounds?.at(-1) === one) return true
    all ??= new Set(grounds)
    return all.has(one)
  }
  const answered: string[] = []
  const added: string[] = []
  let isAnswer = false
  const isKept = (block: Block, { role }: Message): boolean => {
    if (role !== 'assistant') isAnswer = false
    else if (!isAnswer && (!grounds || isKnown(link))) isAnswer = Boolean(answered.push(link))
    if (!isThinking(block)) {
      link = hash(toJson([link, role, withoutCacheControl(block)]))
      return true
    }
    const thought = hash(link + toJson(block))
    if (isAnswer) added.push(thought)
    return isAnswer || isKnown(thought)
  }
  for (let at = bound.messages.length; at < messages.length; at++) {
    const message = messages[at] as Message
    const kept = filterThinking(message, (block) => isKept(block, message))
    if (kept !== message) bound.changed.set(at, kept)
    bound.messages.push(message)
    bound.before.push(link)
  }
  const open = grounds?.filter((one) => !answered.includes(one) && one !== link) ?? []
  const sent =
    bound.changed.size > 0 ? messages.map((message, at) => bound.changed.get(at) ?? message) : messages
  return {
    messages: sent,
    grounds: [...open, ...added, link].slice(-MAX_GROUNDS),
    losesThinking: sent !== messages && demands.thinksByHand && losesStart(messages, sent),
  }
}

const hashOf = oncePerFrozen((tool: Definition): string => hash(toJson(withoutCacheControl(tool))))

/** Returns how many messages both lists begin with, up to the start of a reply. */
function sameStart(before: readonly Message[], after: readonly Message[]): number {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  while (at > 0 && before[at - 1]?.role === 'assistant') at--
  return at
}

/** Forgets all messages from a place on; returns the hash of what is left. */
function forgetFrom(place: number, { messages, before, changed }: BoundRequest): string {
  messages.length = place
  before.length = place + 1
  for (const at of changed.keys()) if (at >= place) changed.delete(at)
  return before[place] ?? ''
}

/** Looks at the first reply since the user's last turn without results. */
function losesStart(messages: readonly Message[], sent: readonly Message[]): boolean {
  let first = -1
  let hasResult = messages.at(-1)?.role === 'assistant'
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at] as Message
    if (message.role !== 'assistant') {
      hasResult ||= messageBlocks(message).some(({ type }) => type === 'tool_result')
      continue
    }
    if (!hasResult) break
    first = at
    if (messages[at - 1]?.role !== 'assistant') hasResult = false
  }
  return first >= 0 && messages[first] !== sent[first]
}
