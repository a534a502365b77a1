// Converts the items of a Responses request to messages. Items of the model up to the next one of the client form one
// assistant message; the outputs of its calls follow in one user message, as the Messages API wants them.
import { type Fields, fieldsOf, hash, listOf, parseJson, textOf, toJson } from '@toolshelf/core/internal'
import { invalidRequest } from '../errors.ts'
import { callItemsIn, toolTypeOf } from '../upstream/native-tools.ts'
import { isKeptThought, itemIn, keepItem } from '../upstream/thoughts.ts'
import {
  callInput,
  fileSource,
  mediaSource,
  messageOf,
  oncePerRun,
  reminderOf,
  startedByUser,
  textBlocks,
} from './openai.ts'
import { HOSTED_SEARCH, namesIn, type ToolTable } from './responses-tools.ts'

/** Returns an item's type; messages may omit it. */
export function typeOf({ type, role }: Fields): string {
  return textOf(type) || (role === undefined ? '' : 'message')
}

function isSystem(item: Fields): boolean {
  return typeOf(item) === 'message' && (item.role === 'system' || item.role === 'developer')
}

/** Returns the index of the first item after the leading system messages and tools. */
export function startOf(items: readonly Fields[]): number {
  const start = items.findIndex((item) => !isSystem(item) && typeOf(item) !== 'additional_tools')
  return start < 0 ? items.length : start
}

export function fromItems(items: readonly Fields[], table: ToolTable) {
  const start = startOf(items)
  const leading = items.slice(0, start).filter(isSystem)
  // A conversation needs something to answer.
  const spoken = start === items.length ? leading.slice(-1).map((item) => ({ ...item, role: 'user' })) : []
  const history = createHistory(outputsIn(items), table)
  for (const item of [...spoken, ...items.slice(start)]) history.add(item)
  const system = spoken.length > 0 ? leading.slice(0, -1) : leading
  return {
    /** The texts of system and developer messages at the start. */
    system: system.map(plainText).filter((text) => text !== ''),
    messages: startedByUser(history.end()),
  }
}

function plainText({ content }: Fields): string {
  return fromParts(content)
    .map(({ text }) => textOf(text))
    .filter((text) => text !== '')
    .join('\n\n')
}

type Output = { readonly item: Fields; readonly at: number }

/** The outputs of calls by the id of their call. */
function outputsIn(items: readonly Fields[]): Map<string, Output> {
  const outputs = new Map<string, Output>()
  for (const [at, item] of items.entries()) {
    if (!isOutput(item)) continue
    const id = callIdOf(item)
    if (id === '')
      throw invalidRequest(`input[${at}]: a ${typeOf(item)} has no call_id; send the one of its call`)
    if (!outputs.has(id)) outputs.set(id, { item, at })
  }
  return outputs
}

function isOutput(item: Fields): boolean {
  return /_output$/.test(typeOf(item)) && !isModelItem(item)
}

/** Older items have only one id. */
function callIdOf({ call_id: callId, id }: Fields): string {
  return textOf(callId) || textOf(id)
}

