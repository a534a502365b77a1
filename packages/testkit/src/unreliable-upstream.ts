// An upstream that refuses, breaks off and caches as a test says, and records what it billed for each reply that it began.
import { once } from 'node:events'
import fc from 'fast-check'
import type { Fields } from '../../core/src/lib/json.ts'
import { fieldsOf } from '../../core/src/lib/json.ts'
import { readingOf } from '../../core/src/reading.ts'
import type { StreamEvent, Upstream, UpstreamCall } from '../../messages/src/types.ts'
import { OUTPUT } from './exact-usage.ts'

/** What becomes of a sampling. One that waits has begun to answer, and ends only when the client leaves. */
export type Fate = {
  readonly kind: 'whole' | 'refused' | 'broken' | 'failed' | 'waiting'
  /** Parts of the prompt that come from the cache, are written to it, and of these for an hour. */
  readonly cache: readonly [number, number, number]
}

const share = fc.constantFrom(0, 0.1, 0.5, 0.9)
export const fates = fc.record<Fate>({
  kind: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'refused', 'broken', 'failed', 'waiting'),
  cache: fc.tuple(share, share, fc.constantFrom(0, 0.5, 1)),
})

export const WHOLE: Fate = { kind: 'whole', cache: [0, 0, 0] }

/** A reply that was begun, at three tokens a character. */
export type Bill = {
  readonly model: string
  readonly fate: Fate
  readonly tokens: number
  /** Tokens by kind of price: input, cache read, cache write, write for an hour. */
  readonly kinds: readonly [number, number, number, number]
  output: number
  hasSearched: boolean
}

export function unreliable(upstream: Upstream, nextFate: (model: string) => Fate, bills: Bill[]): Upstream {
  return {
    ...upstream,
    async sample(request, call) {
      const fate = nextFate(request.model)
      if (fate.kind === 'refused') return { refused: OVERLOADED }
      const sampled = await upstream.sample(request, call)
      if ('refused' in sampled) return sampled
      const tokens = 3 * readingOf(request).characters
      const bill: Bill = {
        ...{ model: request.model, fate, tokens, kinds: kindsOf(tokens, fate) },
        ...{ output: 0, hasSearched: false },
      }
      return { ...sampled, events: billed(sampled.events, bill, bills, call) }
    },
  }
}

const OVERLOADED = {
  status: 529,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
}

function kindsOf(tokens: number, { cache: [read, write, hour] }: Fate): Bill['kinds'] {
  const cacheRead = Math.floor(tokens * read)
  const written = Math.floor((tokens - cacheRead) * write)
  const oneHour = Math.floor(written * hour)
  return [tokens - cacheRead - written, cacheRead, written - oneHour, oneHour]
}

async function* billed(
  events: AsyncIterable<StreamEvent>,
  bill: Bill,
  bills: Bill[],
  { signal }: UpstreamCall,
): AsyncGenerator<StreamEvent> {
  const { kind } = bill.fate
  for await (const event of events) {
    if (event.type === 'message_start') {
      bills.push(bill)
      bill.output = 1
      yield { ...event, message: { ...fieldsOf(event.message), usage: usageOf(bill) } }
      if (kind === 'broken') return
      if (kind === 'failed') return yield { type: 'error', error: { type: 'api_error', message: 'Sorry.' } }
      if (kind === 'waiting') return yield* waiting(signal)
    } else if (event.type === 'message_delta') {
      bill.output = OUTPUT
      yield { ...event, usage: { input_tokens: null, cache_read_input_tokens: null, output_tokens: OUTPUT } }
    } else {
      const { name } = fieldsOf(event.content_block)
      if (name === 'ToolSearch') bill.hasSearched = true
      yield event
    }
  }
}

function usageOf({ kinds: [input, cacheRead, cacheWrite, oneHour], output }: Bill): Fields {
  return {
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite + oneHour,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: oneHour },
    output_tokens: output,
  }
}

async function* waiting(signal: AbortSignal): AsyncGenerator<StreamEvent> {
  yield { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Well' } }
  if (!signal.aborted) await once(signal, 'abort')
}
