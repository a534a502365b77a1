// Converts a chat completion request to the Messages shape.
import {
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  omitFields,
  oncePerFrozen,
  textOf,
} from '@toolshelf/core/internal'
import { invalidRequest } from '../errors.ts'
import type { ClientTerms, MessagesRequest } from '../types.ts'
import { createChatWriter } from './chat-reply.ts'
import { FREEFORM_FIELD, fromFreeform } from './freeform.ts'
import {
  areFields,
  callInput,
  fileSource,
  fromFunction,
  fromToolChoice,
  insideName,
  isGiven,
  JSON_ONLY,
  mediaSource,
  messageOf,
  oncePerRun,
  refuseTooMany,
  reminderOf,
  samplingOf,
  startedByUser,
  type ToolChoice,
  textBlocks,
  toThinking,
  withFormat,
  wrongChoice,
} from './openai.ts'
import type { InboundRequest } from './types.ts'

/** Converts a request; throws a refusal if it is malformed. */
export function readChatRequest(body: Fields): InboundRequest {
  const { model, messages, stream } = body
  if (typeof model !== 'string' || !areFields(messages))
    throw invalidRequest('a request needs "model", a string, and "messages", a list of objects')
  if (body.tools !== undefined && body.tools !== null && !areFields(body.tools))
    throw invalidRequest('tools: send a list of objects')
  refuseTooMany('messages', countOf(listOf(messages) as readonly Fields[]))
  const tools = fromChatTools(listOf(body.tools) as readonly Fields[])
  const choice = toolChoiceIn(body, tools)
  const request = toMessagesRequest(body, tools, choice)
  const options = {
    model,
    isStream: stream === true,
    includesUsage: fieldsOf(body.stream_options).include_usage === true,
    freeform: tools.freeform,
    nameOf: (name: string) => tools.names.get(name) ?? name,
  }
  return {
    request,
    terms: { ...termsOf(body, tools), barred: choice.barred },
    unconvertible: unconvertibleIn(body, tools),
    hidesSearches: tools.hasSearch,
    reply: () => createChatWriter(options),
  }
}

function toMessagesRequest(body: Fields, { list }: ChatTools, { field }: ToolChoice): MessagesRequest {
  const { system, messages } = fromChatMessages(listOf(body.messages) as readonly Fields[])
  const format = fieldsOf(body.response_format)
  const instructions = [system, format.type === 'json_object' ? JSON_ONLY : ''].filter(Boolean).join('\n\n')
  return {
    model: textOf(body.model),
    ...samplingOf(body, body.max_completion_tokens ?? body.max_tokens, stopsIn(body)),
    ...(body.stream === true ? { stream: true } : {}),
    ...withFormat(toThinking(effortOf(body)), format.type, fieldsOf(format.json_schema).schema),
    ...(instructions === '' ? {} : { system: instructions }),
    ...(list.length > 0 ? { tools: list, ...field } : {}),
    messages,
  }
}

function stopsIn({ stop }: Fields): readonly unknown[] {
  const stops = isGiven(stop) ? [stop].flat() : []
  if (stops.every((one) => typeof one === 'string')) return stops
  throw invalidRequest('stop: send a text or a list of texts')
}

/** The effort, as OpenAI, OpenRouter, or servers with a `thinking` switch spell it. */
function effortOf({ reasoning_effort: effort, reasoning, thinking }: Fields): string | undefined {
  const nested = fieldsOf(reasoning)
  if (fieldsOf(thinking).type === 'disabled' || nested.enabled === false) return 'none'
  const isOn = fieldsOf(thinking).type === 'enabled' || nested.enabled === true || isGiven(nested.max_tokens)
  return textOf(effort) || textOf(nested.effort) || (isOn ? 'medium' : undefined)
}

/** A request's tools, converted. */
type ChatTools = ReturnType<typeof fromChatTools>

/** The search tools of OpenRouter, orq.ai, OpenAI and Anthropic, as they are written in a list of chat tools. */
const SEARCH = /^(?:[\w-]+:)?tool_search(?:_tool_(?:regex|bm25)(?:_\d+)?)?$/

const fromChatTools = oncePerFrozen((tools: readonly Fields[]) => {
  const hasSearch = tools.some(({ type }) => SEARCH.test(textOf(type)))
  const own = tools.filter(({ type }) => type === undefined || type === 'function' || type === 'custom')
  const hosted = tools.filter((tool) => !own.includes(tool) && !SEARCH.test(textOf(tool.type)))
  const list: readonly Fields[] = Object.freeze(own.map(fromChatTool))
  const functions = own.filter(({ type }) => type !== 'custom')
  return {
    list,
    /** The client's own definitions of functions by name inside the gateway. */
    native: new Map(functions.map((tool) => [nameInside(tool), tool])),
    /** The client's names by those inside the gateway. */
    names: new Map(own.map((tool) => [nameInside(tool), textOf(definitionIn(tool).name)])),
    freeform: new Set(own.filter(({ type }) => type === 'custom').map(nameInside)),
    /** The client expects the gateway to search its deferred tools. */
    hasSearch,
    /** Types of tools that only the provider could run. */
    hosted: hosted.map(({ type }) => textOf(type)),
  }
})

