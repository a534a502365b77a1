// Converts a Responses request to a Messages request.
import { type Fields, fieldsOf, isFields, listOf, omitFields, textOf } from '@toolshelf/core/internal'
import { invalidRequest } from '../errors.ts'
import type { StoredItems } from '../reply-memory.ts'
import type { ClientTerms } from '../types.ts'
import {
  isGiven,
  JSON_ONLY,
  refuseTooMany,
  samplingOf,
  type ToolChoice,
  toThinking,
  withFormat,
} from './openai.ts'
import { asksForSummary, fromItems, holdsResult, startOf, typeOf } from './responses-items.ts'
import { createResponsesWriter } from './responses-reply.ts'
import { type ToolTable, toolChoiceIn, toolTable } from './responses-tools.ts'
import type { InboundRequest } from './types.ts'

/** Converts a request; throws a refusal if it is malformed. */
export function readResponsesRequest(sent: Fields, stored?: StoredItems): InboundRequest {
  const { model } = sent
  if (typeof model !== 'string' || model === '')
    throw invalidRequest('model: send the name of a model, a string')
  const given = toolsIn(sent)
  const body = withStoredItems(sent, stored)
  const state = serverStateIn(body)
  if (state !== undefined) return forwardedOnly(body, toolTable(given, []), state)
  const items = itemsIn(body)
  refuseTooMany('input', items.length)
  const added = addedTools(items)
  const table = toolTable(added.leading.length > 0 ? [...given, ...added.leading] : given, added.later)
  const choice = toolChoiceIn(body, table)
  const { system, messages } = fromItems(items, table)
  if (messages.length === 0)
    throw invalidRequest('input: there is nothing to answer; send a message with text')
  const instructions = [textOf(body.instructions), ...system].filter((text) => text !== '').join('\n\n')
  return {
    request: { model, ...settingsOf(body, instructions, table, choice), messages },
    terms: {
      ...termsOf({ ...body, instructions: instructions === '' ? undefined : instructions }, table),
      barred: choice.barred,
    },
    unconvertible: unconvertibleIn(body, items) ?? choice.unconvertible,
    needsOwnApi: ownPartIn(table, items),
    optional: [...table.hosted].filter((type) => OPTIONAL.test(type)).join(', '),
    hidesSearches: table.hidesSearches,
    cannotPass: body !== sent,
    reply: () => createResponsesWriter({ body, model, table, stored }),
  }
}

/** A request that is not converted, because only OpenAI knows all of its conversation. */
function forwardedOnly(body: Fields, table: ToolTable, state: ServerState): InboundRequest {
  const model = textOf(body.model)
  const request = {
    model,
    ...(body.stream === true ? { stream: true } : {}),
    tools: table.list,
    messages: [],
  }
  return {
    request,
    terms: termsOf(body, table),
    ...state,
    reply: () => createResponsesWriter({ body, model, table }),
  }
}

function toolsIn({ tools }: Fields): readonly Fields[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools) || !tools.every(isFields)) throw invalidRequest('tools: send a list of objects')
  return tools
}

function itemsIn({ input }: Fields): readonly Fields[] {
  if (typeof input === 'string' && input !== '') return [{ type: 'message', role: 'user', content: input }]
  if (!Array.isArray(input) || input.length === 0 || !input.every(isFields))
    throw invalidRequest('input: send a text, or a list of items that is not empty')
  const at = input.findIndex((item) => typeOf(item) === '')
  if (at >= 0) throw invalidRequest(`input[${at}].type: an item has no type; send one, such as "message"`)
  return input
}

/** Replaces references to items that this gateway remembers; the others stay. */
function withStoredItems(body: Fields, stored: StoredItems | undefined): Fields {
  if (!stored || !Array.isArray(body.input)) return body
  const input = body.input.map((given: unknown) => {
    const item = fieldsOf(given)
    return isItemReference(item) ? (stored.get(textOf(item.id)) ?? given) : given
  })
  return input.every((item, index) => item === listOf(body.input)[index]) ? body : { ...body, input }
}

const WHOLE = 'Send the whole conversation in "input" with "store": false'

const FORGOTTEN =
  'This gateway does not know the item: it remembers recent items of its own replies, for the key that asked, until it restarts'

type ServerState = { readonly unconvertible: string; readonly remedy: string }

/** What needs a conversation or an item that OpenAI has stored: only OpenAI can answer such a request. */
function serverStateIn(body: Fields): ServerState | undefined {
  const field = ['previous_response_id', 'conversation', 'prompt'].find((name) => isGiven(body[name]))
  if (field) return { unconvertible: field, remedy: WHOLE }
  if (body.background === true) return { unconvertible: 'background', remedy: 'Send the request without it' }
  const items = listOf(body.input).map(fieldsOf)
  const reference = items.findIndex(isItemReference)
  if (reference >= 0)
    return {
      unconvertible: `input[${reference}]: the item_reference "${textOf(items[reference]?.id).slice(0, 80)}"`,
      remedy: `${FORGOTTEN}. ${WHOLE}`,
    }
  const compaction = items.findIndex(({ type }) => COMPACTED.test(textOf(type)))
  if (compaction < 0) return undefined
  const remedy = 'Send a summary of the conversation as a message'
  return { unconvertible: `input[${compaction}]: ${textOf(items[compaction]?.type)}`, remedy }
}

