// A client's own definitions of its tools, for an upstream that speaks the same API: what the Messages shape cannot
// express, such as namespaces, freeform tools and tools that OpenAI runs itself, reaches it as the client wrote it. And the items
// by which OpenAI calls some kinds of tools, as calls with JSON input; both sides of the gateway use this table.
import { type Fields, fieldsOf, isFields, listOf, omitFields, textOf, toJson } from '@toolshelf/core/internal'
import type { ClientTerms } from '../types.ts'
import { jsonOf } from './openai.ts'

/** How a tool is called: as a `function`, or by items of its own: `custom`, `shell` and the like. Its namespace may be empty. */
export type NativeTool = { readonly type: string; readonly name: string; readonly namespace: string }

/** The client's tools and settings as it wrote them. */
export type NativeTools = ReturnType<typeof nativeTools>

/**
 * Returns the client's tools and settings, if it speaks the Responses API; `hasSearch` if the request may have
 * OpenAI's search.
 */
export function nativeTools(terms: ClientTerms | undefined, hasSearch = false) {
  const own = terms?.api === 'responses' ? terms : undefined
  const tools = new Map<string, NativeTool>()
  const names = new Map<string, string>()
  const hosted: Fields[] = []
  for (const [name, definition] of own?.tools ?? []) {
    const tool = toolIn(definition)
    if (isHosted(tool)) hosted.push(definition)
    // Where the model has no search of its own, the client's is a function like any other.
    if (isHosted(tool) || (tool.type === 'tool_search' && !hasSearch)) continue
    tools.set(name, tool)
    names.set(keyOf(tool.namespace, tool.name), name)
  }
  return {
    /** The client speaks this upstream's API. */
    isNative: own !== undefined,
    /** The client's definition by the name inside the gateway; a namespace with one tool if it is in one. */
    definitionOf: (name: string) =>
      tools.has(name) ? undeferred(fieldsOf(own?.tools.get(name))) : undefined,
    toolOf: (name: string) => tools.get(name),
    /** The name inside the gateway of a tool that a reply calls. */
    insideName: (namespace: string, name: string) =>
      names.get(keyOf(namespace, name)) ?? (namespace === name ? names.get(keyOf('', name)) : undefined),
    /** The name inside the gateway of the search tool that the client runs. */
    searchName: [...tools].find(([, { type }]) => type === 'tool_search')?.[0],
    /** Definitions of tools that the upstream runs itself. */
    hosted,
    /** Top-level fields of the client's request, which replace the converted ones. */
    settings: own?.settings ?? {},
    /** Names of tools that may not be called now. */
    barred: terms?.barred,
  }
}

function toolIn(definition: Fields): NativeTool {
  const { type, name, tools } = definition
  if (type !== 'namespace') return { type: textOf(type), name: textOf(name) || textOf(type), namespace: '' }
  return { ...toolIn(fieldsOf(listOf(tools)[0])), namespace: textOf(name) }
}

