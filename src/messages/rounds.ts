// One reply of the gateway: as many samplings of the upstream as the model's searches need, joined into one stream.
import { type Fields, fieldsOf, textOf, without } from '../core/oracle/json.ts'
import { type BlockInMaking, blockEvents, finished, grow, inputOf } from '../reply.ts'
import type { Searching } from './searching.ts'
import type { Answer, Call, MessagesRequest, Sampled, StreamEvent, Upstream, Wire } from './types.ts'
import { UpstreamError } from './upstream/http.ts'
import { CALL_TOOL, fromCallTool } from './wire/call-tool.ts'
import { lower } from './wire/lower.ts'

export type Job = {
  readonly upstream: Upstream
  readonly wire: Wire
  readonly call: Call
  readonly searching: Searching
  /** Told of each request of the contract before it is sent. */
  readonly onRound: (contract: MessagesRequest) => void
}

/** After so many searches in a row the reply ends; the client may let the model go on. */
const MOST_ROUNDS = 10

export async function converse(job: Job): Promise<Sampled> {
  const first = await sample(job)
  return 'refused' in first ? first : { headers: first.headers, events: rounds(job, first.events) }
}

async function sample({ upstream, wire, call, searching, onRound }: Job): Promise<Sampled> {
  const contract = await searching.request()
  onRound(contract)
  return upstream.sample(lower(contract, wire), call)
}

/** What the reply has come to, across its samplings. */
type Reply = { readonly shown: Fields[]; readonly usages: Fields[] }

/** The upstream refused a later sampling of a reply: what it answered. */
export class RefusedMidway extends Error {
  readonly answer: Answer
  constructor(answer: Answer) {
    super(`the upstream refused to go on with the reply (status ${answer.status})`)
    this.answer = answer
  }
}

async function* rounds(job: Job, first: AsyncIterable<StreamEvent>): AsyncGenerator<StreamEvent> {
  const { searching } = job
  const reply: Reply = { shown: [], usages: [] }
  let events = first
  for (let round = 1; ; round++) {
    const sampling = yield* passOn(events, reply, job)
    if (!sampling) return
    const { end: event, searches, calls } = sampling
    const isSearch = searches > 0 && calls === 0
    if (isSearch) for (const result of await searching.answer(reply.shown.length)) yield* show(result, reply)
    const goesOn = isSearch && fieldsOf(event.delta).stop_reason === 'tool_use'
    if (!goesOn) return yield* end(reply, searching, event)
    if (round === MOST_ROUNDS) return yield* end(reply, searching, stopped(event, searching.stopReason))
    const next = await sample(job)
    if ('refused' in next) throw new RefusedMidway(next.refused)
    events = next.events
  }
}

/** The events of one sampling as the client is to see them; what it came to, unless it broke off. */
async function* passOn(
  events: AsyncIterable<StreamEvent>,
  reply: Reply,
  job: Job,
): AsyncGenerator<StreamEvent, (Sampling & { end: StreamEvent }) | undefined> {
  const nothing = { end: undefined, searches: 0, calls: 0, isBroken: false }
  const sampling: Sampling = { making: new Map(), unread: [], ...nothing }
  for await (const event of events) {
    yield* await seen(event, sampling, reply, job)
    if (sampling.isBroken) return undefined
  }
  const { end } = sampling
  if (!end) throw new UpstreamError('the stream of the upstream ended before its reply did.')
  return { ...sampling, end }
}

/** One sampling as far as it has come. */
type Sampling = {
  readonly making: Map<unknown, Making>
  /** Searches whose input is no JSON. */
  readonly unread: Fields[]
  end: StreamEvent | undefined
  searches: number
  calls: number
  /** The upstream has said in its stream that it failed. */
  isBroken: boolean
}

/** A block that is being written; one that is held back has no place in the reply yet. */
type Making = BlockInMaking & { readonly at: number | undefined }

