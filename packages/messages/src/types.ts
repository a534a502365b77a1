// Types of the Messages gateway. Inside it every model speaks the Messages API: requests and stream events have
// Anthropic's shapes. Only the fields that the gateway reads are declared; all others pass through.
import type { Fields, StreamEvent } from '@toolshelf/core/internal'

export type { Fields, StreamEvent }

/** A Messages API request. */
export type MessagesRequest = {
  /** The id of the model. */
  readonly model: string
  /** The conversation. */
  readonly messages: readonly Fields[]
  /** The definitions of tools. */
  readonly tools?: readonly Fields[]
  /** Whether the client wants events instead of one document. */
  readonly stream?: boolean
  readonly [field: string]: unknown
}

/** The APIs that the gateway speaks, to clients and to upstreams. */
export type ApiName = 'messages' | 'chat' | 'responses'

/** What a client said in its own API beyond the Messages shape; for upstreams that speak the same API. */
export type ClientTerms = {
  readonly api: ApiName
  /** Top-level fields such as `seed`, which replace the converted ones. */
  readonly settings: Fields
  /** Tool definitions by their name inside the gateway: freeform tools, hosted tools and the like. */
  readonly tools: ReadonlyMap<string, Fields>
  /** Names of tools that `allowed_tools` leaves out: they stay in the list, but may not be called now. */
  readonly barred?: ReadonlySet<string> | undefined
}

/** Headers, abort signal and terms of a request to an upstream. */
export type UpstreamCall = {
  /** The client's headers that concern the upstream; names in lower case. */
  readonly headers: Headers
  /** Aborts when the client disconnects or the gateway closes. */
  readonly signal: AbortSignal
  /** What the client said in its own API; undefined for the Messages API. */
  readonly terms?: ClientTerms | undefined
}

/** HTTP headers by lower-case name. */
export type Headers = { readonly [name: string]: string }

/** A complete HTTP response: an upstream's error or a JSON document. */
export type HttpAnswer = { readonly status: number; readonly headers: Headers; readonly body: string }

/** The result of a sampling: the events of one reply, or the upstream's error response. */
export type SamplingOutcome =
  | { readonly events: AsyncIterable<StreamEvent>; readonly headers: Headers }
  | { readonly refused: HttpAnswer }

/** All of `UpstreamWire`. */
export const wires = ['native', 'append', 'bridge'] as const
/** How found tools reach the model: by reference, appended to `tools`, or as text and called through CallTool. */
export type UpstreamWire = (typeof wires)[number]

/** The wire for a model, and why. */
export type ChosenWire = {
  readonly wire: UpstreamWire
  readonly why: string
  /** The upstream's limit on tools per request; unlimited if omitted. */
  readonly maxTools?: number
  /** The upstream itself searches tools that the client defers. */
  readonly searchesTools?: boolean
}

/** A model API behind the gateway. */
export type Upstream = {
  /** Shown in logs and headers; contains no secret. */
  readonly name: string
  /** The API that it speaks. */
  readonly api: ApiName
  /** Chooses the wire for a model. */
  wireFor(model: string): ChosenWire
  /**
   * Requests one reply. The request contains only what the wire allows: with `native` deferred tools and references,
   * else plain tools and messages. Unless the upstream runs hosted searches itself, their calls come as `tool_use`.
   */
  sample(request: MessagesRequest, call: UpstreamCall): Promise<SamplingOutcome>
  /** The upstream's token count; undefined if it has no counting endpoint. */
  countTokens(request: MessagesRequest, call: UpstreamCall): Promise<HttpAnswer | undefined>
  /** The response to `GET /v1/models`. */
  models(call: UpstreamCall): Promise<HttpAnswer>
  /** Where requests of its API can be forwarded unchanged; undefined if it runs in this process. */
  readonly origin?: UpstreamOrigin
}

/** A server to which requests can be forwarded. */
export type UpstreamOrigin = {
  /** The URL for a path of the gateway, such as `/v1/models?limit=5`. */
  readonly address: (path: string) => URL
  /** Adds this upstream's credentials to the client's headers. */
  readonly credentials: (headers: Headers) => Headers
  /** The operator's keys, which are masked in responses. */
  readonly secrets?: readonly string[]
}

/** The beta with which a request can have thinking of another conversation dropped instead of refused. */
export const THINKING_BINDING = 'thinking-binding-controls-2026-08-01'