function createHistory(outputs: ReadonlyMap<string, Output>, table: ToolTable) {
  const messages: Fields[] = []
  const answered = new Set<string>()
  /** Items of the model since the client last spoke. */
  let run: Fields[] = []
  /** System messages since the model last spoke: the Messages API takes them only after the user's. */
  let remarks: Fields[] = []
  let additions = 0
  const searches = new Set<string>()
  /** Searches of the run without an output so far. */
  let unanswered = 0

  const push = (...given: (Fields | undefined)[]) => {
    for (const message of given) if (message) messages.push(message)
  }
  const outputOf = (call: Fields): Output => {
    const id = callIdOf(call)
    const output = outputs.get(id)
    if (!output)
      throw invalidRequest(`input: no output for the call "${id.slice(0, 80)}"; send one after the call`)
    if (answered.has(id)) throw invalidRequest(`input: two calls have the call_id "${id.slice(0, 80)}"`)
    answered.add(id)
    return output
  }
  const endRun = () => {
    const results = run.filter(isClientCall).map(outputOf)
    const outputsInOrder = results.sort((one, other) => one.at - other.at).map(({ item }) => item)
    push(assistantMessage(run, table), resultMessage(outputsInOrder, table))
    run = []
    unanswered = 0
  }
  /** Notes searches, and adds the call of an output that has none, because APIs refuse a result without a call. */
  const noteSearch = (item: Fields) => {
    const id = searchIdOf(item)
    if (item.type === 'tool_search_call') {
      searches.add(id)
      unanswered++
    } else if (unanswered > 0) unanswered--
    else if (!searches.has(id)) run.push({ type: 'tool_search_call', id })
  }
  const endRemarks = () => {
    push(messages.at(-1)?.role === 'user' ? systemMessage(remarks, table) : reminder(remarks, table))
    remarks = []
  }
  /** Tools added in the middle: as if the model had searched for them, so that the list of tools stays as it was. */
  const addTools = ({ tools }: Fields) => {
    const names = namesIn(listOf(tools), table)
    if (names.length === 0) return
    const id = `additional_tools_${++additions}`
    const call = { type: 'tool_use', id, name: table.searchName ?? 'tool_search', input: {} }
    const content = names.map((name) => ({ type: 'tool_reference', tool_name: name }))
    push(
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
    )
  }

  return {
    add(item: Fields) {
      if (isModelItem(item)) {
        if (run.length === 0) endRemarks()
        if (isServerSearch(item)) noteSearch(item)
        run.push(item)
        return
      }
      endRun()
      if (isSystem(item)) remarks.push(item)
      else if (typeOf(item) === 'additional_tools') {
        endRemarks()
        addTools(item)
      } else if (!isOutput(item)) push(userMessage([item], table))
    },
    end() {
      endRun()
      endRemarks()
      for (const [id, { at }] of outputs)
        if (!answered.has(id))
          throw invalidRequest(`input[${at}]: there is no call for the call_id "${id.slice(0, 80)}"`)
      return messages
    },
  }
}

const assistantMessage = oncePerRun((run, table: ToolTable) =>
  messageOf('assistant', assistantBlocks(run, table)),
)

const resultMessage = oncePerRun((outputs, table: ToolTable) =>
  messageOf(
    'user',
    outputs.map((item) => resultBlock(item, callIdOf(item), table)),
  ),
)

const userMessage = oncePerRun((run, _: ToolTable) => messageOf('user', run.flatMap(userBlocks)))

const systemMessage = oncePerRun((run, _: ToolTable) =>
  messageOf(
    'system',
    run.flatMap(({ content }) => fromParts(content)),
  ),
)

const reminder = oncePerRun((run, _: ToolTable) => {
  const text = run.map(plainText).filter(Boolean).join('\n\n')
  return reminderOf(text)
})

function userBlocks(item: Fields): Fields[] {
  const type = typeOf(item)
  if (type === 'message' && item.role === 'user') return fromParts(item.content)
  if (type === 'agent_message') return fromParts(item.content)
  throw invalidRequest(
    type === 'message'
      ? `input: a message has the role "${String(item.role).slice(0, 40)}"; send user, assistant, system or developer`
      : `input: an item of type "${type.slice(0, 60)}" cannot be converted for this upstream; leave it out`,
  )
}

/** Items of tools that OpenAI runs itself. */
const HOSTED_ITEM =
  /^(?:(?:web_search|file_search|code_interpreter|image_generation|computer)_call(?:_output)?|mcp_\w+|program(?:_output)?)$/

/** Returns whether an item has results of a tool that OpenAI ran; those of a web search are in the words after it. */
export function holdsResult({ type }: Fields): boolean {
  return (
    HOSTED_ITEM.test(textOf(type)) &&
    !/^(?:web_search_call|mcp_list_tools|mcp_approval_\w+)$/.test(textOf(type))
  )
}

/** Returns whether an item is a search that ran on the server, or what one found. */
function isServerSearch({ type, execution }: Fields): boolean {
  return (type === 'tool_search_call' || type === 'tool_search_output') && execution !== 'client'
}

/** Returns whether an item is one of the model's, rather than the client's. */
function isModelItem(item: Fields): boolean {
  const type = textOf(item.type)
  if (type === 'message' || type === '') return item.role === 'assistant'
  return type === 'reasoning' || isClientCall(item) || isServerSearch(item) || HOSTED_ITEM.test(type)
}

function isClientCall(item: Fields): boolean {
  const type = textOf(item.type)
  if (type === 'tool_search_call') return !isServerSearch(item)
  return type === 'function_call' || (type.endsWith('_call') && callItemsIn(type) !== undefined)
}

