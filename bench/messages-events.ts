// The replies that the upstream of the gateway benches streams, in each API.

/** A reply in one API: how it opens, an event of text, and how it closes. */
export type Reply = {
  readonly path: string
  readonly opening: string
  readonly event: string
  readonly closing: string
}

const opening = [
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
const TEXT = 'a few words'

const event = written({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: TEXT },
})

const closing = [{ type: 'content_block_stop', index: 0 }, ...endOf('end_turn')].map(written).join('')

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

const chunk = (delta: object, finish: string | null = null) => {
  const choice = { index: 0, delta, finish_reason: finish }
  const head = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'bench' }
  return `data: ${JSON.stringify({ ...head, choices: [choice] })}\n\n`
}

const response = (status: string, output: readonly object[]) => ({
  id: 'resp_bench',
  object: 'response',
  created_at: 1,
  status,
  model: 'bench',
  output,
  error: null,
  usage: status === 'completed' ? { input_tokens: 1, output_tokens: 1, total_tokens: 2 } : null,
})
const item = (status: string, content: readonly object[]) => ({
  type: 'message',
  id: 'msg_bench',
  role: 'assistant',
  status,
  content,
})
const PART = { type: 'output_text', text: '', annotations: [] }
const AT = { item_id: 'msg_bench', output_index: 0, content_index: 0 }

/** The reply of each API, by its name. */
export const replies: { readonly [api in 'messages' | 'chat' | 'responses']: Reply } = {
  messages: { path: '/v1/messages', opening, event, closing },
  chat: {
    path: '/v1/chat/completions',
    opening: chunk({ role: 'assistant', content: '' }),
    event: chunk({ content: TEXT }),
    closing: `${chunk({}, 'stop')}data: [DONE]\n\n`,
  },
  responses: {
    path: '/v1/responses',
    opening: [
      { type: 'response.created', response: response('in_progress', []) },
      { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
      { type: 'response.content_part.added', ...AT, part: PART },
    ]
      .map(written)
      .join(''),
    event: written({ type: 'response.output_text.delta', ...AT, delta: TEXT }),
    closing: [
      { type: 'response.output_item.done', output_index: 0, item: item('completed', [PART]) },
      { type: 'response.completed', response: response('completed', [item('completed', [PART])]) },
    ]
      .map(written)
      .join(''),
  },
}

function endOf(reason: string) {
  const delta = { stop_reason: reason, stop_sequence: null }
  return [{ type: 'message_delta', delta, usage: { output_tokens: 1 } }, { type: 'message_stop' }]
}

function written(event: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
