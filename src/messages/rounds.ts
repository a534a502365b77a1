// One reply of the gateway: as many samplings of the upstream as the model's searches need, joined into one stream.
import { type Fields, fieldsOf, textOf, without } from '../core/oracle/json.ts'
import type { Searching } from './searching.ts'
import { type BlockInMaking, blockEvents, finished, grow, inputOf } from './stream/events.ts'
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
    if (sampling.isBroken) return
    const isSearch = sampling.searches > 0 && sampling.calls === 0 && sampling.stopReason === 'tool_use'
    if (!isSearch) return yield* end(reply, searching, sampling.end)
    for (const result of await searching.answer(reply.shown.length)) yield* show(result, reply)
    if (round === MOST_ROUNDS)
      return yield* end(reply, searching, stopped(sampling.end, searching.stopReason))
    const next = await sample(job)
    if ('refused' in next) throw new RefusedMidway(next.refused)
    events = next.events
  }
}

type Sampling = {
  readonly end: StreamEvent
  readonly stopReason: unknown
  readonly searches: number
  readonly calls: number
  /** The upstream has said in its stream that it failed. */
  readonly isBroken: boolean
}

/** The events of one sampling as the client is to see them. */
async function* passOn(
  events: AsyncIterable<StreamEvent>,
  reply: Reply,
  { searching, wire }: Job,
): AsyncGenerator<StreamEvent, Sampling> {
  const making = new Map<unknown, BlockInMaking & { readonly at: number | undefined }>()
  let end: StreamEvent | undefined
  let searches = 0
  let calls = 0
  for await (const event of events) {
    switch (event.type) {
      case 'message_start':
        reply.usages.push(fieldsOf(fieldsOf(event.message).usage))
        if (reply.usages.length > 1) break
        yield event
        for (const block of searching.opening) yield* show(block, reply)
        break
      case 'content_block_start': {
        const block = fieldsOf(event.content_block)
        const name = block.type === 'tool_use' ? textOf(block.name) : ''
        const isHeld = name !== '' && (searching.isSearch(name) || (wire === 'bridge' && name === CALL_TOOL))
        const at = isHeld ? undefined : reply.shown.length
        making.set(event.index, { block, json: '', at })
        if (at === undefined) break
        if (block.type === 'tool_use') calls++
        const shown = asShown(block, at, searching)
        reply.shown.push(shown)
        yield { ...event, index: at, content_block: shown }
        break
      }
      case 'content_block_delta': {
        const open = making.get(event.index)
        grow(open, fieldsOf(event.delta))
        if (open?.at !== undefined) yield { ...event, index: open.at }
        break
      }
      case 'content_block_stop': {
        const open = making.get(event.index)
        if (!open) break
        const block = finished(open)
        if (open.at !== undefined) {
          reply.shown[open.at] = { ...reply.shown[open.at], ...without(block, 'id', 'caller') }
          searching.said(block)
          yield { ...event, index: open.at }
        } else if (searching.isSearch(textOf(block.name))) {
          if (inputOf(open.json) === undefined && open.json !== '') break
          searches++
          const { id, name, input } = block
          const shown = await searching.shown({ id: textOf(id), name: textOf(name), input: fieldsOf(input) })
          if (!shown) break
          searching.said(shown)
          yield* show(shown, reply)
        } else {
          calls++
          const call = fromCallTool(block)
          searching.said(call)
          yield* show(asShown(call, reply.shown.length, searching), reply)
        }
        break
      }
      case 'message_delta':
        end = event
        reply.usages.push({ ...reply.usages.pop(), ...fieldsOf(event.usage) })
        break
      case 'message_stop':
        break
      case 'error':
        yield event
        return { end: event, stopReason: undefined, searches, calls, isBroken: true }
      default:
        yield event
    }
  }
  if (!end) throw new UpstreamError('the stream of the upstream ended before its reply did.')
  return { end, stopReason: fieldsOf(end.delta).stop_reason, searches, calls, isBroken: false }
}

async function* show(block: Fields, reply: Reply): AsyncGenerator<StreamEvent> {
  yield* blockEvents(block, reply.shown.length)
  reply.shown.push(block)
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
      total[name] = typeof value === 'number' ? Number(total[name] ?? 0) + value : value
  }
  return total
}

function stopped(event: StreamEvent, reason: string): StreamEvent {
  return { ...event, delta: { ...fieldsOf(event.delta), stop_reason: reason } }
}