function nameInside(tool: Fields): string {
  return insideName(textOf(definitionIn(tool).name))
}

function definitionIn(tool: Fields): Fields {
  return fieldsOf(tool.type === 'custom' ? tool.custom : tool.function)
}

const fromChatTool = oncePerFrozen((tool: Fields): Fields => {
  const definition = definitionIn(tool)
  const { name } = definition
  if (textOf(name) === '') throw invalidRequest('tools: a function has no name')
  const isDeferred = tool.defer_loading === true || definition.defer_loading === true
  return Object.freeze({
    name: insideName(textOf(name)),
    ...(tool.type === 'custom' ? fromFreeform(definition) : fromFunction(definition)),
    ...(isDeferred ? { defer_loading: true } : {}),
    ...(isFields(tool.cache_control) ? { cache_control: tool.cache_control } : {}),
  })
})

/** Converts `tool_choice`. Mistral's name for `required` is `any`. */
function toolChoiceIn(body: Fields, { list }: ChatTools): ToolChoice {
  const { tool_choice: given } = body
  const { type, allowed_tools: allowed } = fieldsOf(given)
  if (isGiven(given) && given !== 'auto' && given !== 'none' && list.length === 0)
    throw wrongChoice('there are no tools')
  const nested = type === 'allowed_tools' ? { ...fieldsOf(allowed), type } : given
  const choice = nested === 'any' ? 'required' : nested
  const has = (name: string) => list.some((tool) => tool.name === name)
  return fromToolChoice({ ...body, tool_choice: choice }, { list, nameIn, has })
}

function nameIn(tool: Fields): string {
  return insideName(textOf(fieldsOf(tool.function ?? tool.custom).name) || textOf(tool.name))
}

/** Fields that are converted or belong to the conversation; every other field is a setting of the server. */
const CONVERTED = [
  'model',
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'stream',
  'stream_options',
]

function termsOf(body: Fields, { native }: ChatTools): ClientTerms {
  return { api: 'chat', settings: omitFields(body, ...CONVERTED), tools: native }
}

/** What a converted reply cannot express; such a request is only forwarded. */
function unconvertibleIn(body: Fields, { hosted }: ChatTools): string | undefined {
  const { n, logprobs, modalities, audio, functions, function_call: call } = body
  if (isGiven(n) && n !== 1) return `n: ${String(n).slice(0, 20)} replies`
  if (logprobs === true) return 'logprobs'
  const format = unknownFormat(body.response_format)
  if (format !== undefined) return `response_format: ${format}`
  if (isGiven(audio) || listOf(modalities).some((kind) => kind !== 'text')) return 'audio output'
  if (isGiven(functions) || isGiven(call)) return 'functions, the retired form of tools'
  if (isGiven(body.web_search_options)) return 'web_search_options'
  return hosted.length > 0 ? `a tool of type ${hosted[0]?.slice(0, 60)}` : undefined
}

/** A format of replies that no other API has, or that lacks its schema. */
function unknownFormat(format: unknown): string | undefined {
  const { type, json_schema: schema } = fieldsOf(format)
  if (!isGiven(format) || type === 'text' || type === 'json_object') return undefined
  if (type !== 'json_schema') return `the type "${textOf(type).slice(0, 40)}"`
  return isFields(fieldsOf(schema).schema) ? undefined : 'a json_schema without a schema'
}

function countOf(messages: readonly Fields[]): number {
  return messages.reduce((sum, { tool_calls: calls }) => sum + 1 + listOf(calls).length, 0)
}

/**
 * Converts the history. System messages at its start become the system prompt. Later ones follow the user message of
 * their turn, where the Messages API accepts them; in a turn without one they become a reminder in a user message.
 */
function fromChatMessages(history: readonly Fields[]) {
  const start = history.findIndex((message) => !isSystem(message))
  const leading = history.slice(0, start < 0 ? Math.max(0, history.length - 1) : start)
  const messages: Fields[] = []
  /** Results of the preceding calls, which form one message. */
  let results: Fields[] = []
  let remarks: Fields[] = []
  const push = (message: Fields | undefined) => message && messages.push(message)
  const endResults = () => {
    if (results.length > 0) push(resultMessage(results, CHAT))
    results = []
  }
  const endRemarks = () => {
    const isAfterUser = messages.at(-1)?.role === 'user'
    if (remarks.length > 0) push((isAfterUser ? systemMessage : reminder)(remarks, CHAT))
    remarks = []
  }
  for (const message of history.slice(leading.length)) {
    if (message.role === 'tool') {
      results.push(message)
      continue
    }
    endResults()
    if (message.role === 'assistant') endRemarks()
    if (isSystem(message)) remarks.push(message)
    else push(fromChatMessage(message))
  }
  endResults()
  endRemarks()
  return { system: textsOf(leading), messages: startedByUser(messages) }
}

