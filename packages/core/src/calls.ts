// Runs a call of the model: answers or checks it, cleans its result, puts a long one on the shelf, and reports it in events.
// Implements H3, L1, N5, Q8, V1, V2, V3, V4.

import { answerSearch } from './answer.ts'
import { withOwnNames } from './definition.ts'
import type { Trace } from './events.ts'
import { isConnecting } from './gate.ts'
import { follow } from './history.ts'
import { fieldsOf, jsonLength } from './lib/json.ts'
import { silencePromise } from './lib/objects.ts'
import { errorMessage, oneLine } from './lib/text.ts'
import { checkResultItem, imageTypeOf } from './media.ts'
import { closestNames, misnamesArguments } from './names.ts'
import { isBlock, messageBlocks, refuse, textBlock, textResult } from './notes.ts'
import { badOption } from './options.ts'
import { partitionOf } from './policy.ts'
import { READ_TOOL, type ShelvedResult, shelveText } from './results.ts'
import { readShelved } from './results-read.ts'
import type {
  Block,
  Conversation,
  Host,
  InputProblem,
  LiveHost,
  MessageLike,
  PoolTool,
  Servers,
  State,
  TextBlock,
  ToolPartition,
  ToolResult,
  ToolUse,
  Validate,
} from './types.ts'
import { searchWire, type Wire } from './wires.ts'

/** A call as the host runs it: unwrapped from CallTool, with the tool's own name at its server. */
export type ResolvedCall = {
  /** The name on the shelf, such as `mcp__github__create_issue`. */
  readonly name: string
  /** The arguments, under the server's own names. */
  readonly input: unknown
  /** The tool's MCP server; undefined for a tool of the host. */
  readonly server: string | undefined
  /** The tool's own name at its server. */
  readonly original: string
}

/**
 * Runs a tool. Its return value becomes the result: text, content blocks, or the whole answer of an MCP server. If it
 * throws, the error's message becomes an error result.
 */
export type Execute = (call: ResolvedCall) => Content | Promise<Content>

/** Options of `shelf.run`. */
export type RunOptions = {
  /** The conversation up to this call, which determines the loaded tools. Default: the messages last prepared. */
  readonly messages?: readonly MessageLike[]
  /** Called only for a valid call of a tool that is on the shelf. */
  readonly execute: Execute
}

/** The call that an event is about. */
export type CallSubject = {
  readonly id: string
  readonly name: string
  readonly server?: string | undefined
  /** Why it was refused, if the user's rights or limits are the reason. */
  readonly reason?: 'rights' | 'limit' | undefined
}

export type CallOutcome = Extract<Trace, { type: 'result' }>['outcome']

/** Returns the result of any call. */
export async function runCall(
  live: LiveHost,
  conversation: Conversation,
  call: ToolUse,
  options: RunOptions,
): Promise<ToolResult> {
  const { messages, execute } = options ?? {}
  if (typeof execute !== 'function') throw badOption('execute', execute, 'a function that runs a tool')
  const { host } = live
  const { trace = host.settings.trace } = conversation
  let subject: CallSubject = { id: call.id, name: call.name }
  const ended = (result: ToolResult, outcome: CallOutcome) => {
    trace?.(resultEvent(subject, outcome, result.content))
    return result
  }
  try {
    const answered = await answerOwn(live, conversation, call)
    if (answered) return answered
    const refused = checkCall(host, conversation, call, messages)
    if (refused) return ended(refused, 'refused')
    const resolved = resolveCall(host, call)
    subject = { id: call.id, name: resolved.name, server: resolved.server }
    trace?.({ type: 'call', ...subject, content: resolved.input })
    const result = toolResult(call, await execute(resolved))
    ended(result, result.is_error ? 'failed' : 'done')
    return await shelveResult(host, conversation, call, result)
  } catch (error) {
    const text = `The tool failed: ${errorMessage(error)}`
    return ended(toolResult(call, text, { isError: true }), 'failed')
  }
}

/** Answers a call of the shelf's own tools, a search or a read of a long result; undefined for any other call. */
export async function answerOwn(
  live: LiveHost,
  conversation: Conversation,
  call: ToolUse,
): Promise<ToolResult | undefined> {
  const { searchTool, results, pause } = live.host.settings
  if (results && call.name === READ_TOOL) {
    const owner = conversation.state.results?.owner
    const find = (id: string) => (owner === undefined ? undefined : results.store.get(owner, id))
    const { texts, isError } = await readShelved(find, results.budget, call.input, pause)
    const content = texts.map(textBlock)
    return { type: 'tool_result', tool_use_id: call.id, content, ...(isError ? { is_error: isError } : {}) }
  }
  return call.name === searchTool ? answerSearch(live, conversation, call) : undefined
}

