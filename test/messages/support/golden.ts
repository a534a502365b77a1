// The lines of golden streams, and what a client makes of one.
import type { Fields } from '../../../src/lib/index.ts'
import type { StreamEvent } from '../../../src/messages/index.ts'
import { deferred, result, tool, user } from '../../oracle/requests.ts'
import { hosted } from './gateways.ts'

export const issue = deferred('create_issue')
export const mail = deferred('send_mail')
export const tools = [hosted('bm25'), tool('Read'), issue, mail]

/** A call in a stream: its input starts with an empty fragment. */
export const call = (index: number, line: string, input: string) => [
  `${index} start ${line} {}`,
  `${index} input_json_delta `,
  `${index} input_json_delta ${input}`,
  `${index} stop`,
]
export const searchFor = (index: number, query: string) =>
  call(index, 'server_tool_use tool_search_tool_bm25', JSON.stringify({ query }))
export const resultOf = (index: number, line: string) => [`${index} start result ${line}`, `${index} stop`]
export const words = (index: number, said: string) => [
  `${index} start text`,
  `${index} text_delta ${said}`,
  `${index} stop`,
]
export const ended = (reason: string) => [`message_delta ${reason}`, 'message_stop']

/** The message that a stream adds up to. */
export function contentOf(events: readonly StreamEvent[]): Fields[] {
  const blocks: Record<string, unknown>[] = []
  const json: string[] = []
  for (const event of events) {
    const index = Number(event.index)
    const { text, partial_json } = (event.delta ?? {}) as { text?: string; partial_json?: string }
    if (event.type === 'content_block_start') blocks[index] = { ...(event.content_block as Fields) }
    if (text !== undefined) blocks[index]!.text = `${blocks[index]!.text}${text}`
    if (partial_json !== undefined) json[index] = (json[index] ?? '') + partial_json
  }
  return blocks.map((block, index) =>
    json[index] === undefined ? block : { ...block, input: JSON.parse(json[index]) },
  )
}

/** The input of the first sampling, and that of all. */
export const usageOf = (events: readonly StreamEvent[]) => {
  const input = (from: unknown) => (from as { usage?: Fields } | undefined)?.usage?.input_tokens
  return {
    first: input(events[0]?.message),
    last: input(events.find(({ type }) => type === 'message_delta')),
  }
}
export const results = (content: readonly Fields[]) =>
  user(...content.filter(({ type }) => type === 'tool_use').map(({ id }) => result(String(id))))