/** Returns the blocks of one turn of the model. */
function assistantBlocks(run: readonly Fields[], table: ToolTable): Fields[] {
  const searches: OpenSearches = new Map()
  const blocks = run.flatMap((item): Fields[] => {
    switch (item.type) {
      case 'message':
      case undefined:
        return fromParts(item.content)
      case 'reasoning':
        return listed(fromReasoning(item))
      case 'function_call':
        return [functionBlock(item, table)]
      case 'tool_search_call':
        return [
          isClientCall(item)
            ? callBlock(item, table.searchName ?? 'tool_search', callInput(item.arguments))
            : searchBlock(item, searches),
        ]
      case 'tool_search_output':
        return foundBlocks(item, searches, table)
      default:
        return [otherBlock(item, table)]
    }
  })
  // APIs refuse a reply that ends with thinking.
  const end = blocks.findLastIndex((block) => !isThought(block))
  return blocks.slice(0, end + 1)
}

/** An item of a hosted tool is kept as a block of thinking, but is none. */
function isThought(block: Fields): boolean {
  const { type } = itemIn(block) ?? block
  return type === 'thinking' || type === 'redacted_thinking' || type === 'reasoning'
}

function listed(block: Fields | undefined): Fields[] {
  return block ? [block] : []
}

function functionBlock(item: Fields, table: ToolTable): Fields {
  return callBlock(
    item,
    table.insideName(textOf(item.namespace), textOf(item.name)),
    callInput(item.arguments),
  )
}

function callBlock({ call_id: callId, id }: Fields, name: string, input: Fields): Fields {
  return { type: 'tool_use', id: textOf(callId) || textOf(id), name, input }
}

/** A call of a freeform or shell tool. Items of hosted tools are kept for an upstream of OpenAI's. */
function otherBlock(item: Fields, table: ToolTable): Fields {
  const items = callItemsIn(textOf(item.type))
  if (!items) return keepItem(item)
  const name = textOf(item.name) || toolTypeOf(items)
  return callBlock(item, table.insideName(textOf(item.namespace), name), items.toInput(item))
}

/** How many searches of a turn await their output, by the id of their block; the earliest first. */
type OpenSearches = Map<string, number>

/** The search that an output answers: its own, or the earliest, because some clients drop the ids. */
function answeredBy(own: string, searches: OpenSearches): string {
  const id = searches.has(own) ? own : (searches.keys().next().value ?? own)
  const left = (searches.get(id) ?? 0) - 1
  if (left > 0) searches.set(id, left)
  else searches.delete(id)
  return id
}

/** A search that ran on the server. */
function searchBlock(item: Fields, searches: OpenSearches): Fields {
  const id = searchIdOf(item)
  searches.set(id, (searches.get(id) ?? 0) + 1)
  const input = callInput(item.arguments)
  // OpenAI's searches list paths of tools, ours have a query.
  const query = textOf(input.query) || listOf(input.paths).filter(Boolean).join(' ')
  return { type: 'server_tool_use', id, name: HOSTED_SEARCH.name, input: { ...input, query } }
}

/** The id of a search's block. Both of its items end in the same characters; some clients drop the ids. */
function searchIdOf(item: Fields): string {
  const id = (textOf(item.call_id) || textOf(item.id)).replace(/^(?:ts[co]|srvtoolu)_/, '')
  return `srvtoolu_${(id === '' ? hash(toJson(item.arguments ?? item.tools)) : id).replace(/\W/g, '_')}`
}

function foundBlocks(item: Fields, searches: OpenSearches, table: ToolTable): Fields[] {
  const id = answeredBy(searchIdOf(item), searches)
  const references = namesIn(listOf(item.tools), table).map((name) => ({
    type: 'tool_reference',
    tool_name: name,
  }))
  const content =
    item.status === 'incomplete' && references.length === 0
      ? { type: 'tool_search_tool_result_error', error_code: 'unavailable', error_message: null }
      : { type: 'tool_search_tool_search_result', tool_references: references }
  return [{ type: 'tool_search_tool_result', tool_use_id: id, content }]
}

function resultBlock(item: Fields, id: string, table: ToolTable): Fields {
  const { content, isError = false } = resultOf(item, table)
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content.length === 0 ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
  }
}

type Result = { readonly content: string | readonly Fields[]; readonly isError?: boolean }

