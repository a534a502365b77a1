// Produces one reply: samples the upstream until the model stops searching, and joins the samplings into one stream.
// Implements wire 22, 24, 25.
import {
  type BilledTokens,
  type BlockInMaking,
  billedTokens,
  blockEvents,
  CALL_TOOL,
  type Fields,
  fieldsOf,
  finishBlock,
  grow,
  inputOf,
  omitFields,
  textOf,
} from '@toolshelf/core/internal'
import { type ChildSpan, traceIdOf } from '@toolshelf/core/internal/node'
import { exactJson } from './json/exact.ts'
import { sample, samplePatiently, type Target } from './sampling.ts'
import type { SearchStrategy } from './search-strategy.ts'
import type { Headers, HttpAnswer, MessagesRequest, SamplingOutcome, StreamEvent } from './types.ts'
import { UpstreamError } from './upstream/http.ts'
import { laterUsage, sumUsage } from './usage.ts'
import { fromCallTool } from './wire/lower.ts'

/** What one reply needs. */
export type Job = Target & {
  readonly searching: SearchStrategy
  /** Called for each sampling with the contract request, the request as sent, and whether the upstream accepted it. */
  readonly onRound: (contract: MessagesRequest, sent: MessagesRequest, isAccepted: boolean) => void
  /** Called whenever the upstream reports usage. */
  readonly onUsage?: ((usage: Fields) => void) | undefined
  readonly onSampled?: ((end: SamplingEnd) => void) | undefined
  /** Creates the span of a sampling, which the upstream gets as its parent. */
  readonly newSpan?: (() => ChildSpan) | undefined
}

type SamplingEnd = {
  /** As the upstream reported it. */
  readonly usage?: BilledTokens | undefined
  readonly stopReason?: string | undefined
  readonly milliseconds: number
  readonly error?: string | undefined
  readonly spanId?: string | undefined
}

/** Maximum samplings per reply. The last one cannot search, or the reply ends so that the client can continue it. */
const MAX_ROUNDS = 10

/** Produces the reply of a request. */
export async function converse(job: Job): Promise<SamplingOutcome> {
  const contract = await job.searching.request()
  const begin = beginSampling(job)
  const first = await sample(contract, begin.target)
  job.onRound(contract, first.sent, !('refused' in first.sampled))
  if ('refused' in first.sampled) {
    reportRefused(job, first.sampled.refused, begin)
    return first.sampled
  }
  const { headers, events } = first.sampled
  return { headers, events: rounds(job, { ...begin, events, hasCallTool: first.hasCallTool }) }
}

/** A sampling that is being sent. */
type Begin = {
  /** The upstream, with the sampling's span as the parent of what happens there. */
  readonly target: Target
  /** When the request was sent, by `performance.now`. */
  readonly startedAt: number
  readonly spanId: string | undefined
}

/** The events of a sampling that the upstream accepted. */
type Begun = Begin & { readonly events: AsyncIterable<StreamEvent>; readonly hasCallTool: boolean }

function beginSampling(job: Job): Begin {
  const span = job.newSpan?.()
  const startedAt = performance.now()
  if (!span) return { target: job, startedAt, spanId: undefined }
  const headers = withParent(job.call.headers, span.traceparent)
  return { target: { ...job, call: { ...job.call, headers } }, startedAt, spanId: span.spanId }
}

/** Sets the parent span. Drops a `tracestate` without a valid `traceparent`, because the two belong together. */
function withParent(headers: Headers, traceparent: string): Headers {
  const kept = traceIdOf(headers.traceparent) === undefined ? omitFields(headers, 'tracestate') : headers
  return { ...(kept as Headers), traceparent }
}

/** The reply so far, across its samplings. */
type Reply = { readonly shown: Fields[]; readonly usages: Fields[] }

/** Thrown when the upstream refuses a later sampling of a reply; holds its response. */
export class RefusedMidway extends Error {
  readonly code = 'REFUSED'
  readonly answer: HttpAnswer
  constructor(answer: HttpAnswer) {
    super(`the upstream refused to continue the reply (status ${answer.status})`)
    this.answer = answer
  }
}