export function resolveCall(
  { pool, settings }: Pick<Host, 'pool' | 'settings'>,
  call: ToolUse,
): ResolvedCall {
  const inner = call.name === settings.callTool ? (call.input as Wrapped | null | undefined) : undefined
  const name = typeof inner?.name === 'string' ? inner.name : String(call.name ?? '')
  const entry = pool.byName.get(name)
  const sent = inner ? (inner.arguments ?? {}) : call.input
  const input = entry?.names ? withOwnNames(sent, entry.names) : sent
  return { name, input, server: entry?.server, original: entry?.original ?? name }
}

/** Explains a call that cannot be run (V2); undefined for a valid one. */
export function checkCall(
  host: Host,
  { state, memory }: Conversation,
  call: ToolUse,
  messages?: readonly MessageLike[],
): ToolResult | undefined {
  const { settings, servers } = host
  if (call.name === settings.searchTool) return undefined
  if (call.name === settings.callTool && !isWrapped(call.input))
    return refuse(
      call,
      `${settings.callTool} takes {"name": "<full name of the tool>", "arguments": {…}}; the arguments are what the tool's definition describes.`,
    )
  const partition = partitionOf(host)
  const { name, input } = resolveCall({ pool: partition.pool, settings }, call)
  const entry = partition.pool.byName.get(name)
  const wire = searchWire(host, state)
  if (!entry) return refuse(call, unknownTool(name, partition, servers, state, wire))
  const known = messages ? undefined : memory.history
  const { facts } = known ?? follow(memory, messages ?? [], settings.searchTool)
  const isUnseen = !facts.loaded.has(name) && !wasShown(state, name, partition)
  const remedy =
    isUnseen && wire
      ? `\nThis tool's schema was not sent to you. ${wire.howToLoad(name)}, then call it again.`
      : ''
  const fault = inputFault(entry, input, settings.validate)
  if (fault !== undefined) return refuse(call, fault + (remedy || wholeAgain(entry, partition, wire)))
  if (remedy && settings.unloadedCalls === 'refuse') return refuse(call, `"${name}" was not run.${remedy}`)
  return undefined
}

const MAX_DEFINITION_LENGTH = 10_000

/** Returns whether the last request carried the tool's definition; before the first one, whether it will. */
function wasShown({ search, shown }: State, name: string, { deferredNames }: ToolPartition): boolean {
  return search === undefined ? !deferredNames.has(name) : (shown?.includes(name) ?? true)
}

/** Returns the whole definition of a tool of which the model may have seen only the compact form. */
function wholeAgain({ name, json }: PoolTool, { deferredNames }: ToolPartition, wire?: Wire): string {
  if (!wire || wire.callsByName || !deferredNames.has(name)) return ''
  return json.length <= MAX_DEFINITION_LENGTH
    ? `\nIts whole definition: ${json}`
    : `\n${wire.howToLoad(name)} for its whole definition, then call it again.`
}

function isWrapped(input: unknown): boolean {
  const call = fieldsOf(input)
  return typeof call.name === 'string' && !misnamesArguments(call)
}

type Wrapped = { readonly name?: unknown; readonly arguments?: unknown }

/** Suggests the closest names (V4). */
function unknownTool(
  name: string,
  { pool }: ToolPartition,
  servers: Servers,
  { kept }: State,
  wire?: Wire,
): string {
  if (kept.some(({ definition }) => definition.name === name)) {
    return `"${name}" is no longer available: it was removed. Do the task another way.`
  }
  const near = closestNames(name, pool.byName)
  const hint = near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ''
  const search = wire ? ` Search for it with ${wire.searchName}.` : ''
  const waiting = isConnecting(servers) ? ' Some servers are still connecting.' : ''
  return `There is no tool named "${oneLine(name, 200)}".${hint}${search}${waiting}`
}

/**
 * Explains what is wrong with the input of a resolved call; undefined if it is valid. Validates against the server's own
 * schema (V1), because the one that the model got may accept more.
 */
