// Tool search on behalf of a client that sends all its tools on every turn: its request → one of the contract, made
// by the library as an agent would. Each request is prepared once; its later samplings go on from there.
import { SEARCH_TOOL, type SearchOutcome, type Shelf } from '../../core/index.ts'
import { fieldsOf } from '../../lib/index.ts'
import type { Fields, MessagesRequest } from '../types.ts'
import type { ClientShelf } from './client-shelf.ts'
import type { Conversations } from './conversations.ts'
import type { SearchMemory } from './memory.ts'
import { type Restoring, restore } from './restore.ts'

/** A conversation whose tools are on the shelf, for one request of its client. */
export type Shelved = {
  readonly loaded: readonly string[]
  readonly deferred: ReadonlySet<string>
  /** Searches of one sampling share a turn, which starts with the model's thought. */
  readonly thinksByHand: boolean
  /** The request of the contract; with `extra`, after further turns that the client does not see. */
  readonly prepare: (extra: readonly Fields[]) => Promise<MessagesRequest>
  readonly search: (input: unknown) => Promise<SearchOutcome>
}

/** The shelf that a request would use, and what brings back its hidden searches. */
export type Liftable = { readonly shelf: ClientShelf; readonly restoring: Restoring }

/** What brings back the searches that the client never saw. */
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

export async function lift(
  request: MessagesRequest,
  { shelf: client, restoring }: Liftable,
  conversations: Conversations,
): Promise<Shelved> {
  const { own, deferred, shelf: tools } = client
  const messages = restore(request.messages, restoring)
  const place = { tools, model: request.model, given: request.messages, messages }
  const prepare = (fork: Shelf, extra: readonly Fields[]) =>
    fork.prepare({ ...request, tools: own, messages: [...messages, ...extra] })
  const fork = conversations.forkFor(place)
  const first = await prepare(fork, [])
  // A fork that had to add notes of its own would add them elsewhere next time: every request must depend on its
  // messages alone.
  if (first.messages.length === messages.length) conversations.keep(fork, place)
  for (const message of first.request.messages) Object.freeze(message)
  const contractOf = (prepared: { readonly request: unknown }) => prepared.request as MessagesRequest
  return {
    loaded: first.loaded,
    deferred,
    thinksByHand: restoring.thinksByHand,
    // The turns of a search are the request's own: the conversation goes on without them.
    prepare: async (extra) =>
      contractOf(extra.length === 0 ? first : await prepare(tools.fork({ subAgent: false }), extra)),
    search: tools.search,
  }
}
