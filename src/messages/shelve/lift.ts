// Adds tool search to the request of a client that sends all its tools on every turn: the library prepares it as an
// agent would. Each request is prepared once; later samplings continue from there.
import { SEARCH_TOOL, type SearchOutcome, type Shelf, type TraceListener } from '../../core/index.ts'
import { fieldsOf } from '../../lib/index.ts'
import { rest, type Slice } from '../../node/index.ts'
import type { Fields, MessagesRequest } from '../types.ts'
import type { ClientShelf } from './client-shelf.ts'
import type { Conversations } from './conversations.ts'
import type { SearchMemory } from './memory.ts'
import { type Restoring, restore } from './restore.ts'

/** A client's request with its tools on a shelf. */
export type Shelved = {
  readonly loaded: readonly string[]
  readonly deferred: ReadonlySet<string>
  /** Extended thinking is on, so all searches of one sampling share a turn that starts with the thinking block. */
  readonly thinksByHand: boolean
  /** The contract request, with `extra` turns at the end that the client does not see. */
  readonly prepare: (extra: readonly Fields[]) => Promise<MessagesRequest>
  readonly search: (input: unknown) => Promise<SearchOutcome>
}

/** The shelf for a request and the means to restore its hidden searches. */
export type Liftable = { readonly shelf: ClientShelf; readonly restoring: Restoring }

/** Collects what is needed to restore a request's hidden searches. */
export function restoringFor(
  { deferred, names }: ClientShelf,
  { messages, thinking }: MessagesRequest,
  memory: SearchMemory,
  owner: string,
): Restoring {
  const remembered = memory.recall(owner, messages)
  const thinksByHand = fieldsOf(thinking).type === 'enabled'
  return { names, deferred, searchTool: SEARCH_TOOL, remembered, thinksByHand }
}

export type Lifting = {
  readonly conversations: Conversations
  readonly trace: TraceListener | undefined
  readonly slice?: Slice | undefined
}

export async function lift(
  request: MessagesRequest,
  { shelf: client, restoring }: Liftable,
  { conversations, trace, slice }: Lifting,
): Promise<Shelved> {
  const { own, deferred, shelf: tools } = client
  const messages = restore(request.messages, restoring)
  await rest(slice)
  const place = { tools, model: request.model, given: request.messages, messages }
  const prepare = (fork: Shelf, extra: readonly Fields[]) =>
    fork.prepare({ ...request, tools: own, messages: [...messages, ...extra] })
  const fork = conversations.forkFor(place, trace)
  const first = await prepare(fork, [])
  await rest(slice)
  // A fork that added notes of its own is not reused: it would add them elsewhere next time, and a request must depend
  // on its messages alone.
  if (first.history.length === messages.length) conversations.keep(fork, place)
  for (const message of first.request.messages) Object.freeze(message)
  const contractOf = (prepared: { readonly request: unknown }) => prepared.request as MessagesRequest
  return {
    loaded: first.loaded,
    deferred,
    thinksByHand: restoring.thinksByHand,
    // The extra turns belong to this request only, not to the kept conversation.
    prepare: async (extra) =>
      contractOf(extra.length === 0 ? first : await prepare(tools.fork({ subAgent: false }), extra)),
    search: (input) => tools.search(input, { trace }),
  }
}
