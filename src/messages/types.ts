// The vocabulary of the Messages gateway. Inside it, every model speaks the Messages API: requests and stream events
// have Anthropic's shapes, of which only what we read is named here; whatever else they hold passes through.

import type { StreamEvent } from '../core/index.ts'
import type { Fields } from '../lib/index.ts'

export type { Fields, StreamEvent }

/** A request of the Messages API. */
export type MessagesRequest = {
  readonly model: string
  readonly messages: readonly Fields[]
  readonly tools?: readonly Fields[]
  readonly stream?: boolean
  readonly [field: string]: unknown
}

/** What comes with a request to an upstream. */
export type UpstreamCall = {
  /** The client's headers, as far as they are the upstream's business; names in lower case. */
  readonly headers: Headers
  /** The client went away, or the gateway ends. */
  readonly signal: AbortSignal
}

export type Headers = { readonly [name: string]: string }

/** A whole answer: an upstream's error, relayed as it is, or a document. */
export type HttpAnswer = { readonly status: number; readonly headers: Headers; readonly body: string }

/** What a sampling gives: the events of one reply, or the upstream's refusal. */
export type Sampled =
  | { readonly events: AsyncIterable<StreamEvent>; readonly headers: Headers }
  | { readonly refused: HttpAnswer }

/** How an upstream is told of tools that join: by reference, at the end of the tools, or as text behind one call. */
export const wires = ['native', 'append', 'bridge'] as const
export type UpstreamWire = (typeof wires)[number]

export type ChosenWire = {
  readonly wire: UpstreamWire
  readonly why: string
  /** How many tools the upstream takes in one request; no limit if left out. */
  readonly mostTools?: number
}

/** A model behind the gateway. */
export type Upstream = {
  /** For logs and headers; holds no secret. */
  readonly name: string
  /** How this model is told of tools. */
  wireFor(model: string): ChosenWire
  /**
   * One reply to one request, which holds only what the wire allows: on `native` the whole contract of deferral, else
   * plain tools and messages. Where the upstream does not run hosted searches itself, a call of one is a `tool_use`.
   */
  sample(request: MessagesRequest, call: UpstreamCall): Promise<Sampled>
  /** The upstream's own count; undefined where it has none. */
  countTokens(request: MessagesRequest, call: UpstreamCall): Promise<HttpAnswer | undefined>
  /** As `GET /v1/models` answers. */
  models(call: UpstreamCall): Promise<HttpAnswer>
  /** Where requests can be forwarded byte for byte; missing where the upstream speaks another language. */
  readonly origin?: UpstreamOrigin
}

/** An address that speaks the Messages API. */
export type UpstreamOrigin = {
  readonly url: URL
  /** The client's headers with the credentials for this upstream. */
  readonly credentials: (headers: Headers) => Headers
  /** Keys of the operator, which are masked in what comes back. */
  readonly secrets?: readonly string[]
}
