// The stream that the Messages bench sends and reads: events of the API whose text says when they were sent.

/** Milliseconds on a clock that all processes of this machine share. */
export function now(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1_000_000
}

export const opening = [
  {
    type: 'message_start',
    message: {
      id: 'msg_bench',
      type: 'message',
      role: 'assistant',
      model: 'bench',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
]
  .map(written)
  .join('')

/** About as long as a model's event is. */
export function timed(): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${now().toFixed(3)} word"}}\n\n`
}

export const closing = [{ type: 'content_block_stop', index: 0 }, ...endOf('end_turn')].map(written).join('')

/** A reply that searches with this tool and says nothing else. */
export function searching(tool: string, query: string): string {
  const call = { type: 'tool_use', id: 'toolu_bench', name: tool, input: {} }
  const delta = { type: 'input_json_delta', partial_json: JSON.stringify({ query }) }
  return [
    opening,
    ...[
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: call },
      { type: 'content_block_delta', index: 1, delta },
      { type: 'content_block_stop', index: 1 },
      ...endOf('tool_use'),
    ].map(written),
  ].join('')
}

export type Reader = { readonly read: (chunk: Buffer, onEvent: (sent: number) => void) => void }

/** Finds the times in chunks, wherever these are cut. */
export function createReader(): Reader {
  let rest = ''
  return {
    read(chunk, onEvent) {
      const text = rest + chunk.toString('latin1')
      const whole = text.lastIndexOf('\n\n')
      rest = text.slice(whole + 1)
      for (let at = text.indexOf(MARK); at >= 0 && at < whole; at = text.indexOf(MARK, at + MARK.length))
        onEvent(Number.parseFloat(text.slice(at + MARK.length, at + MARK.length + 20)))
    },
  }
}

const MARK = '"text_delta","text":"'

function endOf(reason: string) {
  const delta = { stop_reason: reason, stop_sequence: null }
  return [{ type: 'message_delta', delta, usage: { output_tokens: 1 } }, { type: 'message_stop' }]
}

function written(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
