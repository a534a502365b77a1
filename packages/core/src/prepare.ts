// THE MAIN PATH: turns a host's request into the request to send. One step per line, each in its own file.
// Implements T6, G7.

import { announce, showAgain } from './announce.ts'
import { capabilityOf } from './capabilities.ts'
import { reportRequest, type TraceListener } from './events.ts'
import { decide, readMode } from './gate.ts'
import { type Facts, follow } from './history.ts'
import { oncePer } from './lib/objects.ts'
import { normalize, viewFor, withValidThinking } from './normalize.ts'
import type { Settings } from './options.ts'
import { partitionOf, undefer } from './policy.ts'
import { assemble, betasFor, type MessagesOf, type RequestToSend, withHostTools } from './request.ts'
import type { Context, Conversation, Decision, History, Host, RequestLike, State } from './types.ts'
import { makeWire } from './wires.ts'
import { openNames, readOwn, shownBy, toolsFor } from './working.ts'

/** What `prepare` returns: the request to send, and the history to continue from. */
export type Prepared<Request extends RequestLike = RequestLike> = {
  /** The request to send: yours, with the tools that the model needs now and messages that the API accepts. */
  readonly request: RequestToSend<Request>
  /** HTTP headers to send with the request; empty when none are needed. */
  readonly headers: Record<string, string>
  /**
   * The conversation with the shelf's notes in it. Append the reply to it and prepare the next request from that, or
   * keep an array of your own with the same message objects. It is not for sending: send `request`.
   */
  readonly history: History<MessagesOf<Request>[number]>
  /** Whether tool search is on for this request, and why. */
  readonly decision: Decision
  /** Names loaded so far, in the order of loading. */
  readonly loaded: readonly string[]
  /** The conversation's state after this request. */
  readonly state: State
}

/** Returns the request to send, and stores the new state in `conversation`. */
export async function prepareRequest<Request extends RequestLike>(
  host: Host,
  conversation: Conversation,
  request: Request,
): Promise<Prepared<Request>> {
  // 1. What the model can do, what the user asked for, which tools may be deferred
  const context = contextFor(host, conversation, request)
  const { settings, memory } = context
  // 2. What the conversation says: loaded, announced
  const read = () => follow(memory, request.messages, settings.searchTool)
  const opened = context.state.hasOpened || wasOpen(read().facts)
  // 3. Is tool search on, and why
  const decision = await decide(context, opened)
  const wire = decision.open && decision.wire ? makeWire(decision.wire, context) : undefined
  // 4. What is appended to the history (read again: another call may have extended it during `decide`)
  const history = read()
  const announced = wire && announce(context, wire, history)
  if (wire) showAgain(context, wire, history)
  // 5. The tools, in the wire's format
  const { tools, kept } = toolsFor(context, wire, history.facts)
  const sent = withHostTools(context, wire, tools)
  // 6. The history, valid for these tools
  const view = viewFor(context, wire, sent, history.facts)
  const normal = normalize(history.entries, view, memory)
  const { grounds, ...valid } = withValidThinking(context, sent, normal)
  // 7. All of it
  const betas = betasFor(context, wire)
  const parts = { tools: sent, ...valid, betas, prepended: announced?.prepended, wire, decision }
  const assembled = assemble(request, context, parts)
  const shown = wire && shownBy(wire, sent, history.facts)

  memory.requests++
  if (settings.trace)
    reportRequest(context, settings.trace, { decision, facts: history.facts, shown }, assembled)
  const { results } = conversation.state
  conversation.state = {
    ...(results ? { results } : {}),
    hasOpened: context.state.hasOpened || opened || (decision.open && decision.mode === 'tst-auto'),
    betas,
    hasAnnounced: context.state.hasAnnounced || history.facts.deltas > 0,
    search: wire?.name ?? 'off',
    shown,
    grounds,
    step: announced?.step ?? context.state.step,
    kept,
  }
  return {
    ...assembled,
    history: [...history.entries] as unknown as Prepared<Request>['history'],
    decision,
    loaded: [...history.facts.loaded],
    state: conversation.state,
  }
}

/** Settings of a request, the same object for the next one: wires are kept by it. */
const tracedTo = oncePer((settings: Settings) => oncePer((trace: TraceListener) => ({ ...settings, trace })))
const withDeltas = oncePer((settings: Settings): Settings => ({ ...settings, announce: 'delta' }))

function contextFor(host: Host, conversation: Conversation, request: RequestLike): Context {
  const { model } = request
  const settings = conversation.trace ? tracedTo(host.settings)(conversation.trace) : host.settings
  const capability = capabilityOf(model, settings.provider, settings.capabilities)
  const mode = readMode(settings.toolSearch, settings.environment)
  if (mode.warning) settings.notify(mode.warning)
  const keepsSent = settings.tombstones || capability.boundThinking
  const partition = partitionOf(host)
  return {
    ...host,
    // If nothing sent may change, a list in front of all messages must not grow (N5).
    settings: capability.boundThinking ? withDeltas(settings) : settings,
    get state() {
      return conversation.state
    },
    memory: conversation.memory,
    isSubAgent: conversation.isSubAgent,
    model,
    capability,
    contextWindow: settings.contextWindow ?? capability.contextWindow,
    mode,
    own: readOwn(request),
    keepsSent,
    partition: keepsSent ? undefer(partition, openNames(conversation.state)) : partition,
  }
}

/** Only an open gate writes deltas and loads tools, so a history that has them proves that it was open (T6). */
function wasOpen({ deltas, loaded }: Facts): boolean {
  return deltas > 0 || loaded.size > 0
}
