// THE MAIN PATH. A host's request in, the request to send out; one step a line, each in its own file.
import { announce, reload } from './append-notes.ts'
import { capabilityOf } from './capabilities.ts'
import { type Decision, decide } from './gate.ts'
import { type Facts, follow, type History } from './history.ts'
import { readMode } from './mode.ts'
import { normalize } from './normalize.ts'
import type { Settings } from './options.ts'
import { shelve } from './policy.ts'
import { assemble, betasFor } from './request.ts'
import type { Memory, State } from './state.ts'
import type { Counts } from './threshold.ts'
import type { Message, MessageLike, Pool, RequestLike, RequestTool, Servers } from './types.ts'
import { viewFor } from './view.ts'
import { makeWire } from './wire/index.ts'
import { keepsLoaded, toolsFor } from './working.ts'

/** What holds for every conversation of a host. */
export type Host = {
  readonly settings: Settings
  readonly pool: Pool
  readonly servers: Servers
  /** Back-ends that refused references at run time, by `backEndKey` (G6). */
  readonly rejected: ReadonlySet<string>
  readonly counts: Counts
}

/** One conversation: the main thread or a sub-agent. */
export type Conversation = { readonly state: State; readonly memory: Memory; readonly isSubAgent: boolean }

export type Prepared<Request extends RequestLike = RequestLike> = {
  /** Send this. */
  readonly request: Omit<Request, 'messages' | 'tools'> & {
    messages: MessagesOf<Request>
    tools: RequestTool[]
  }
  /** With these headers. */
  readonly headers: Record<string, string>
  /** The history with our notes in it: continue from this one, or at least with the same message objects. */
  readonly messages: MessagesOf<Request>
  readonly decision: Decision
  /** Names loaded so far, in the order of loading. */
  readonly loaded: readonly string[]
  /** For the next request of this conversation; saved with the messages it survives a restart. */
  readonly state: State
}

export type MessagesOf<Request extends RequestLike> = Request['messages'] extends readonly (infer Item)[]
  ? Item[]
  : MessageLike[]

export async function prepare<Request extends RequestLike>(
  host: Host,
  conversation: Conversation,
  request: Request,
): Promise<Prepared<Request>> {
  const { settings, pool, servers } = host
  const { state, memory } = conversation
  const { model } = request

  const capability = capabilityOf(model, settings.provider, settings.capabilities)
  const mode = readMode(settings.toolSearch, settings.environment)
  const shelving = shelve(pool, servers, settings.hidden)
  const opened = state.opened || wasOpen(read(host, memory, request).facts)
  const keeps = keepsLoaded(state, capability, settings)
  const decision = await decide({ ...host, model, mode, capability, shelving, opened, keeps })
  const wire = decision.open && decision.wire ? makeWire(decision.wire, settings, capability) : undefined

  const history = read(host, memory, request)
  const announced = wire && announce(host, conversation, history, shelving, wire, capability)
  if (wire) reload(history, memory, shelving, wire, settings)

  const { tools, kept } = toolsFor(wire, shelving, history.facts, state, capability, settings)
  const view = viewFor(wire, tools, history.facts, capability)
  const messages = normalize(history.entries, view, memory)
  const betas = betasFor(state, mode, settings, capability, wire)
  const prepended = announced?.prepended
  const parts = { tools, messages, betas, prepended, pool, wire, mode, decision, settings }

  memory.requests++
  settings.trace({ type: 'decision', model, decision })
  if (mode.warning) settings.notify(mode.warning)
  return {
    ...assemble(request, parts),
    messages: [...history.entries] as MessagesOf<Request>,
    decision,
    loaded: [...history.facts.loaded],
    state: {
      opened: opened || (decision.open && decision.mode === 'tst-auto'),
      betas,
      announced: state.announced || history.facts.deltas > 0,
      search: wire?.name ?? 'off',
      step: announced?.step ?? state.step,
      kept,
    },
  }
}

function read({ settings }: Host, memory: Memory, { messages }: RequestLike): History {
  memory.history = follow(memory.history, messages as readonly Message[], memory.anchors, settings.searchTool)
  return memory.history
}

/** Only an open gate writes deltas and loads tools, so a history that has them tells that it was open (T6). */
function wasOpen({ deltas, loaded }: Facts): boolean {
  return deltas > 0 || loaded.size > 0
}