function isHosted({ type }: NativeTool): boolean {
  return type !== 'function' && type !== 'tool_search' && callItemsOf(type) === undefined
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}\n${name}`
}

/** The gateway itself decides which definitions are sent. */
function undeferred(definition: Fields): Fields {
  const { type, tools } = definition
  if (type === 'namespace')
    return { ...definition, tools: listOf(tools).map((tool) => undeferred(fieldsOf(tool))) }
  return 'defer_loading' in definition ? omitFields(definition, 'defer_loading') : definition
}

/** Joins the tools of a namespace, at the place of the first. */
export function withJoinedNamespaces(definitions: readonly Fields[]): Fields[] {
  const joined = new Map<unknown, { readonly definition: Fields; readonly tools: unknown[] }>()
  for (const definition of definitions) {
    const key = definition.type === 'namespace' ? textOf(definition.name) : Symbol()
    const entry = joined.get(key) ?? { definition, tools: [] }
    entry.tools.push(...listOf(definition.tools))
    joined.set(key, entry)
  }
  return [...joined.values()].map(({ definition, tools }) =>
    definition.type === 'namespace' ? { ...definition, tools } : definition,
  )
}

/** How the calls of one type of tool are written. */
export type CallItems = {
  /** The `type` of a call's item; its output has the same with `_output`. */
  readonly type: string
  readonly idPrefix: string
  readonly toInput: (item: Fields) => Fields
  readonly fromInput: (input: Fields) => Fields
  /** The content of a result; an item can have its output as text or as a list of parts. */
  readonly toResult: (item: Fields) => { readonly content: unknown; readonly isError?: boolean }
  /** The fields of an output item for the text of a result. */
  readonly fromResult: (text: string, isError: boolean) => Fields
}

/** A freeform tool's only field inside the gateway. */
const TEXT = 'input'

/** A result that is text, or a list of parts. */
const asOutput: Pick<CallItems, 'toResult' | 'fromResult'> = {
  toResult: ({ output }) => ({ content: output }),
  fromResult: (text, isError) => ({ output: isError ? `Error:\n${text}` : text }),
}

const custom: CallItems = {
  ...asOutput,
  type: 'custom_tool_call',
  idPrefix: 'ctc_',
  toInput: ({ input }) => ({ [TEXT]: textOf(input) }),
  fromInput: (input) => ({ input: typeof input[TEXT] === 'string' ? input[TEXT] : toJson(input) }),
}

const localShell: CallItems = {
  ...asOutput,
  type: 'local_shell_call',
  idPrefix: 'lsh_',
  toInput({ action }) {
    const { type: _, ...input } = fieldsOf(action)
    return input
  },
  fromInput: (input) => ({
    action: { type: 'exec', env: {}, ...input, command: wordsOf(input.command) },
  }),
}

const shell: CallItems = {
  type: 'shell_call',
  idPrefix: 'sh_',
  toInput: ({ action }) => fieldsOf(action),
  fromInput: (input) => ({
    action: { max_output_length: null, timeout_ms: null, ...input, commands: wordsOf(input.commands) },
    environment: { type: 'local' },
  }),
  // The output has parts without a counterpart, such as the exit code, so the model sees it as JSON.
  toResult: ({ output }) => ({ content: typeof output === 'string' ? output : toJson(output ?? []) }),
  fromResult(text, isError) {
    const output = jsonOf(text)
    if (Array.isArray(output) && output.every(isFields)) return { output }
    const outcome = { type: 'exit', exit_code: isError ? 1 : 0 }
    return { output: [{ stdout: isError ? '' : text, stderr: isError ? text : '', outcome }] }
  },
}

const applyPatch: CallItems = {
  type: 'apply_patch_call',
  idPrefix: 'apc_',
  toInput: ({ operation }) => fieldsOf(operation),
  fromInput: (input) => ({ operation: input }),
  toResult: ({ output, status }) => ({
    content: textOf(output) || (status === 'failed' ? 'The patch could not be applied.' : 'Done.'),
    isError: status === 'failed',
  }),
  fromResult: (text, isError) => ({ status: isError ? 'failed' : 'completed', output: text }),
}

const BY_TOOL: ReadonlyMap<string, CallItems> = new Map([
  ['custom', custom],
  ['local_shell', localShell],
  ['shell', shell],
  ['apply_patch', applyPatch],
])

const BY_ITEM: ReadonlyMap<string, CallItems> = new Map(
  [...BY_TOOL.values()].map((items) => [items.type, items]),
)

/** Returns the items of a type of tool; undefined for functions and for tools that OpenAI runs itself. */
export function callItemsOf(toolType: string): CallItems | undefined {
  return BY_TOOL.get(toolType)
}

/** Returns the kind of a call by its item's type, or by that of its output. */
export function callItemsIn(itemType: string): CallItems | undefined {
  return BY_ITEM.get(itemType.replace(/_output$/, ''))
}

export function toolTypeOf(items: CallItems): string {
  return [...BY_TOOL].find(([, one]) => one === items)?.[0] ?? ''
}

/** A list of words; models sometimes write one text. */
function wordsOf(value: unknown): unknown {
  return typeof value === 'string' ? [value] : listOf(value)
}