const COMPACTED = /^(?:compaction|compaction_trigger|compaction_summary|context_compaction)$/

function isItemReference({ type, id, role }: Fields): boolean {
  if (type === 'item_reference') return true
  return (type === undefined || type === null) && role === undefined && typeof id === 'string'
}

const FORMATS = new Set<unknown>(['text', 'json_object', 'json_schema'])

/** What a converted reply cannot express. */
function unconvertibleIn(
  { top_logprobs: logprobs, include, text }: Fields,
  items: readonly Fields[],
): string | undefined {
  const { type = 'text', schema } = fieldsOf(fieldsOf(text).format)
  if (!FORMATS.has(type)) return `text.format: the type "${textOf(type).slice(0, 40)}"`
  if (type === 'json_schema' && !isFields(schema)) return 'text.format: a json_schema without a schema'
  if (Number(logprobs) > 0 || listOf(include).includes('message.output_text.logprobs')) return 'top_logprobs'
  const isApproval = items.some(({ type }) => type === 'mcp_approval_response')
  if (isApproval) return 'mcp_approval_response, the answer to a tool that only OpenAI runs'
  const isEncrypted = ({ content }: Fields) =>
    listOf(content).some((part) => fieldsOf(part).type === 'encrypted_content')
  const at = items.findIndex(isEncrypted)
  return at < 0 ? undefined : `input[${at}]: content that only OpenAI can read`
}

/** Tools of OpenAI's that clients such as Codex offer to every model. */
const OPTIONAL = /^(?:web_search\w*|image_generation)$/

/** What only OpenAI runs or reads, and no other model could do without. */
function ownPartIn({ hosted }: ToolTable, items: readonly Fields[]): string | undefined {
  const tool = [...hosted].find((type) => !OPTIONAL.test(type))
  if (tool !== undefined) return `tools: a tool of type "${tool.slice(0, 60)}"`
  const at = items.findIndex(holdsResult)
  return at < 0 ? undefined : `input[${at}]: an item of type "${textOf(items[at]?.type)}"`
}

/** Tools that items define: at the start they are tools like all others, later they are what a search found. */
function addedTools(items: readonly Fields[]) {
  const start = startOf(items)
  const toolsOf = ({ tools }: Fields) => listOf(tools).map(fieldsOf)
  const leading = items.slice(0, start).filter((item) => typeOf(item) === 'additional_tools')
  const later = items
    .slice(start)
    .filter(({ type }) => type === 'additional_tools' || type === 'tool_search_output')
  return { leading: leading.flatMap(toolsOf), later: later.flatMap(toolsOf) }
}

function settingsOf(body: Fields, instructions: string, table: ToolTable, choice: ToolChoice): Fields {
  const format = fieldsOf(fieldsOf(body.text).format)
  const jsonOnly = format.type === 'json_object' ? JSON_ONLY : ''
  const system = [instructions, jsonOnly, namespaceNote(table)].filter((text) => text !== '').join('\n\n')
  return {
    ...limitedSamplingOf(body),
    ...withFormat(thinkingOf(body), format.type, format.schema),
    ...(system === '' ? {} : { system }),
    ...(table.list.length > 0 ? { tools: table.list, ...choice.field } : {}),
    ...(body.stream === true ? { stream: true } : {}),
  }
}

const MAX_NOTE_LENGTH = 2000

/** OpenAI shows the description of each namespace once; so does this note, rather than each tool's description. */
function namespaceNote({ namespaces }: ToolTable): string {
  const lines = [...namespaces]
    .filter(([name, text]) => text.trim() !== '' && text.trim() !== `Tools in the ${name} namespace.`)
    .map(([name, text]) => `- ${name}: ${text.trim().slice(0, MAX_NOTE_LENGTH)}`)
  return lines.length === 0 ? '' : `Groups of tools, by the start of their names:\n${lines.join('\n')}`
}

function thinkingOf({ reasoning }: Fields): Fields {
  const { effort } = fieldsOf(reasoning)
  const isShown = asksForSummary(reasoning)
  const fields = toThinking(textOf(effort) || (isShown ? 'default' : undefined))
  if (!isShown || fieldsOf(fields.thinking).type !== 'adaptive') return fields
  return { ...fields, thinking: { type: 'adaptive', display: 'summarized' } }
}

function limitedSamplingOf(body: Fields): Fields {
  const { max_output_tokens: maxTokens } = body
  const sampling = samplingOf(body, maxTokens)
  if (isGiven(maxTokens) && !(Number.isInteger(maxTokens) && Number(maxTokens) > 0))
    throw invalidRequest(`max_output_tokens: ${String(maxTokens)} is not a whole number above 0`)
  return sampling
}

/** Fields that are converted without loss or belong to the conversation; every other field is a setting of OpenAI's. */
const CONVERTED = [
  ...['model', 'input', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'store'],
  ...['previous_response_id', 'conversation', 'prompt', 'background'],
]

/** The instructions replace the system prompt, whose note on namespaces OpenAI's own definitions make superfluous. */
function termsOf(body: Fields, { native }: ToolTable): ClientTerms {
  return { api: 'responses', settings: omitFields(body, ...CONVERTED), tools: native }
}
