// Step 9. A call → fine, or a tool_result that tells the model what to do instead (V).
import { nearest } from './names.ts'
import type { Settings } from './options.ts'
import { textBlock } from './rewrite.ts'
import type { Pool, PoolTool, Problem, Servers, Shelving, ToolResult, ToolUse } from './types.ts'

export type CheckContext = {
  readonly settings: Settings
  readonly shelving: Shelving
  readonly servers: Servers
  readonly loaded: ReadonlySet<string>
  /** Definitions kept for tools that vanished. */
  readonly isTombstone: (name: string) => boolean
  /** True when the last request offered the search tool. */
  readonly canSearch: boolean
}

/** The call as the host runs it: the bridge's wrapper taken off, and the way back to the server's own name. */
export type ResolvedCall = {
  readonly name: string
  readonly input: unknown
  readonly server: string | undefined
  /** The tool's own name at its server. */
  readonly original: string
}

export function resolveCall(call: ToolUse, pool: Pool, settings: Settings): ResolvedCall {
  const inner = call.name === settings.callTool ? (call.input as Wrapped | null | undefined) : undefined
  const name = typeof inner?.name === 'string' ? inner.name : String(call.name ?? '')
  const entry = pool.byName.get(name)
  const input = inner ? (inner.arguments ?? {}) : call.input
  return { name, input, server: entry?.server, original: entry?.original ?? name }
}

function isWrapped(input: unknown): boolean {
  return typeof (input as Wrapped | null | undefined)?.name === 'string'
}

function wrapFirst({ callTool }: Settings): string {
  return `${callTool} takes {"name": "<full name of the tool>", "arguments": {…}}, as the tool's definition describes.`
}

type Wrapped = { readonly name?: unknown; readonly arguments?: unknown }

export function checkCall(call: ToolUse, context: CheckContext): ToolResult | undefined {
  const { settings, shelving, loaded } = context
  if (call.name === settings.searchTool) return undefined
  if (call.name === settings.callTool && !isWrapped(call.input)) return refuse(call, wrapFirst(settings))
  const { name, input } = resolveCall(call, shelving.pool, settings)
  const entry = shelving.pool.byName.get(name)
  if (!entry) return refuse(call, unknownTool(name, context))
  const isUnloaded = shelving.deferredNames.has(name) && !loaded.has(name)
  const remedy = isUnloaded && context.canSearch ? loadFirst(name, settings) : ''
  const problems = problemsOf(entry, input, settings)
  if (problems.length > 0) return refuse(call, describe(entry, problems, input) + remedy)
  if (remedy && settings.unloadedCalls === 'refuse') return refuse(call, `"${name}" was not run.${remedy}`)
  return undefined
}

function refuse(call: ToolUse, text: string): ToolResult {
  return { type: 'tool_result', tool_use_id: call.id, content: [textBlock(text)], is_error: true }
}

function loadFirst(name: string, { searchTool }: Settings): string {
  return `\nThis tool's schema was not sent to you. Call ${searchTool} with {"query": "select:${name}"}, then call it again.`
}

function unknownTool(
  name: string,
  { shelving, servers, settings, isTombstone, canSearch }: CheckContext,
): string {
  if (isTombstone(name))
    return `"${name}" is no longer available: its server is gone. Do the task another way.`
  const near = nearest(name, shelving.pool.byName.keys())
  const hint = near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ''
  const search = canSearch ? ` Search for it with ${settings.searchTool}.` : ''
  const waiting = [...servers].some(([, { state }]) => state === 'pending')
    ? ' Some servers are still connecting.'
    : ''
  return `There is no tool named "${name.slice(0, 200)}".${hint}${search}${waiting}`
}

function problemsOf({ definition }: PoolTool, input: unknown, { validate }: Settings): readonly Problem[] {
  if (definition.input_schema === undefined) return []
  try {
    return validate(definition.input_schema, input ?? {})
  } catch {
    return []
  }
}

function describe({ name }: PoolTool, problems: readonly Problem[], input: unknown): string {
  const lines = problems.map((problem) => {
    const place = problem.path === '' ? 'the input' : problem.path
    const explained = explainString(problem, input)
    return explained ? `- ${place} ${explained}` : `- ${place}: ${problem.message}`
  })
  return [`The input of "${name}" does not fit its schema:`, ...lines].join('\n')
}

const spoken: { readonly [type: string]: string } = {
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a JSON list',
  object: 'a JSON object',
}

/** A string where a number, a boolean or JSON belongs: what a model writes that never saw the schema (V3). */
function explainString({ path, expected }: Problem, input: unknown): string | undefined {
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
