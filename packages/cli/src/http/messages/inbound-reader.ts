// Reads a client's request: its body under the limits, its fields with what is known from before, its setting, and its
// conversion from the API that the client speaks.
import { hasCode } from '@toolshelf/core/internal'
import { createBufferPool, yieldIfOver } from '@toolshelf/core/internal/node'
import { type MessagesGateway, type ModeSetting, parseModeSetting, type Upstream } from '@toolshelf/messages'
import {
  createItemMemory,
  type Fields,
  type InboundRequest,
  type ReplyOptions,
  refuseRequest,
} from '@toolshelf/messages/internal'
import { readBody } from './body.ts'
import { callFor, type Forwarder } from './forwarder.ts'
import type { AuthenticatedClient } from './guard.ts'
import { createRequestReader, refuseLongList } from './read-request.ts'
import type { RequestContext } from './request-context.ts'

type InboundReaderOptions = { readonly gateway: MessagesGateway; readonly setting: ModeSetting }

/** A request after reading and conversion. */
type ReadRequest = {
  readonly body: Buffer
  /** Lets another request use the body's buffer. */
  readonly reuseBody: () => void
  /** The body as the client's API writes it. */
  readonly fields: Fields
  /** Undefined if the upstream shall refuse the request itself. */
  readonly inbound: InboundRequest | undefined
  readonly replyOptions: ReplyOptions
}

/** Returns a function that reads a request. `reuseBody` of its result is for callers that do not forward the body. */
export function createInboundReader(options: InboundReaderOptions, forwarder: Forwarder) {
  const { upstream } = options.gateway
  const reader = createRequestReader()
  const bodies = createBufferPool()
  const storedItemsOf = createItemMemory()

  return read

  async function read(context: RequestContext, client: AuthenticatedClient): Promise<ReadRequest> {
    const { owner, work } = client
    const body = await readBody(context.incoming, forwarder.limitsFor(context, owner), bodies)
    const slice = await work.turn()
    let isReferred = false
    const fields = await reader.read(body, owner, slice, () => {
      isReferred = true
    })
    for (const name of ['messages', 'input'] as const) {
      const list = fields[name]
      if (Array.isArray(list)) refuseLongList(name, list.length)
    }
    const reuseBody = () => {
      if (!isReferred) bodies.giveBack(body)
    }
    const inbound = convert(fields, context, owner)
    await yieldIfOver(slice)
    const call = { ...callFor(context, client), ...(inbound?.terms ? { terms: inbound.terms } : {}) }
    const facts = { ...inbound, api: context.api.name }
    const setting = settingFor(context, client, options)
    const user = client.user?.id
    const replyOptions = { setting, call, owner, user, work, slice, inbound: facts }
    return { body, reuseBody, fields, inbound, replyOptions }
  }

  /** Converts a request; undefined if it is malformed and the upstream, which speaks the same API, shall refuse it. */
  function convert(fields: Fields, context: RequestContext, owner: string): InboundRequest | undefined {
    try {
      return context.api.read(fields, storedItemsOf(owner))
    } catch (error) {
      if (hasCode(error, 'REFUSED') && upstream.origin && speaksTo(upstream, context)) return undefined
      throw error
    }
  }
}

export function speaksTo({ api: own }: Upstream, { api }: RequestContext): boolean {
  return api.name === own
}

/** Returns the setting from the request's header if its key allows that, else the key's, else the server's default. */
export function settingFor(
  context: RequestContext,
  { key }: AuthenticatedClient,
  { setting, gateway: { upstream } }: InboundReaderOptions,
): ModeSetting {
  const given = context.incoming.headers['x-toolshelf-mode']
  const isPassable = upstream.origin !== undefined && speaksTo(upstream, context)
  if (given === undefined) {
    const chosen = key?.setting ?? setting
    if (chosen.mode === 'pass' && !isPassable)
      throw refuseRequest(
        400,
        'invalid_request_error',
        `this gateway forwards requests unchanged (mode pass), and its upstream does not serve ${context.path}`,
      )
    return chosen
  }
  const requested = parseModeSetting(String(given))
  if (key?.setting && !key.mayChoose && !isSame(requested, key.setting))
    throw refuseRequest(
      403,
      'permission_error',
      `this key is fixed to the mode "${key.setting.mode}"; leave out the header x-toolshelf-mode`,
    )
  if (!requested || (requested.mode === 'pass' && !isPassable))
    throw refuseRequest(
      400,
      'invalid_request_error',
      `x-toolshelf-mode is "${String(given).slice(0, 40)}"; use auto, auto:N, emulate, shelve, off${isPassable ? ' or pass' : ''}`,
    )
  return requested
}

function isSame(one: ModeSetting | undefined, other: ModeSetting): boolean {
  return one?.mode === other.mode && one.share === other.share
}