async function seen(
  event: StreamEvent,
  sampling: Sampling,
  reply: Reply,
  job: Job,
): Promise<Iterable<StreamEvent>> {
  if (reply.usages.length === 0 && (event.type === 'message_delta' || event.type === 'content_block_start'))
    throw new UpstreamError('the stream of the upstream does not start with a message.')
  const open = sampling.making.get(event.index)
  switch (event.type) {
    case 'message_start':
      reply.usages.push(fieldsOf(fieldsOf(event.message).usage))
      if (reply.usages.length > 1) return []
      return [event, ...job.searching.opening.flatMap((block) => show(block, reply))]
    case 'content_block_start':
      return startBlock(event, sampling, reply, job)
    case 'content_block_delta':
      grow(open, fieldsOf(event.delta))
      return open?.at === undefined ? [] : [{ ...event, index: open.at }]
    case 'content_block_stop':
      if (!open) return []
      return open.at === undefined
        ? showHeld(open, sampling, reply, job)
        : [finish(open, open.at, event, reply, job)]
    case 'message_delta':
      sampling.end = event
      reply.usages.push({ ...reply.usages.pop(), ...fieldsOf(event.usage) })
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

/** Searches, and calls through the bridge, are held back until they are whole. */
function startBlock(event: StreamEvent, sampling: Sampling, reply: Reply, { searching, wire }: Job) {
  const block = fieldsOf(event.content_block)
  const name = block.type === 'tool_use' ? textOf(block.name) : ''
  const isHeld = name !== '' && (searching.isSearch(name) || (wire === 'bridge' && name === CALL_TOOL))
  const at = isHeld ? undefined : reply.shown.length
  sampling.making.set(event.index, { block, json: '', at })
  if (at === undefined) return []
  if (block.type === 'tool_use') sampling.calls++
  const shown = asShown(block, at, searching)
  reply.shown.push(shown)
  return [{ ...event, index: at, content_block: shown }]
}

function finish(open: Making, at: number, event: StreamEvent, reply: Reply, { searching }: Job): StreamEvent {
  const block = finished(open)
  reply.shown[at] = { ...reply.shown[at], ...without(block, 'id', 'caller') }
  searching.said(block)
  return { ...event, index: at }
}

async function showHeld(open: Making, sampling: Sampling, reply: Reply, job: Job) {
  const { searching } = job
  const isSearch = searching.isSearch(textOf(open.block.name))
  const block = isSearch ? finished(open) : fromCallTool(finished(open))
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

/** Searches whose input cannot be read, in a sampling that was not cut off: the model is told, and may try again. */
async function showUnread(sampling: Sampling, reply: Reply, job: Job) {
  const events: StreamEvent[] = []
  for (const block of sampling.unread) events.push(...(await showSearch(block, sampling, reply, job)))
  return events
}

function show(block: Fields, reply: Reply): StreamEvent[] {
  const events = [...blockEvents(block, reply.shown.length)]
  reply.shown.push(block)
  return events
}

/** A call under the id that the client is to use, and said to come from the model itself (wire 25). */
function asShown(block: Fields, at: number, { callId }: Searching): Fields {
  if (block.type !== 'tool_use') return block
  return { ...block, id: callId(textOf(block.id), at), caller: block.caller ?? { type: 'direct' } }
}

function* end(reply: Reply, { close }: Searching, event: StreamEvent): Generator<StreamEvent> {
  close(reply.shown)
  const isOne = reply.usages.length === 1
  yield isOne ? event : { ...event, usage: { ...fieldsOf(event.usage), ...sum(reply.usages) } }
  yield { type: 'message_stop' }
}

/** All samplings are paid for: the counts of the reply are the sums of theirs (wire 27). */
function sum(usages: readonly Fields[]): Fields {
  const total: Record<string, unknown> = {}
  for (const usage of usages) {
    for (const [name, value] of Object.entries(usage))
      total[name] = typeof value === 'number' ? countOf(total[name]) + value : (value ?? total[name])
  }
  return total
}

function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

function stopped(event: StreamEvent, reason: string): StreamEvent {
  return { ...event, delta: { ...fieldsOf(event.delta), stop_reason: reason } }
}