function resultOf(item: Fields, table: ToolTable): Result {
  if (item.type === 'tool_search_output') {
    const names = namesIn(listOf(item.tools), table)
    if (names.length === 0) return { content: 'No tools were found.' }
    return { content: names.map((name) => ({ type: 'tool_reference', tool_name: name })) }
  }
  const { content, isError } = callItemsIn(textOf(item.type))?.toResult(item) ?? { content: item.output }
  const { content: inner, success } = fieldsOf(content)
  const given = inner ?? content
  return {
    content: typeof given === 'string' ? given : fromParts(given),
    isError: isError === true || success === false,
  }
}

/** Converts a text or a list of parts; `place` names it in errors. */
export function fromParts(content: unknown): Fields[] {
  if (typeof content === 'string') return textBlocks(content)
  return listOf(content)
    .map(fieldsOf)
    .flatMap((part) => fromPart(part))
}

function fromPart(part: Fields): Fields[] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text':
      return textBlocks(part.text)
    case 'refusal':
      return textBlocks(part.refusal)
    case 'input_image':
    case 'computer_screenshot':
      return [{ type: 'image', source: imageSource(part) }]
    case 'input_file':
      return [fromFile(part)]
    case 'encrypted_content':
      // Only OpenAI can read it.
      return []
    default:
      throw invalidRequest(
        `input: a content part of type "${textOf(part.type).slice(0, 40)}" cannot be converted for this upstream; send input_text, input_image or input_file`,
      )
  }
}

function imageSource({ image_url: given, file_id: id }: Fields): Fields {
  const url = textOf(given) || textOf(fieldsOf(given).url)
  if (url === '') throw byId('image', id, 'image_url with a URL or a data URL')
  return mediaSource(url)
}

function fromFile({ file_data: data, file_url: url, file_id: id, filename }: Fields): Fields {
  const title = textOf(filename) === '' ? {} : { title: filename }
  if (textOf(url) !== '') return { type: 'document', source: { type: 'url', url }, ...title }
  const text = textOf(data)
  if (text === '') throw byId('file', id, 'file_data with the content')
  const source = fileSource(text)
  return { type: 'document', source: textSource(source) ?? source, ...title }
}

/** The Messages API takes text as text; only PDF files are sent as base64. */
function textSource({ media_type: type, data }: Fields): Fields | undefined {
  if (!textOf(type).startsWith('text/')) return undefined
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(textOf(data), 'base64').toString() }
}

function byId(what: string, id: unknown, expected: string) {
  const message = `input: the ${what} "${textOf(id).slice(0, 60)}" is given by its id, and the gateway has no files of yours; send ${expected}`
  return invalidRequest(message)
}

/** Starts the encrypted content that holds a block of another API. */
const BLOCK = 'toolshelf-thinking.'

/** Returns whether a request's `reasoning` asks to see a summary of the thinking. */
export function asksForSummary(reasoning: unknown): boolean {
  const { summary, generate_summary: older } = fieldsOf(reasoning)
  const asked = textOf(summary) || textOf(older)
  return asked !== '' && asked !== 'none'
}

/** Returns the thinking block in a reasoning item; undefined if the item has nothing that a model could take back. */
function fromReasoning(item: Fields): Fields | undefined {
  const encrypted = textOf(item.encrypted_content)
  if (encrypted === '') return undefined
  if (encrypted.startsWith(BLOCK)) return decoded(encrypted.slice(BLOCK.length))
  const block = { type: 'thinking', thinking: summaryText(item), signature: encrypted }
  return isKeptThought(block) ? block : keepItem(item)
}

function decoded(text: string): Fields | undefined {
  const value = parseJson(Buffer.from(text, 'base64url').toString())
  const { type, thinking, signature, data } = fieldsOf(value)
  if (type === 'redacted_thinking' && typeof data === 'string') return { type, data }
  if (type !== 'thinking' || typeof thinking !== 'string' || typeof signature !== 'string') return undefined
  return { type, thinking, signature }
}

/** The parts of a summary are joined as the Responses upstream joins them. */
function summaryText({ summary }: Fields): string {
  return listOf(summary)
    .map((part) => textOf(fieldsOf(part).text))
    .join('\n\n')
}

/**
 * The encrypted content for a block. It is given even if `include` does not ask for it: nothing is stored here, so a
 * client that sends the item back has no other way to return the reasoning.
 */
export function encryptedContent(block: Fields, isShown: boolean): string {
  // A signature that the gateway made contains the whole OpenAI item; only the block's text comes from the summary.
  if (isKeptThought(block) && (isShown || textOf(block.thinking) === '')) return textOf(block.signature)
  return BLOCK + Buffer.from(toJson(block)).toString('base64url')
}
