// Checks a call of the model: returns undefined if it is valid, else a tool_result that says what to do instead (V).
// Implements Q8, N5, V1, V2, V3, V4, H3.

import { closestNames, fieldsOf, misnamesArguments, oneLine } from '../../lib/index.ts'
import { silencePromise } from '../attempt.ts'
import { isConnecting } from '../gate/index.ts'
import { refuse } from '../history/index.ts'
import type { Settings } from '../options.ts'
import type { Conversation, Host, State } from '../state.ts'
import { partitionTools, withOwnNames } from '../tools/index.ts'
import type {
  InputProblem,
  Pool,
  PoolTool,
  Servers,
  ToolPartition,
  ToolResult,
  ToolUse,
  Validate,
} from '../types.ts'
import type { Wire } from '../wire/index.ts'
import { searchWire } from './answer.ts'

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

/** Returns what the host must run for a call. */
export function resolveCall(call: ToolUse, pool: Pool, settings: Settings): ResolvedCall {
  const inner = call.name === settings.callTool ? (call.input as Wrapped | null | undefined) : undefined
  const name = typeof inner?.name === 'string' ? inner.name : String(call.name ?? '')
  const entry = pool.byName.get(name)
  const sent = inner ? (inner.arguments ?? {}) : call.input
  const input = withOwnNames(sent, entry?.names)
  return { name, input, server: entry?.server, original: entry?.original ?? name }
}

/**
 * The function form of `shelf.check`: explains a call that cannot be run (V2); undefined for a valid one.
 *
 * @example
 * const { loaded } = foldHistory(messages, 'ToolSearch')
 * const result = checkCall(host, conversation, call, loaded) ?? (await runTool(call))
 */
export function checkCall(
  host: Host,
  conversation: Conversation,
  call: ToolUse,
  loaded: ReadonlySet<string>,
): ToolResult | undefined {
  const { settings, pool, servers } = host
  if (call.name === settings.searchTool) return undefined
  if (call.name === settings.callTool && !isWrapped(call.input)) return refuse(call, wrapFirst(settings))
  const partition = partitionTools(pool, servers, settings.isHidden)
  const { name, input } = resolveCall(call, partition.pool, settings)
  const entry = partition.pool.byName.get(name)
  const wire = searchWire(host, conversation.state)
  if (!entry) return refuse(call, unknownTool(name, partition, servers, conversation.state, wire))
  const isUnseen = !loaded.has(name) && !wasShown(conversation.state, name, partition)
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

function wrapFirst({ callTool }: Settings): string {
  return `${callTool} takes {"name": "<full name of the tool>", "arguments": {…}}; the arguments are what the tool's definition describes.`
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
  const problems = problemsOf(entry, input, validate)
  return problems.length > 0 ? describe(entry, problems, input) : undefined
}

function problemsOf({ tool }: PoolTool, input: unknown, validate: Validate): readonly InputProblem[] {
  const schema = tool.input_schema ?? tool.inputSchema
  if (typeof schema !== 'object') return []
  try {
    const problems = validate(schema, input ?? {})
    return silencePromise(problems) ? [] : problems
  } catch {
    return []
  }
}

function describe({ name, names }: PoolTool, problems: readonly InputProblem[], input: unknown): string {
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