async function* rounds(job: Job, first: Begun): AsyncGenerator<StreamEvent> {
  const { searching } = job
  const reply: Reply = { shown: [], usages: [] }
  let begun = first
  for (let round = 1; ; round++) {
    const sampling = newSampling(begun.hasCallTool)
    for await (const event of begun.events) {
      const shown = seen(event, sampling, reply, job)
      // Most events need no waiting, and an `await` on each would cost more than all other work here.
      for (const one of shown instanceof Promise ? await shown : shown) yield one
      if (sampling.isBroken) return reportEnd(job, reply, sampling, begun)
    }
    reportEnd(job, reply, sampling, begun)
    const { end: event, searches, calls } = sampling
    if (!event) throw new UpstreamError("the upstream's stream ended before its reply was complete.")
    const isSearch = searches > 0 && calls === 0
    if (isSearch) for (const result of await searching.answer(reply.shown.length)) yield* show(result, reply)
    const goesOn = isSearch && fieldsOf(event.delta).stop_reason === 'tool_use'
    if (!goesOn) return yield* end(reply, searching, event)
    if (round === MAX_ROUNDS) return yield* end(reply, searching, stopped(event, searching.stopReason))
    begun = await goOn(job, round + 1 === MAX_ROUNDS)
  }
}

async function goOn(job: Job, isLast: boolean): Promise<Begun> {
  const { request, lastRequest = request } = job.searching
  const contract = await (isLast ? lastRequest() : request())
  const begin = beginSampling(job)
  const { sampled, sent, hasCallTool } = await samplePatiently(contract, begin.target)
  job.onRound(contract, sent, !('refused' in sampled))
  if ('refused' in sampled) {
    reportRefused(job, sampled.refused, begin)
    throw new RefusedMidway(sampled.refused)
  }
  return { ...begin, events: sampled.events, hasCallTool }
}

function reportEnd(
  { onSampled }: Job,
  { usages }: Reply,
  { end, isBroken }: Sampling,
  { startedAt, spanId }: Begun,
): void {
  onSampled?.({
    spanId,
    usage: billedTokens(usages.at(-1) ?? {}),
    stopReason: textOf(fieldsOf(end?.delta).stop_reason) || undefined,
    milliseconds: performance.now() - startedAt,
    error: end && !isBroken ? undefined : 'the reply broke off',
  })
}

function reportRefused({ onSampled }: Job, { status }: HttpAnswer, { startedAt, spanId }: Begin): void {
  onSampled?.({
    spanId,
    milliseconds: performance.now() - startedAt,
    error: `the upstream refused it (status ${status})`,
  })
}

type Sampling = {
  /** The gateway added CallTool and must translate its calls back. */
  readonly hasCallTool: boolean
  readonly making: Map<unknown, Making>
  /** Searches whose input is not valid JSON. */
  readonly unread: Fields[]
  end: StreamEvent | undefined
  searches: number
  calls: number
  /** The upstream has reported an error inside its stream. */
  isBroken: boolean
}

/** A block being streamed; `at` is undefined while it is held back. */
type Making = BlockInMaking & { readonly at: number | undefined }

function newSampling(hasCallTool: boolean): Sampling {
  const nothing = { end: undefined, searches: 0, calls: 0, isBroken: false }
  return { hasCallTool, making: new Map(), unread: [], ...nothing }
}

/** Translates an upstream event into the events that the client sees. */
function seen(
  event: StreamEvent,
  sampling: Sampling,
  reply: Reply,
  job: Job,
): readonly StreamEvent[] | Promise<readonly StreamEvent[]> {
  if (reply.usages.length === 0 && (event.type === 'message_delta' || event.type === 'content_block_start'))
    throw new UpstreamError("the upstream's stream does not start with a message.")
  const open = sampling.making.get(event.index)
  switch (event.type) {
    case 'message_start':
      reply.usages.push(fieldsOf(fieldsOf(event.message).usage))
      job.onUsage?.(fieldsOf(fieldsOf(event.message).usage))
      if (reply.usages.length > 1) return []
      return [event, ...job.searching.opening.flatMap((block) => show(block, reply))]
    case 'content_block_start':
      return startBlock(event, sampling, reply, job)
    case 'content_block_delta':
      grow(open, fieldsOf(event.delta))
      if (open?.at === undefined) return []
      return [open.at === event.index ? event : { ...event, index: open.at }]
    case 'content_block_stop':
      if (!open) return []
      return open.at === undefined
        ? showHeld(open, sampling, reply, job)
        : [finish(open, open.at, event, reply, job)]
    case 'message_delta':
      sampling.end = event
      job.onUsage?.(fieldsOf(event.usage))
      reply.usages.push(laterUsage(reply.usages.pop(), fieldsOf(event.usage)))
      return fieldsOf(event.delta).stop_reason === 'tool_use' ? showUnread(sampling, reply, job) : []
    case 'message_stop':
      return []
    case 'error':
      sampling.isBroken = true
      return [event]
    default:
      return [event]
  }
}