function inputFault(entry: PoolTool, input: unknown, validate: Validate): string | undefined {
  const { tool, name, names } = entry
  const schema = tool.input_schema ?? tool.inputSchema
  if (typeof schema !== 'object') return undefined
  let problems: readonly InputProblem[] = []
  try {
    const found: unknown = validate(schema, input ?? {})
    if (Array.isArray(found)) problems = found
    else silencePromise(found)
  } catch {
    // A validator that throws refuses nothing.
  }
  if (problems.length === 0) return undefined
  const lines = problems.map((problem) => {
    const place = problem.path === '' ? 'the input' : sentPath(problem.path, names)
    const explained = explainString(problem, input)
    return explained ? `- ${place} ${explained}` : `- ${place}: ${problem.message}`
  })
  return [`The input of "${name}" does not fit its schema:`, ...lines].join('\n')
}

/** Translates a path to the argument names that the model was sent. */
function sentPath(path: string, names: PoolTool['names']): string {
  const changed = [...(names ?? [])].find(([, own]) => path === own || path.startsWith(`${own}.`))
  return changed ? changed[0] + path.slice(changed[1].length) : path
}

const spoken: { readonly [type: string]: string } = {
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a JSON list',
  object: 'a JSON object',
}

/** Explains a string in place of a number, a boolean or JSON, which models write that never saw the schema (V3). */
function explainString({ path, expected }: InputProblem, input: unknown): string | undefined {
  const value = valueAt(input, path)
  const wanted = expected?.find((type) => Object.hasOwn(spoken, type))
  if (typeof value !== 'string' || wanted === undefined) return undefined
  return `must be ${spoken[wanted]}, not the string ${JSON.stringify(value.slice(0, 40))}: write it without quotes`
}

function valueAt(input: unknown, path: string): unknown {
  if (path === '') return input
  return path.split('.').reduce<unknown>((value, key) => {
    const isHolder = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return isHolder ? (value as Record<string, unknown>)[key] : undefined
  }, input)
}

/** Text, content blocks as the API or an MCP server writes them, or an MCP server's whole answer. */
export type Content =
  | string
  | readonly object[]
  | { readonly content: readonly object[]; readonly isError?: boolean }

/** Removes references: the API expands every one, so a reference in a tool's output would load a tool (L1). */
export function toolResult(
  call: ToolUse,
  output: Content,
  options: { readonly isError?: boolean } = {},
): ToolResult {
  const answer: Block = isBlock(output) && !Array.isArray(output) ? output : { content: output }
  const { type, isError: mcpError, is_error } = answer
  // An MCP server's answer has `isError`, a tool_result `is_error`.
  const isError = options.isError ?? (mcpError === true || (type === 'tool_result' && is_error === true))
  // Beside an error the API accepts only text.
  const shown = (block: Block) =>
    isError && block.type !== 'text'
      ? said(`The error came with a block of type "${String(block.type)}", which cannot be shown beside it.`)
      : [block]
  const content = messageBlocks({ content: contentOf(answer) })
    .map((block) => stripped(block, MAX_DEPTH) as Block | undefined)
    .filter((block) => block !== undefined)
    .flatMap(converted)
    .flatMap(shown)
  const base = (text: string) => (isError ? refuse(call, text) : textResult(call, text))
  return content.length === 0
    ? base('The tool returned nothing.')
    : { ...base(''), content: content as TextBlock[] }
}

/** Returns the content of an answer; if it has none, its structured content, or else the answer itself as JSON. */
function contentOf(answer: Block): unknown {
  const { content, structuredContent } = answer
  const isEmpty = content === undefined || (Array.isArray(content) && content.length === 0)
  if (isEmpty && structuredContent !== undefined)
    return [{ type: 'text', text: jsonOrRemark(stripped(structuredContent, MAX_DEPTH)) }]
  if (!('content' in answer)) return [answer]
  return typeof content === 'object' || content === undefined ? content : String(content)
}

/** Converts a block for a result; a block that the API would refuse becomes text. */
function converted(block: Block): Block[] {
  const { type, text, data, resource, uri } = block
  if (type === 'text') return said(text)
  if (type === 'image') return image(block, typeof data === 'string' ? mcpSource(block) : block.source)
  if (type === 'resource' && isBlock(resource)) {
    return said(typeof resource.text === 'string' ? resource.text : `A resource: ${String(resource.uri)}`)
  }
  if (type === 'resource_link') return said(`A resource: ${String(uri)}`)
  if (type === 'audio') return said('An audio clip that cannot be shown here.')
  return checkResultItem(block, '') ? said(jsonOrRemark(block)) : [block]
}

