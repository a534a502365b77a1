// Reads and writes server-sent events.
import { createScheduler } from '@toolshelf/core/internal/node'
import { stringifyExact } from '../json/exact.ts'
import { MAX_ANSWER_LENGTH, UpstreamError } from './http.ts'

export type ServerSentEvent = { readonly event: string; readonly data: string }

/** All streams share it: chunks that arrive together are handled in turns, with new requests in between. */
const scheduler = createScheduler()

/** Parses events from chunks split at any point. Ignores an incomplete event at the end of the stream. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  for await (const events of readEventBatches(chunks)) yield* events
}

/** Yields the events of each chunk, as soon as they are complete and it is the stream's turn. */
export async function* readEventBatches(
  chunks: AsyncIterable<Uint8Array>,
  maxLength = MAX_ANSWER_LENGTH,
): AsyncGenerator<readonly ServerSentEvent[]> {
  const read = createEventReader(maxLength)
  for await (const chunk of chunks) {
    const turn = scheduler.pause()
    if (turn) await turn
    yield read(chunk)
  }
}

/** Returns a function that takes the next chunk and returns the events completed by it; `maxLength` limits one event. */
function createEventReader(maxLength: number): (chunk: Uint8Array) => ServerSentEvent[] {
  const decoder = new TextDecoder()
  let rest = ''
  let event = ''
  let data: string[] = []
  let size = 0
  /** The last chunk ended in a carriage return, which a line feed may follow. */
  let isReturned = false
  return (chunk) => {
    const decoded = decoder.decode(chunk, { stream: true })
    const text = isReturned && decoded.startsWith('\n') ? decoded.slice(1) : decoded
    if (decoded !== '') isReturned = decoded.endsWith('\r')
    size += text.length
    if (size > maxLength) throw new UpstreamError("an event of the upstream's stream is too long.")
    if (!/[\r\n]/.test(text)) {
      rest += text
      return []
    }
    const events: ServerSentEvent[] = []
    const lines = (rest + text).split(/\r\n|\n|\r/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line !== '') {
        const { field, value } = fieldIn(line)
        if (field === 'event') event = value
        if (field === 'data') data.push(value)
        continue
      }
      size = rest.length
      if (data.length > 0) events.push({ event, data: data.join('\n') })
      event = ''
      data = []
    }
    return events
  }
}

/** Splits a line into field and value; one space after the colon is not part of the value. */
function fieldIn(line: string): { field: string; value: string } {
  const colon = line.indexOf(':')
  if (colon < 0) return { field: line, value: '' }
  return { field: line.slice(0, colon), value: line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1) }
}

/** Serialises a Messages API event. */
export function serializeEvent(event: { readonly type: string }): string {
  // Only the start of a block contains parsed upstream values with long numbers.
  const json = event.type === 'content_block_start' ? stringifyExact(event) : JSON.stringify(event)
  return `event: ${event.type}\ndata: ${json}\n\n`
}