/** Holds back searches and calls of CallTool until they are complete. */
function startBlock(event: StreamEvent, sampling: Sampling, reply: Reply, { searching }: Job) {
  const block = fieldsOf(event.content_block)
  const name = block.type === 'tool_use' ? textOf(block.name) : ''
  const isThroughCallTool = sampling.hasCallTool && name === CALL_TOOL
  const isHeld = name !== '' && (searching.isSearch(name) || isThroughCallTool)
  const at = isHeld ? undefined : reply.shown.length
  sampling.making.set(event.index, { block, json: '', at })
  if (at === undefined) return []
  if (block.type === 'tool_use') sampling.calls++
  const shown = asShown(block, at, searching)
  reply.shown.push(shown)
  return [{ ...event, index: at, content_block: shown }]
}

function finish(open: Making, at: number, event: StreamEvent, reply: Reply, { searching }: Job): StreamEvent {
  const block = finishBlock(open, exactJson)
  reply.shown[at] = { ...reply.shown[at], ...omitFields(block, 'id', 'caller') }
  searching.said(block)
  return { ...event, index: at }
}

async function showHeld(open: Making, sampling: Sampling, reply: Reply, job: Job) {
  const { searching } = job
  const isSearch = searching.isSearch(textOf(open.block.name))
  const whole = finishBlock(open, exactJson)
  const block = isSearch ? whole : fromCallTool(whole)
  if (!searching.isSearch(textOf(block.name))) {
    sampling.calls++
    searching.said(block)
    return show(asShown(block, reply.shown.length, searching), reply)
  }
  if (inputOf(open.json) !== undefined) return showSearch(block, sampling, reply, job)
  sampling.unread.push(block)
  return []
}

async function showSearch(block: Fields, sampling: Sampling, reply: Reply, { searching }: Job) {
  sampling.searches++
  const { id, name, input } = block
  const shown = await searching.shown({ id: textOf(id), name: textOf(name), input: fieldsOf(input) })
  if (!shown) return []
  searching.said(shown)
  return show(shown, reply)
}

/** Reports searches with unreadable input to the model, which may retry; not for samplings that were cut off. */
async function showUnread(sampling: Sampling, reply: Reply, job: Job) {
  const events: StreamEvent[] = []
  for (const block of sampling.unread) events.push(...(await showSearch(block, sampling, reply, job)))
  return events
}

function show(block: Fields, reply: Reply): StreamEvent[] {
  const events = [...blockEvents(block, reply.shown.length, exactJson)]
  reply.shown.push(block)
  return events
}

/** A call with the id that the client sees, and with the model as its `caller` (wire 25). */
function asShown(block: Fields, at: number, { callId }: SearchStrategy): Fields {
  if (block.type !== 'tool_use') return block
  return { ...block, id: callId(textOf(block.id), at), caller: block.caller ?? { type: 'direct' } }
}

function* end(reply: Reply, { close }: SearchStrategy, event: StreamEvent): Generator<StreamEvent> {
  close(reply.shown)
  const isOne = reply.usages.length === 1
  yield isOne ? event : { ...event, usage: { ...fieldsOf(event.usage), ...sumUsage(reply.usages) } }
  yield { type: 'message_stop' }
}

function stopped(event: StreamEvent, reason: string): StreamEvent {
  return { ...event, delta: { ...fieldsOf(event.delta), stop_reason: reason } }
}
