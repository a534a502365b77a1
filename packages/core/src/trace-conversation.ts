// Defines how a conversation of events begins, and who receives it.
import type { ClientIdentity, TraceListener } from './events.ts'

/** What is known of a conversation when it begins. */
export type ConversationStart = {
  /** The client program. */
  readonly client?: ClientIdentity | undefined
  /** The id of the user that it acts for. */
  readonly user?: string | undefined
  /** The valid W3C `traceparent` of its first request, whose trace id the conversation adopts. */
  readonly traceparent?: string | undefined
}

/** Starts a conversation and returns the listener for its events. */
export type OpenTrace = (start: ConversationStart) => ConversationListener

/** Receives the events of a conversation. */
export type ConversationListener = TraceListener & {
  /** The conversation's trace id, if its calls become spans: servers get the call's span as their parent. */
  readonly traceId?: string | undefined
}