function isSystem({ role }: Fields): boolean {
  return role === 'system' || role === 'developer'
}

function textsOf(messages: readonly Fields[]): string {
  const texts = messages.map(({ content }) => plainText(content))
  return texts.filter((text) => text !== '').join('\n\n')
}

/** The converter to which the remembered messages belong. */
const CHAT = {}

const resultMessage = oncePerRun((run) => messageOf('user', run.map(fromResult)))

const systemMessage = oncePerRun((run) =>
  messageOf(
    'system',
    run.flatMap(({ content }) => fromParts(content)),
  ),
)

const reminder = oncePerRun((run) => reminderOf(textsOf(run)))

/** Converts a message; undefined if it says nothing, because no API accepts an empty one. */
const fromChatMessage = oncePerFrozen((message: Fields): Fields | undefined => {
  const { role, content } = message
  switch (role) {
    case 'user':
      return messageOf('user', spokenBy(message.name, fromParts(content)))
    case 'assistant':
      return messageOf('assistant', [...fromParts(message.content ?? message.refusal), ...callsIn(message)])
    default:
      throw invalidRequest(
        `messages: a message has the role "${String(role).slice(0, 40)}"; send user, assistant, system, developer or tool`,
      )
  }
})

/** Says who of several users speaks. */
function spokenBy(name: unknown, parts: Fields[]): Fields[] {
  return textOf(name) === '' || parts.length === 0
    ? parts
    : [{ type: 'text', text: `${textOf(name)}:` }, ...parts]
}

const fromResult = oncePerFrozen(({ tool_call_id: id, content }: Fields): Fields => {
  if (typeof id !== 'string')
    throw invalidRequest(
      'messages: a message of the role "tool" has no tool_call_id; send the id of the call that it answers',
    )
  const blocks = fromParts(content)
  return Object.freeze({
    type: 'tool_result',
    tool_use_id: id,
    ...(blocks.length > 0 ? { content: blocks } : {}),
  })
})

function callsIn({ tool_calls: calls }: Fields): Fields[] {
  return listOf(calls)
    .map(fieldsOf)
    .map(({ id, type, function: called, custom }) => {
      const { name, arguments: json, input } = fieldsOf(type === 'custom' ? custom : called)
      const given = type === 'custom' ? { [FREEFORM_FIELD]: textOf(input) } : callInput(json)
      return { type: 'tool_use', id: textOf(id), name: insideName(textOf(name)), input: given }
    })
}

/** Converts content: a text, or a list of parts. */
function fromParts(content: unknown): Fields[] {
  return typeof content === 'string' ? textBlocks(content) : listOf(content).map(fieldsOf).flatMap(fromPart)
}

const PARTS: { readonly [type: string]: (part: Fields) => Fields[] } = {
  text: ({ text, cache_control: mark }) =>
    textOf(text) === '' ? [] : [{ type: 'text', text, ...(mark ? { cache_control: mark } : {}) }],
  refusal: ({ refusal }) => textBlocks(refusal),
  image_url: ({ image_url: image }) => [
    { type: 'image', source: mediaSource(textOf(fieldsOf(image).url) || textOf(image)) },
  ],
  file: ({ file }) => [fromFile(fieldsOf(file))],
  tool_reference: ({ tool_name: name, name: other }) => [
    { type: 'tool_reference', tool_name: insideName(textOf(name) || textOf(other)) },
  ],
}

function fromPart(part: Fields): Fields[] {
  const type = textOf(part.type)
  const convert = Object.hasOwn(PARTS, type) ? PARTS[type] : undefined
  if (!convert)
    throw invalidRequest(
      `messages: a content part of type "${type.slice(0, 40)}" cannot be converted for this upstream; send text, image_url or file`,
    )
  return convert(part)
}

function fromFile({ file_data: data, filename, file_id: id }: Fields): Fields {
  if (typeof data !== 'string')
    throw invalidRequest(
      `messages: a file is given by its id (${textOf(id).slice(0, 60)}), and this upstream has no files of yours; send file_data with the content`,
    )
  const title = textOf(filename) === '' ? {} : { title: filename }
  return { type: 'document', source: fileSource(data), ...title }
}

function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(fieldsOf(part).text))
    .filter(Boolean)
    .join('\n\n')
}
