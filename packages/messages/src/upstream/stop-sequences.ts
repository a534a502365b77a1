// Ends a reply at a stop sequence, for APIs that know none. The rest of the reply is read for its usage, and not shown.
import { fieldsOf, listOf, textOf } from '@toolshelf/core/internal'
import type { MessagesRequest, StreamEvent } from '../types.ts'

/** Cuts the text of a reply where it first has one of the request's stop sequences. */
export function stoppedAt(
  { stop_sequences }: MessagesRequest,
  events: AsyncIterable<StreamEvent>,
): AsyncIterable<StreamEvent> {
  const sequences = listOf(stop_sequences).map(textOf).filter(Boolean)
  return sequences.length === 0 ? events : cut(sequences, events)
}

async function* cut(
  sequences: readonly string[],
  events: AsyncIterable<StreamEvent>,
): AsyncGenerator<StreamEvent> {
  /** The end of a text that may be the start of a sequence. */
  let held = ''
  let found: string | undefined
  const textDelta = (index: unknown, text: string): StreamEvent[] =>
    text === '' ? [] : [{ type: 'content_block_delta', index, delta: { type: 'text_delta', text } }]
  for await (const event of events) {
    const delta = fieldsOf(event.delta)
    if (event.type === 'message_delta' && found !== undefined)
      yield { ...event, delta: { ...delta, stop_reason: 'stop_sequence', stop_sequence: found } }
    else if (!event.type.startsWith('content_block_')) yield event
    else if (found !== undefined) continue
    else if (delta.type === 'text_delta') {
      const text = held + textOf(delta.text)
      found = firstIn(text, sequences)
      const end = found === undefined ? text.length - openLength(text, sequences) : text.indexOf(found)
      held = text.slice(end)
      yield* textDelta(event.index, text.slice(0, end))
      if (found !== undefined) yield { type: 'content_block_stop', index: event.index }
    } else {
      if (event.type === 'content_block_stop') yield* textDelta(event.index, held)
      held = event.type === 'content_block_stop' ? '' : held
      yield event
    }
  }
}

function firstIn(text: string, sequences: readonly string[]): string | undefined {
  const present = sequences.filter((sequence) => text.includes(sequence))
  return present.sort((one, other) => text.indexOf(one) - text.indexOf(other))[0]
}

/** How many characters at the end of a text may be the start of a sequence. */
function openLength(text: string, sequences: readonly string[]): number {
  const longest = Math.max(...sequences.map(({ length }) => length)) - 1
  for (let length = Math.min(longest, text.length); length > 0; length--)
    if (sequences.some((sequence) => sequence.startsWith(text.slice(-length)))) return length
  return 0
}
