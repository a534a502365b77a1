// Reads a client's request: its body under the limits, its fields with what is known from before, its setting, and its
// conversion from the API that the client speaks.
import { isUtf8 } from 'node:buffer'
import { hasCode, isFields } from '@toolshelf/core/internal'
import { createBufferPool, type Slice, whyTooComplex, yieldIfOver } from '@toolshelf/core/internal/node'
import { type MessagesGateway, type ModeSetting, parseModeSetting, type Upstream } from '@toolshelf/messages'
import {
  createItemMemory,
  createListCache,
  endOfValue,
  type Fields,
  type InboundRequest,
  isListAt,
  isObjectAt,
  type ListCache,
  type ListItem,
  memberAt,
  nextItem,
  type ReplyOptions,
  readValue,
  refuseRequest,
  ScanError,
  skipSpace,
} from '@toolshelf/messages/internal'
import { readBody } from './body.ts'
import { callFor, type Forwarder } from './forwarder.ts'
import type { AuthenticatedClient } from './guard.ts'
import type { RequestContext } from './request-context.ts'

type InboundReaderOptions = { readonly gateway: MessagesGateway; readonly setting: ModeSetting }

/**
 * Returns a function that reads a request. Of its result, `reuseBody` lets another request use the body's buffer, for callers
 * that do not forward it; `inbound` is undefined if the upstream shall refuse the request itself.
 */