/** Converts an MCP server's image; some servers send a data URL, some name the wrong type. */
function mcpSource({ data, mimeType }: Block): Block {
  const url = /^data:([^;,]*);base64,/.exec(String(data).slice(0, 100))
  const base64 = String(data).slice(url?.[0].length ?? 0)
  return { type: 'base64', media_type: imageTypeOf(base64) ?? url?.[1] ?? mimeType, data: base64 }
}

function image(block: Block, source: unknown): Block[] {
  const shown = { type: 'image', source }
  if (!checkResultItem(shown, '')) return [shown]
  const type = block.mimeType ?? (isBlock(source) ? source.media_type : undefined)
  return said(`An image of type ${String(type)} that cannot be shown here.`)
}

function said(text: unknown): Block[] {
  return text === '' ? [] : [textBlock(String(text).toWellFormed())]
}

/** Block types that only the host and the API may write. */
const HOST_TYPES = ['tool_reference', 'tool_addition', 'tool_removal', 'tool_search_tool_result']
const MAX_DEPTH = 64

/** Removes references and breakpoints at any depth; returns undefined for a reference, or if nested too deeply. */
function stripped(value: unknown, depth: number): unknown {
  if (!isBlock(value) || !isPlain(value)) return value
  if (depth === 0 || HOST_TYPES.includes(value.type as string)) return undefined
  const inner = (one: unknown) => stripped(one, depth - 1)
  if (Array.isArray(value)) return value.map(inner).filter((item) => item !== undefined)
  const entries = Object.entries(value)
    .filter(([name]) => name !== 'cache_control')
    .map(([name, one]) => [name, inner(one)] as const)
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined))
}

/** Whether a value may come from JSON; instances of classes are the host's own objects. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}

function jsonOrRemark(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return 'Something that cannot be written as text.'
  }
}

/** Returns the result as it is, or the replacement of a long one. */
export async function shelveResult(
  host: Host,
  conversation: Conversation,
  call: ToolUse,
  result: ToolResult,
): Promise<ToolResult> {
  const { results, notify, trace } = host.settings
  if (!results || result.is_error === true || call.name === READ_TOOL) return result
  const { name, server } = resolveCall(host, call)
  const budget =
    host.pool.byName.get(name)?.tool.resultBudget ??
    host.servers.get(server ?? '')?.resultBudget ??
    results.budget
  const blocks = result.content as readonly Block[]
  const text = blocks
    .filter(isText)
    .map(({ text }) => text)
    .join('\n')
  if (budget <= 0 || text.length <= budget) return result
  try {
    const owner = ownerIn(conversation, results.newOwner)
    const { handle, texts, sizes } = await shelveText(results, { owner, text, budget })
    record(conversation, { handle, tool: name, kind: sizes.kind, size: sizes.size })
    ;(conversation.trace ?? trace)?.({ type: 'shelved', id: call.id, name, server, ...sizes })
    const others = blocks.filter((block) => !isText(block))
    return { ...result, content: [...texts.map(textBlock), ...others] as TextBlock[] }
  } catch (error) {
    notify(`a result of "${name}" could not be put on the shelf and is sent whole: ${errorMessage(error)}`)
    return result
  }
}

function isText(block: Block): block is Block & TextBlock {
  return block.type === 'text' && typeof block.text === 'string'
}

/** Returns the owner of a conversation's results; creates it with the first one, so that others need no state. */
function ownerIn(conversation: Conversation, newOwner: () => string): string {
  const { state } = conversation
  const results = state.results ?? { owner: newOwner(), shelved: [] }
  conversation.state = { ...state, results }
  return results.owner
}

/** How many results a conversation's state lists. */
const MAX_NAMED = 50

function record(conversation: Conversation, result: ShelvedResult): void {
  const { results } = conversation.state
  if (!results) return
  const others = results.shelved.filter(({ handle }) => handle !== result.handle)
  const shelved = [...others, result].slice(-MAX_NAMED)
  conversation.state = { ...conversation.state, results: { ...results, shelved } }
}

export function resultEvent(
  subject: CallSubject,
  outcome: CallOutcome,
  content: unknown,
  milliseconds?: number,
): Trace {
  const { id, name, server, reason } = subject
  return {
    type: 'result',
    id,
    name,
    server,
    outcome,
    reason,
    size: jsonLength(content),
    milliseconds: milliseconds === undefined ? undefined : Math.round(milliseconds * 1000) / 1000,
    content,
  }
}
