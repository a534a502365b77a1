// Runs one sampling: translates the contract request for the upstream, sends it, and retries when the response allows.
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldsOf, listOf } from '@toolshelf/core/internal'
import { type Slice, yieldIfOver } from '@toolshelf/core/internal/node'
import { createRecent } from './recent.ts'
import type { HttpAnswer, MessagesRequest, Upstream, UpstreamCall, UpstreamWire } from './types.ts'
import { callToolDefinition, lower, newerFields } from './wire/lower.ts'

/** Where and how a request is sampled. */
export type Target = {
  readonly upstream: Upstream
  readonly wire: UpstreamWire
  readonly call: UpstreamCall
  /** Identifies the client. */
  readonly owner: string
  /** The upstream's limit on tools per request. */
  readonly maxTools?: number | undefined
  /** Waits before a retry; defaults to a real timer. */
  readonly wait?: Wait | undefined
  /** Yields to other requests between steps that are slow for very long conversations. */
  readonly slice?: Slice | undefined
}

/** Waits before a retry. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>

/** The upstream's reply, the request as sent, and whether the gateway added CallTool to it. */
type SamplingResult = Awaited<ReturnType<typeof sample>>

/** Sends a contract request once. */
export async function sample(contract: MessagesRequest, target: Target) {
  const { upstream, call } = target
  const send = (request: MessagesRequest) => upstream.sample(request, call)
  const { answer: sampled, request: sent } = await sendLowered(contract, target, send, (given) =>
    'refused' in given ? given.refused : undefined,
  )
  return { sampled, sent, hasCallTool: listOf(sent.tools).includes(callToolDefinition) }
}

/** Returns the upstream's token count for a contract request; undefined if it has no counting endpoint. */
export async function countUpstream(
  contract: MessagesRequest,
  target: Target,
): Promise<HttpAnswer | undefined> {
  const { upstream, call } = target
  const { stream: _, max_tokens: __, ...counted } = contract
  const send = (request: MessagesRequest) => upstream.countTokens(request, call)
  return (await sendLowered(counted as MessagesRequest, target, send, (given) => given)).answer
}

/** Per upstream, the models that refused newer tool fields: later requests omit those fields from the start. */
const plainModels = new WeakMap<Upstream, ReturnType<typeof createRecent<true>>>()
const MAX_MODELS = 1000

/** Sends all tool fields; if the upstream refuses the newer ones, sends once more without them. */
async function sendLowered<Given>(
  contract: MessagesRequest,
  { upstream, wire, maxTools, owner, slice }: Target,
  send: (request: MessagesRequest) => Promise<Given>,
  refusalIn: (given: Given) => HttpAnswer | undefined,
): Promise<{ readonly answer: Given; readonly request: MessagesRequest }> {
  const plain = plainModels.get(upstream) ?? createRecent(MAX_MODELS)
  // Keyed by client, so that one client's invalid tools do not strip the fields of another's.
  const key = `${owner} ${contract.model}`
  const keepsFields = !plain.get(key)
  await yieldIfOver(slice)
  const request = lower(contract, wire, { maxTools, keepsFields })
  await yieldIfOver(slice)
  const answer = await send(request)
  const refusal = refusalIn(answer)
  if (wire === 'native' || !refusal || !refusesField(refusal, request)) return { answer, request }
  plain.set(key, true)
  plainModels.set(upstream, plain)
  const again = lower(contract, wire, { maxTools, keepsFields: false })
  return { answer: await send(again), request: again }
}

const UNKNOWN = /extra|unknown|unexpected|unrecogni[sz]ed|unsupported|not (?:permitted|allowed|supported)/i

function refusesField({ status, body }: HttpAnswer, { tools }: MessagesRequest): boolean {
  if ((status !== 400 && status !== 422) || !UNKNOWN.test(body)) return false
  const words = new Set(body.match(/\w+/g))
  return listOf(tools).some((tool) => newerFields(fieldsOf(tool)).some((field) => words.has(field)))
}

const MAX_RETRIES = 3
const MAX_WAIT_MS = 30_000
const REFUSED_FOR_NOW = new Set([429, 503, 529])

/** Samples in the middle of a reply, where the client cannot retry: waits out rate limits as the response says. */
export async function samplePatiently(contract: MessagesRequest, target: Target): Promise<SamplingResult> {
  const { call, wait = sleepUntil } = target
  for (let retry = 0; ; retry++) {
    const sampling = await sample(contract, target)
    if (!('refused' in sampling.sampled) || retry === MAX_RETRIES) return sampling
    const milliseconds = waitFor(sampling.sampled.refused, retry)
    if (milliseconds === undefined || milliseconds > MAX_WAIT_MS) return sampling
    await wait(milliseconds, call.signal)
  }
}

/** Milliseconds to wait before the next attempt; undefined if a retry would not help. */
function waitFor({ status, headers }: HttpAnswer, retry: number): number | undefined {
  if (!REFUSED_FOR_NOW.has(status) || headers['x-should-retry'] === 'false') return undefined
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds)
  const after = headers['retry-after'] ?? ''
  const seconds = after.trim() === '' ? Number.NaN : Number(after)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const date = Date.parse(after)
  return Number.isNaN(date) ? 1000 * 2 ** retry : Math.max(0, date - Date.now())
}

async function sleepUntil(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal })
}
