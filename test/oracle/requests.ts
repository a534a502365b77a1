// The smallest tools, blocks and messages that the oracle's tests are made of.
import { type ValidateOptions, validateRequest } from '../../packages/messages/src/oracle/validate.ts'

export type Json = { [field: string]: unknown }

export const tool = (name: string, more: Json = {}): Json => ({
  name,
  description: `does ${name}`,
  input_schema: { type: 'object', properties: { [`${name}_key`]: { type: 'string' } } },
  ...more,
})
export const deferred = (name: string, more: Json = {}): Json => tool(name, { defer_loading: true, ...more })

export const text = (value: string, more: Json = {}): Json => ({ type: 'text', text: value, ...more })
export const use = (id: string, name = 'search'): Json => ({ type: 'tool_use', id, name, input: {} })
export const reference = (name: string, more: Json = {}): Json => ({
  type: 'tool_reference',
  tool_name: name,
  ...more,
})
export const result = (id: string, content: unknown = 'ok', more: Json = {}): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
export const search = (id: string, name = 'tool_search_tool_regex'): Json => ({
  type: 'server_tool_use',
  id,
  name,
  input: { pattern: 'x' },
})
export const found = (id: string, ...names: string[]): Json => ({
  type: 'tool_search_tool_result',
  tool_use_id: id,
  content: {
    type: 'tool_search_tool_search_result',
    tool_references: names.map((name) => reference(name)),
  },
})

export const user = (...content: unknown[]): Json => ({ role: 'user', content })
export const assistant = (...content: unknown[]): Json => ({ role: 'assistant', content })
export const system = (...content: unknown[]): Json => ({ role: 'system', content })

export const request = (tools: unknown[], ...messages: unknown[]): Json & { messages: unknown[] } => ({
  // One for which the client may start the reply.
  model: 'claude-opus-4-5',
  max_tokens: 16,
  tools,
  messages,
})

/** A client's search that has loaded these tools. */
export const loading = (...names: string[]): Json[] => [
  user(text('hi')),
  assistant(use('call-1')),
  user(
    result(
      'call-1',
      names.map((name) => reference(name)),
    ),
  ),
]

/** The text of the refusal, or undefined when the request is accepted. */
export function refusal(value: unknown, options?: ValidateOptions): string | undefined {
  return validateRequest(value, options)?.body.error.message
}

export function errorCode(value: unknown, options?: ValidateOptions): string | undefined {
  return validateRequest(value, options)?.body.error.details?.error_code
}
