// The contract between the gateway and the APIs that clients speak. Inside, every request and reply has the Messages
// shape; an inbound API converts a client's request to it and the reply back.
import type { StoredItems } from '../reply-memory.ts'
import type { ApiName, ClientTerms, Fields, HttpAnswer, MessagesRequest, StreamEvent } from '../types.ts'

/** An API that clients speak to the gateway. */
export type InboundApi = {
  readonly name: ApiName
  readonly path: string
  /**
   * Converts a request; throws a `RefusedRequest` if it is malformed or asks for something that cannot be done. `stored` has the
   * items that the client may refer to.
   */
  readonly read: (body: Fields, stored?: StoredItems) => InboundRequest
  /** Converts an error response from the Messages envelope. */
  readonly error: (answer: HttpAnswer) => HttpAnswer
}

/** A client's request in the Messages shape. */
export type InboundRequest = {
  readonly request: MessagesRequest
  /** What only an upstream with the same API understands; undefined for the Messages API itself. */
  readonly terms?: ClientTerms | undefined
  /** What the reply cannot express, for example `logprobs`: such a request can only be forwarded unchanged. */
  readonly unconvertible?: string | undefined
  /** What only an upstream that speaks the client's API can do, for example tools that the provider runs. */
  readonly needsOwnApi?: string | undefined
  /** Tools that another upstream's model does without, for example `web_search`. */
  readonly optional?: string | undefined
  /** What to send instead of it; "Leave it out" if omitted. */
  readonly remedy?: string | undefined
  /** The upstream cannot take the client's own request, which for example refers to items that only this gateway knows. */
  readonly cannotPass?: boolean | undefined
  /** The client defers tools and expects the gateway to search them, but its API cannot express searches. */
  readonly hidesSearches?: boolean | undefined
  readonly reply: () => ReplyWriter
}

/** Writes one reply in the client's API. Every event of the reply is added, streamed or not. */
export type ReplyWriter = {
  /** Returns the server-sent events for a Messages event; empty if there are none or the reply is not streamed. */
  readonly add: (event: StreamEvent) => string
  /** Keeps a silent stream alive. */
  readonly ping: string
  /** Returns the last events of a stream that fails after it began, for an error in the Messages envelope. */
  readonly failure: (answer: HttpAnswer) => string
  /** Returns the complete reply as JSON, if it is not streamed. */
  readonly document: () => string
}
