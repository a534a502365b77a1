// Server-sent events, read and written.
import { UpstreamError } from '../upstream/http.ts'

export type ServerSentEvent = { readonly event: string; readonly data: string }

/** Characters that one event may have: a server that never ends one must not fill the memory. */
const LONGEST_EVENT = 64_000_000

/** Events out of chunks, wherever these are cut. An event that the stream's end cuts off is no event. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let event = ''
  let data: string[] = []
  let size = 0
  let isHalf = false
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true })
    size += text.length
    if (size > LONGEST_EVENT) throw new UpstreamError('an event of the stream of the upstream is too long.')
    if (!isHalf && !/[\r\n]/.test(text)) {
      rest += text
      continue
    }
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    isHalf = rest.endsWith('\r')
    for (const line of lines) {
      if (line !== '') {
        const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
        if (field === 'event') event = value
        if (field === 'data') data.push(value)
        continue
      }
      size = rest.length
      if (data.length > 0) yield { event, data: data.join('\n') }
      event = ''
      data = []
    }
  }
}

/** An event of the Messages API as it is sent. */
export function written(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
