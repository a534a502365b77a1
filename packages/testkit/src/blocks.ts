// Messages and blocks, written short.

import type { ShelfOptions } from '../../../test/doors.ts'
import { builtIn, exampleTools, type Loose, MODEL, quietShelf, Talk } from './talk.ts'

export const [SEND, LIST] = ['mcp__slack__send_message', 'mcp__slack__list_channels']
export const [ISSUE, EMAIL] = ['mcp__github__create_issue', 'mcp__email__send_email']
export const tools = [builtIn('Read'), ...exampleTools]

export const text = (value: string): Loose => ({ type: 'text', text: value })
export const user = (...content: Loose[]) => ({ role: 'user', content })
export const assistant = (...content: Loose[]) => ({ role: 'assistant', content })
export const system = (...content: Loose[]) => ({ role: 'system', content })
export const use = (id: string, name = 'Read') => ({ type: 'tool_use', id, name, input: {} })
export const search = (id: string) => assistant(use(id, 'ToolSearch'))
export const result = (id: string, ...content: Loose[]) => ({ type: 'tool_result', tool_use_id: id, content })
export const found = (id: string, ...names: string[]) =>
  result(id, ...names.map((name) => ({ type: 'tool_reference', tool_name: name })))
export const addition = (name: string) => ({ type: 'tool_addition', tool: { type: 'tool_reference', name } })

export const LOADED = text('Tool loaded.')
export const start = { role: 'user', content: 'start' }

export const isDelta = ({ content }: Loose) => String(content).startsWith('<system-reminder>\nDeferred tools')

/** What is sent of these messages after the first one, announcements aside; every request is valid. */
export async function sentOf(messages: Loose[], options: ShelfOptions = {}, model = MODEL): Promise<Loose[]> {
  const talk = new Talk(quietShelf({ tools, ...options }), model)
  talk.messages = [start]
  await talk.prepare()
  talk.messages.push(...messages)
  const { request } = await talk.prepare()
  return request.messages.filter((message: Loose) => !isDelta(message)).slice(1)
}
