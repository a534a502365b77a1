// The contract between the gateway and the APIs that clients speak. Inside, every request and reply has the Messages
// shape; an inbound API converts a client's request to it and the reply back.
import type { ApiName, ClientTerms, Fields, HttpAnswer, MessagesRequest, StreamEvent } from '../types.ts'

/** An API that clients speak to the gateway. */
export type InboundApi = {
  readonly name: ApiName
  /** The path of its endpoint. */
  readonly path: string
  /** The field that holds the conversation. */
  readonly history: 'messages' | 'input'
  /** Converts a request; throws a `RefusedRequest` if it is malformed or asks for something that cannot be done. */
  readonly read: (body: Fields) => InboundRequest
  /** Converts an error response from the Messages envelope. */
  readonly error: (answer: HttpAnswer) => HttpAnswer
  /** Writes the last event of a stream that fails after it began. */
  readonly failure: (answer: HttpAnswer) => string
}

/** A client's request in the Messages shape. */
export type InboundRequest = {
  readonly request: MessagesRequest
  /** What only an upstream with the same API understands. */
  readonly terms?: ClientTerms | undefined
  /** Why the reply cannot be converted, for example `logprobs`: the request can only be forwarded unchanged. */
  readonly unshelvable?: string | undefined
  /** Creates the writer for the reply. */
  readonly reply: () => ReplyWriter
}

/** Writes one reply in the client's API. Every event is added, streamed or not. */
export type ReplyWriter = {
  /** Returns the server-sent events for a Messages event, as text; empty if there are none. */
  readonly add: (event: StreamEvent) => string
  /** Keeps a silent stream alive. */
  readonly ping: string
  /** Returns the complete reply once all events were added. */
  readonly document: () => string
}
