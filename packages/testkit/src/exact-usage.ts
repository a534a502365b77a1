// An upstream whose usage is counted exactly, by characters, so that figures can be compared to the token.

import type { Fields } from '../../core/src/lib/json.ts'
import { fieldsOf } from '../../core/src/lib/json.ts'
import { readingOf } from '../../core/src/reading.ts'
import type { MessagesRequest, StreamEvent, Upstream } from '../../messages/src/types.ts'

export type Count = (request: MessagesRequest) => Fields

/** Three tokens a character, which no estimate of ours would come to. */
export const exactly: Count = (request) => ({ input_tokens: 3 * readingOf(request).characters })

/** Output tokens of every reply. */
export const OUTPUT = 7

/** The upstream with usage as `count` gives it; each usage joins `usages`. */
export function counting(upstream: Upstream, usages: Fields[], count: Count = exactly): Upstream {
  return {
    ...upstream,
    async sample(request, call) {
      const sampled = await upstream.sample(request, call)
      if ('refused' in sampled) return sampled
      const usage = count(request)
      usages.push(usage)
      return { ...sampled, events: counted(sampled.events, usage) }
    },
  }
}

async function* counted(events: AsyncIterable<StreamEvent>, usage: Fields): AsyncGenerator<StreamEvent> {
  for await (const event of events) {
    if (event.type === 'message_start')
      yield { ...event, message: { ...fieldsOf(event.message), usage: { ...usage, output_tokens: 1 } } }
    else if (event.type === 'message_delta') yield { ...event, usage: { output_tokens: OUTPUT } }
    else yield event
  }
}

export const inputOf = (usages: readonly Fields[]) =>
  usages.reduce((sum, { input_tokens: tokens }) => sum + Number(tokens), 0)
