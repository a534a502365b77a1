// What the gateway did with a request, for the log, the metrics and the events.
import type { ConversationListener, Figures } from '@toolshelf/core/internal'
import type { GatewayMode, RequestPlan } from './plan.ts'
import type { MessagesRequest, UpstreamWire } from './types.ts'

/** What the gateway did with a request, for the log and the metrics. */
export type RequestOutcome = {
  /** What was done with the request. */
  mode: GatewayMode
  /** How found tools reach the model. */
  wire: UpstreamWire | undefined
  /** Why this mode and this wire. */
  why: string
  /** How many tools the client sent. */
  toolsGiven: number
  /** How many of them the model saw. */
  toolsVisible: number
  /** Names of the tools that searches loaded. */
  loaded: string[]
  /** How many searches ran. */
  searches: number
  /** Samplings that the upstream accepted. */
  rounds: number
  /** Receives the events of the request's conversation; undefined if nobody listens. */
  trace?: ConversationListener | undefined
  /** The id of the pool of tools that the events describe. */
  pool?: string | undefined
  /** Savings so far; undefined if nothing is deferred or the upstream has not accepted a sampling yet. */
  figures: () => Figures | undefined
}

/** Returns the outcome of a planned request before anything was sent. */
export function newOutcome(
  { mode, wire, why }: RequestPlan,
  { tools = [] }: Pick<MessagesRequest, 'tools'>,
): RequestOutcome {
  const nothing = { searches: 0, rounds: 0, figures: () => undefined }
  const toolsVisible = tools.length
  return { mode, wire, why, toolsGiven: tools.length, toolsVisible, ...nothing, loaded: [] }
}
