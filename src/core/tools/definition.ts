// A tool as the host or a server describes it → the definition that is sent, memoised, without overlays (Q9).
import type { Definition, Tool } from '../types.ts'

/** Fields that say how to treat a tool; they are never sent. */
const OURS = new Set([
  ...['server', 'searchHint', 'alwaysLoad', 'shouldDefer', 'critical', 'initializing'],
  ...['defer_loading', 'cache_control'],
  ...['_meta', 'title', 'annotations', 'inputSchema', 'outputSchema', 'icons', 'execution'],
])

/** What an MCP tool may bring to the API; a server's other fields are its client's business. */
const FROM_MCP = new Set(['input_examples', 'strict'])

export type Described = { readonly definition: Definition; readonly json: string; readonly warning?: string }

export function describe(tool: Tool, name: string, isMcp: boolean, descriptionLimit: number): Described {
  const fields: Record<string, unknown> = { name }
  if (typeof tool.description === 'string') {
    fields.description = isMcp ? cut(tool.description, descriptionLimit) : tool.description
  }
  const isHosted =
    typeof (tool as { type?: unknown }).type === 'string' && (tool as { type?: unknown }).type !== 'custom'
  const schema = tool.input_schema ?? tool.inputSchema
  if (!isHosted || schema !== undefined) fields.input_schema = objectSchema(schema)
  for (const [field, value] of Object.entries(tool)) {
    const isSent = isMcp ? FROM_MCP.has(field) : !OURS.has(field) && typeof value !== 'function'
    if (isSent && !Object.hasOwn(fields, field) && value !== undefined) fields[field] = value
  }
  return serialise(fields as Definition)
}

/** What the model reads of a description: at most so many characters, never half of a pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = /[\uD800-\uDBFF]/.test(text[limit - 2] ?? '') ? limit - 2 : limit - 1
  return `${text.slice(0, Math.max(0, end))}…`
}

/** The API takes only object schemas; `true`, `{}` and schemas without a type mean "any object" here. */
function objectSchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return { type: 'object', properties: {} }
  return (schema as { type?: unknown }).type === 'object' ? schema : { ...schema, type: 'object' }
}

/** What JSON cannot write is left out: first the schema, then every field but the usual ones. */
function serialise(definition: Definition): Described {
  const { name, description, input_schema } = definition
  const open = { type: 'object', properties: {} }
  const text = description === undefined ? {} : { description: String(description) }
  const attempts: Definition[] = [
    definition,
    { name, ...text, input_schema },
    { ...definition, input_schema: open },
  ]
  for (const [index, attempt] of attempts.entries()) {
    const json = toJson(attempt)
    if (json === undefined) continue
    const warning = `the definition of "${name}" cannot be written as JSON; what cannot is left out.`
    return { definition: Object.freeze(attempt), json, ...(index > 0 ? { warning } : {}) }
  }
  const bare = Object.freeze({ name, ...text, input_schema: open })
  return { definition: bare, json: JSON.stringify(bare), warning: `"${name}" is sent without its schema.` }
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
