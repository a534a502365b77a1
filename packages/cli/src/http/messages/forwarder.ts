import {
  type Flow,
  newOutcome,
  openRequest,
  type UpstreamCall,
  type UpstreamOrigin,
} from '@toolshelf/messages/internal'
import { flowOf, type RequestBodyLimits, readBody } from './body.ts'
import type { EndpointOptions } from './endpoints.ts'
import type { AuthenticatedClient } from './guard.ts'
import { outcomeHeaders, peekRequest, type RequestContext } from './request-context.ts'
import { sendOn } from './respond.ts'
import { reserveTokens } from './token-count.ts'

type ForwarderOptions = Pick<EndpointOptions, 'gateway' | 'maxBodyBytes' | 'bodyMemory'>

export type Forwarder = ReturnType<typeof createForwarder>

export function createForwarder({ gateway: { upstream }, maxBodyBytes, bodyMemory }: ForwarderOptions) {
  const known = upstream.origin && withLastAddress(upstream.origin)
  return { origin, limitsFor, mistake, unread, through }

  function origin(): UpstreamOrigin {
    if (!known) throw new Error('requests cannot be forwarded to this upstream unchanged')
    return known
  }

  /** Counts the body's bytes as held until the request ends. */
  function limitsFor({ gone }: RequestContext, owner: string): RequestBodyLimits {
    const held = bodyMemory.hold(owner)
    gone.addEventListener('abort', held.release, { once: true })
    return { maxBytes: maxBodyBytes, held }
  }

  /** Forwards a malformed request, so that the upstream refuses it itself. */
  function mistake(context: RequestContext, client: AuthenticatedClient, body: Buffer): Promise<void> {
    return forward(context, origin(), callFor(context, client), body)
  }

  /** Forwards the request without parsing it (mode `pass`). */
  async function unread(context: RequestContext, client: AuthenticatedClient): Promise<void> {
    const flow = flowOf(context.incoming, limitsFor(context, client.owner))
    const outcome = newOutcome({ mode: 'pass', wire: undefined, why: 'asked for' }, {})
    context.outcome = outcome
    const peeked = flow.whole.then((chunks) => {
      const { model, tools } = peekRequest(chunks, context.api.name)
      context.model = model
      outcome.toolsGiven = outcome.toolsVisible = tools
    })
    await Promise.all([peeked, forward(context, origin(), callFor(context, client), flow)])
  }

  /** Forwards a request that the gateway does not handle itself. */
  async function through(
    context: RequestContext,
    client: AuthenticatedClient,
    target: UpstreamOrigin,
  ): Promise<void> {
    const hasBody = context.incoming.method !== 'GET' && context.incoming.method !== 'HEAD'
    const limits = hasBody ? limitsFor(context, client.owner) : undefined
    const body = limits && (await readBody(context.incoming, limits))
    if (body)
      context.tokens = await reserveTokens(client.work, { bytes: body.length, fields: {}, isSampling: false })
    return forward(context, target, callFor(context, client), body)
  }
}

/** Remembers the last address: most requests have the path of the one before. */
function withLastAddress(origin: UpstreamOrigin): UpstreamOrigin {
  let last: { readonly path: string; readonly address: URL } | undefined
  return {
    ...origin,
    address(path) {
      if (last?.path !== path) last = { path, address: origin.address(path) }
      return last.address
    },
  }
}

/** Sends the request to the upstream, and its response to the client. */
export async function forward(
  context: RequestContext,
  { address: addressFor, credentials, secrets = [] }: UpstreamOrigin,
  call: UpstreamCall,
  body: Buffer | Flow | undefined,
): Promise<void> {
  const { incoming, outgoing, address, path, outcome, tokens } = context
  const isRead = secrets.length > 0 || tokens !== undefined
  const answer = await openRequest(addressFor(path + (address?.search ?? '')), {
    method: incoming.method ?? 'GET',
    headers: {
      ...credentials(call.headers),
      ...(isRead ? { 'accept-encoding': 'identity' } : {}),
    },
    ...(body === undefined ? {} : { body }),
    signal: call.signal,
  })
  // No retry follows a response, so the buffered body can go.
  if (body && 'drop' in body) void body.whole.then(body.drop, () => {})
  if (tokens) answer.on('data', tokens.feed)
  await sendOn(outgoing, answer, outcome ? outcomeHeaders(outcome) : {}, secrets)
}

/** Returns what the upstream gets of a request besides its body. */
export function callFor({ gone }: RequestContext, { headers }: AuthenticatedClient): UpstreamCall {
  return { headers, signal: gone }
}