export function createInboundReader(options: InboundReaderOptions, forwarder: Forwarder) {
  const { upstream } = options.gateway
  const reader = createRequestReader()
  const bodies = createBufferPool()
  const storedItemsOf = createItemMemory()

  return read

  async function read(context: RequestContext, client: AuthenticatedClient) {
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
    const replyOptions: ReplyOptions = { setting, call, owner, user, work, slice, inbound: facts }
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

type ReaderOptions = {
  /** Cache size in bytes for tools, and the same again for messages and for the items of Responses. */
  readonly maxCacheBytes?: number
}

const MAX_CACHE_BYTES = 64_000_000

const MAX_TOOL_BYTES = 4_000_000
const MAX_MESSAGE_BYTES = 262_144

/** Clients move cache breakpoints along the last messages, so successive lists differ only there. */
const MOVED_MARKS = 4

/**
 * Creates a reader with empty caches. Recognises tools and messages that the same client has sent before by their bytes and
 * does not parse them again; unchanged parts are later written to the upstream as the same bytes.
 */
function createRequestReader({ maxCacheBytes = MAX_CACHE_BYTES }: ReaderOptions = {}) {
  const maxBytes = maxCacheBytes
  const lists = {
    tools: createListCache({ maxBytes, maxItemBytes: MAX_TOOL_BYTES, replaced: 0 }),
    messages: createListCache({ maxBytes, maxItemBytes: MAX_MESSAGE_BYTES, replaced: MOVED_MARKS }),
    input: createListCache({ maxBytes, maxItemBytes: MAX_MESSAGE_BYTES, replaced: 0 }),
  }

  async function scanned(body: Buffer, reading: Reading): Promise<Fields> {
    const fields: Record<string, unknown> = {}
    const start = skipSpace(body, 0)
    if (!isObjectAt(body, start)) throw new ScanError('no object')
    let end = start + 1
    for (let at = nextItem(body, end, true, '}'); at !== undefined; at = nextItem(body, end, false, '}')) {
      const { key, value } = memberAt(body, at)
      if (key === '__proto__') throw new ScanError('a key that needs JSON.parse')
      if ((key === 'tools' || key === 'messages' || key === 'input') && isListAt(body, value)) {
        const list = await readList(body, value, lists[key], { ...reading, name: key })
        fields[key] = list.values
        end = list.end
      } else {
        end = endOfValue(body, value)
        fields[key] = readApart(body, value, end, reading)
      }
    }
    if (skipSpace(body, skipSpace(body, end) + 1) !== body.length) throw new ScanError('more than one value')
    return fields
  }

  return {
    /**
     * Throws a refusal if the body is not a JSON object. `owner` keeps the caches of different clients apart. Calls
     * `onReferred` if a large value of the result refers to the body, whose buffer must not be reused then.
     */
    async read(body: Buffer, owner: string, slice: Slice, onReferred: () => void = () => {}) {
      if (!isUtf8(body)) throw refuseRequest(400, 'invalid_request_error', 'the body is not valid UTF-8')
      const json = BYTE_ORDER_MARK.equals(body.subarray(0, 3)) ? body.subarray(3) : body
      const why = whyTooComplex(json)
      if (why !== undefined) throw refuseRequest(400, 'invalid_request_error', `the body ${why}`)
      try {
        return await scanned(json, { owner, slice, onReferred })
      } catch (error) {
        if (error instanceof SyntaxError) return parseWhole(json)
        throw error
      }
    },
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

type Reading = { readonly owner: string; readonly slice: Slice; readonly onReferred: () => void }

type Span = { readonly start: number; readonly end: number }

async function readList(
  body: Buffer,
  start: number,
  cache: ListCache,
  reading: Reading & { readonly name: 'tools' | 'messages' | 'input' },
): Promise<{ values: readonly unknown[]; end: number }> {
  const { owner, slice, name } = reading
  const first = nextItem(body, start + 1, true, ']')
  if (first === undefined) return { values: [], end: skipSpace(body, start + 1) + 1 }
  const known = cache.find(owner, body, first)
  if (known?.whole) return { values: known.whole, end: skipSpace(body, known.end) + 1 }
  const spans: Span[] = []
  let end = known?.end ?? start + 1
  for (let at = nextItem(body, end, !known, ']'); at !== undefined; at = nextItem(body, end, false, ']')) {
    end = endOfValue(body, at)
    spans.push({ start: at, end })
    if (slice.isOver()) await slice.next()
  }
  // Checked before parsing, which takes most of the time.
  refuseLongList(name, (known?.items.length ?? 0) + spans.length)
  const tooLarge = spans.findIndex(
    (span) => span.end - span.start > cache.maxItemBytes || !isObjectAt(body, span.start),
  )
  const kept = spans.slice(0, tooLarge < 0 ? spans.length : tooLarge)
  const items = [...(known?.items ?? []), ...(await readItems(body, kept, slice))]
  const values = cache.add(owner, items)
  const rest: unknown[] = []
  for (const span of spans.slice(kept.length)) {
    rest.push(readApart(body, span.start, span.end, reading))
    if (slice.isOver()) await slice.next()
  }
  return { values: rest.length > 0 ? [...values, ...rest] : values, end: skipSpace(body, end) + 1 }
}

/** The API's own limit for messages, and ours for tools. */
const MAX_ITEMS = 100_000

/** Throws a refusal if a list is too long. */
function refuseLongList(name: 'tools' | 'messages' | 'input', count: number): void {
  if (count <= MAX_ITEMS) return
  const message = `${name}: at most ${MAX_ITEMS} are allowed, but there are ${count}`
  throw refuseRequest(400, 'invalid_request_error', message)
}

/** Copies the bytes of a value that refers to them, unless they are many. */
function readApart(body: Buffer, start: number, end: number, { onReferred }: Reading): unknown {
  const isReferring = isObjectAt(body, start) || isListAt(body, start)
  if (!isReferring) return readValue(body, start, end)
  if (end - start <= MAX_MESSAGE_BYTES)
    return readValue(Buffer.from(body.subarray(start, end)), 0, end - start)
  onReferred()
  return readValue(body, start, end)
}

/** Copies the bytes of cached items, so that they do not keep the whole body in memory. */
async function readItems(body: Buffer, spans: readonly Span[], slice: Slice): Promise<ListItem[]> {
  const [first, last] = [spans[0], spans.at(-1)]
  if (!first || !last) return []
  const copy = Buffer.from(body.subarray(first.start, last.end))
  const items: ListItem[] = []
  for (const { start, end } of spans) {
    const bytes = copy.subarray(start - first.start, end - first.start)
    items.push({ bytes, value: Object.freeze(readValue(bytes, 0, bytes.length) as object) })
    if (slice.isOver()) await slice.next()
  }
  return items
}

/** Parses bodies that the scanner cannot handle; throws an error that says where the JSON is invalid. */
function parseWhole(body: Buffer): Fields {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (isFields(value)) return value
  } catch (error) {
    throw refuseRequest(
      400,
      'invalid_request_error',
      `the body is not valid JSON: ${(error as Error).message}`,
    )
  }
  throw refuseRequest(400, 'invalid_request_error', 'the body is not a JSON object')
}
