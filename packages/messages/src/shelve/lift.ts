// Adds tool search to the request of a client that sends all its tools on every turn: the library prepares it as an
// agent would. Each request is prepared once; later samplings continue from there.
import type { SearchOutcome, Shelf, TraceListener } from '@toolshelf/core'
import { fieldsOf, type Pause, READ_TOOL, SEARCH_TOOL } from '@toolshelf/core/internal'
import { type Slice, yieldIfOver } from '@toolshelf/core/internal/node'
import type { Conversations } from '../conversations.ts'
import type { Fields, MessagesRequest } from '../types.ts'
import type { ClientShelf } from './client-shelf.ts'
import type { LongResults } from './long-results.ts'
import type { SearchMemory } from './memory.ts'
import { type RestoreContext, restore } from './restore.ts'

/** A client's request with its tools on a shelf. */
export type Shelved = {
  readonly loaded: readonly string[]
  readonly deferred: ReadonlySet<string>
  /** Extended thinking is on, so all searches of one sampling share a turn that starts with the thinking block. */
  readonly thinksByHand: boolean
  /** The contract request, with `extra` turns at the end that the client does not see. */
  readonly prepare: (extra: readonly Fields[]) => Promise<MessagesRequest>
  readonly search: (input: unknown) => Promise<SearchOutcome>
  /** Reads a long result for the model; undefined if long results stay whole. */
  readonly read: ((input: unknown, pause?: Pause) => Promise<readonly string[]>) | undefined
}

/** The shelf for a request and the means to restore its hidden searches. */
export type RequestShelf = { readonly shelf: ClientShelf; readonly restoring: RestoreContext }

/** Collects what is needed to restore a request's hidden searches. */
export function restoreContextFor(
  { deferred, names }: ClientShelf,
  { messages, thinking }: MessagesRequest,
  memory: SearchMemory,
  owner: string,
): RestoreContext {
  const remembered = memory.recall(owner, messages)
  const thinksByHand = fieldsOf(thinking).type === 'enabled'
  return { names, deferred, searchTool: SEARCH_TOOL, remembered, thinksByHand }
}

/** What `lift` needs besides the request. */
type LiftOptions = {
  readonly conversations: Conversations
  readonly trace: TraceListener | undefined
  /** Replaces long results by previews; undefined if they stay whole. */
  readonly longResults: LongResults | undefined
  readonly slice?: Slice | undefined
  /** Names of tools that no search may find. */
  readonly barred?: ReadonlySet<string> | undefined
}

/** Prepares a request with its tools on the shelf. */
export async function lift(
  request: MessagesRequest,
  { shelf: client, restoring }: RequestShelf,
  { conversations, trace, longResults, slice, barred }: LiftOptions,
): Promise<Shelved> {
  const { own, deferred, shelf: tools } = client
  // A tool of the client with the same name is the client's own.
  const hasOwn = request.tools?.some(({ name }) => name === READ_TOOL)
  const results = hasOwn ? undefined : longResults
  const restored = restore(request.messages, restoring)
  await yieldIfOver(slice)
  const messages = results ? results.replaceIn(restored) : restored
  results?.report(request.messages, trace)
  const visible = results ? [...own, results.tool] : own
  const place = { tools, model: request.model, clientMessages: request.messages, messages }
  const prepare = (fork: Shelf, extra: readonly Fields[]) =>
    fork.prepare({ ...request, tools: visible, messages: [...messages, ...extra] })
  const fork = conversations.forkFor(place, trace)
  const first = await prepare(fork, [])
  await yieldIfOver(slice)
  // A fork that added notes of its own is not reused: it would add them elsewhere next time, and a request must depend
  // on its messages alone.
  if (first.history.length === messages.length) conversations.keep(fork, place)
  for (const message of first.request.messages) Object.freeze(message)
  const searchable = barred
    ? tools.fork({ hide: { tool: ({ name }) => barred.has(name), server: () => false } })
    : tools
  const contractOf = (prepared: { readonly request: unknown }) => prepared.request as MessagesRequest
  return {
    loaded: first.loaded,
    deferred,
    thinksByHand: restoring.thinksByHand,
    // The extra turns belong to this request only, not to the kept conversation.
    prepare: async (extra) =>
      contractOf(extra.length === 0 ? first : await prepare(tools.fork({ isSubAgent: false }), extra)),
    search: (input) => searchable.search(input, { trace }),
    read: results && ((input, pause) => results.read(request.messages, input, pause)),
  }
}
