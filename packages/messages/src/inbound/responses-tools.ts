// Converts the tools of a Responses request to the Messages shape: functions, namespaces, freeform and shell tools. The
// table also gives a tool's own name and namespace back for the reply.
import { type Fields, fieldsOf, hash, listOf, oncePerFrozen, textOf } from '@toolshelf/core/internal'
import { invalidRequest } from '../errors.ts'
import type { NativeTool } from '../upstream/native-tools.ts'
import { fromFreeform } from './freeform.ts'
import { fromFunction, fromToolChoice, insideName, isSame, type ToolChoice } from './openai.ts'

/** The tools of a request, converted. */
export type ToolTable = ReturnType<typeof buildTable>

/** The namespace in which Codex puts tools that are in none. */
const DEFAULT_NAMESPACE = 'functions'

/** The search tool of the Messages API that runs in the gateway. */
export const HOSTED_SEARCH = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }

/** Search tools of gateways, for example `openrouter:tool_search`; their clients know no items for searches. */
const GATEWAY_SEARCH = /^[\w-]+:tool_search$/

/** The name of a client-run search tool, unless another tool has it. */
const CLIENT_SEARCH = 'tool_search'

/** A converted definition, and what it was. */
type Entry = { readonly tool: NativeTool; readonly definition: Fields; readonly native: Fields }

/** Converts the tools of a request and those that its items add, which are deferred. */
export function toolTable(clientTools: readonly Fields[], added: readonly Fields[]): ToolTable {
  const known = lastTable(clientTools[0] ?? NO_TOOLS)
  if (known.table && isSame(known.clientTools, clientTools) && isSame(known.added, added)) return known.table
  const table = buildTable(clientTools, added)
  Object.assign(known, { clientTools, added, table })
  return table
}

const NO_TOOLS: Fields = Object.freeze({})

type KnownTable = {
  readonly clientTools: readonly Fields[]
  readonly added: readonly Fields[]
  readonly table: ToolTable | undefined
}

/** The table of the last request whose tools began with this one. */
const lastTable = oncePerFrozen((_: Fields): KnownTable => ({ clientTools: [], added: [], table: undefined }))

/** Returns the names inside the gateway of the tools that definitions define. */
export function namesIn(definitions: readonly unknown[], table: ToolTable): string[] {
  const entries = definitions.map(fieldsOf).flatMap(entriesOf)
  return [...new Set(entries.map(({ tool }) => table.insideName(tool.namespace, tool.name)))]
}

function buildTable(clientTools: readonly Fields[], added: readonly Fields[]) {
  const list: Fields[] = []
  const tools = new Map<string, NativeTool>()
  const native = new Map<string, Fields>()
  const names = new Map<string, string>()
  const namespaces = new Map<string, string>()
  const hosted = new Set<string>()
  let searchName: string | undefined

  const add = ({ tool, definition, native: own }: Entry): string | undefined => {
    const key = keyOf(tool.namespace, tool.name)
    if (names.has(key)) return undefined
    const name = freeName(textOf(definition.name), key, tools)
    names.set(key, name)
    tools.set(name, tool)
    native.set(name, own)
    list.push(name === definition.name ? definition : { ...definition, name })
    return name
  }
  for (const definition of clientTools) {
    const { type } = definition
    const entries = entriesOf(definition)
    for (const entry of entries) add(entry)
    if (type === 'namespace') namespaces.set(textOf(definition.name), textOf(definition.description))
    if (type === 'tool_search' && definition.execution === 'client') searchName = add(searchEntry(definition))
    else if (type === 'tool_search') list.push(HOSTED_SEARCH)
    else if (isHosted(definition)) {
      hosted.add(textOf(type))
      native.set(freeName(textOf(type), `${hosted.size}`, native), definition)
    }
  }
  for (const definition of added) for (const entry of entriesOf(definition)) add(asDeferred(entry))

  return {
    /** The definitions in the Messages shape. */
    list: Object.freeze(list) as readonly Fields[],
    tools: tools as ReadonlyMap<string, NativeTool>,
    /** The client's own definitions by name inside the gateway; a namespace holds its one tool. Includes hosted tools. */
    native: native as ReadonlyMap<string, Fields>,
    /** The name inside the gateway of a tool that the client names. */
    insideName: (namespace: string, name: string) =>
      names.get(keyOf(namespace, name)) ??
      // OpenAI puts a tool that a search loaded in a namespace of its own name.
      (namespace === name ? names.get(keyOf('', name)) : undefined) ??
      insideName(joined(namespace, name)),
    /** Descriptions of namespaces by name. */
    namespaces,
    /** Types of tools that only OpenAI can run. */
    hosted,
    searchName,
    /** The client expects hidden searches of its deferred tools, as OpenRouter's search tool does them. */
    hidesSearches: clientTools.some(({ type }) => GATEWAY_SEARCH.test(textOf(type))),
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace === DEFAULT_NAMESPACE ? '' : namespace}\n${name}`
}

/** The name, or a stable other one if another tool has it. */
function freeName(name: string, key: string, taken: ReadonlyMap<string, unknown>): string {
  return taken.has(name) || name === HOSTED_SEARCH.name ? insideName(`${name}.${hash(key)}`) : name
}

function joined(namespace: string, name: string): string {
  if (namespace === '' || namespace === DEFAULT_NAMESPACE) return name
  return namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`
}

/** The converted definitions of an entry of `tools`; none for search tools and tools that only OpenAI runs. */
const entriesOf = oncePerFrozen((tool: Fields): readonly Entry[] => {
  if (tool.type !== 'namespace') return entryOf(tool, '', tool)
  const { name, description, tools } = tool
  if (textOf(name) === '') throw invalidRequest('tools: a namespace has no name; send one')
  return listOf(tools).flatMap((inner) => {
    const own = fieldsOf(inner)
    return entryOf(own, textOf(name), { type: 'namespace', name, description, tools: [own] })
  })
})

function entryOf(own: Fields, namespace: string, native: Fields): Entry[] {
  const type = textOf(own.type)
  const converted = type === 'function' ? fromFunction(own) : clientToolDefinition(own)
  if (!converted) return []
  const name = textOf(own.name) || (type === 'function' || type === 'custom' ? '' : type)
  if (name === '') throw invalidRequest(`tools: a tool of type "${type}" has no name; send one`)
  const definition = Object.freeze({
    name: insideName(joined(namespace, name)),
    ...converted,
    ...(own.defer_loading === true ? { defer_loading: true } : {}),
  })
  return [{ tool: { type, name, namespace }, definition, native }]
}

/** The client runs this search itself. `defer_loading: false` says from the first request on that the client defers. */
function searchEntry(tool: Fields): Entry {
  const { description, input_schema } = fromFunction(tool)
  return {
    tool: { type: CLIENT_SEARCH, name: CLIENT_SEARCH, namespace: '' },
    definition: {
      name: CLIENT_SEARCH,
      description: description ?? 'Finds tools that are not in your list yet and loads them.',
      input_schema,
      defer_loading: false,
    },
    native: tool,
  }
}

function asDeferred(entry: Entry): Entry {
  if (entry.definition.defer_loading === true) return entry
  return { ...entry, definition: { ...entry.definition, defer_loading: true } }
}

function isHosted(tool: Fields): boolean {
  const type = textOf(tool.type)
  if (type === '') throw invalidRequest('tools: a tool has no type; send "function", for example')
  return entriesOf(tool).length === 0 && type !== 'namespace' && !GATEWAY_SEARCH.test(type)
}

/** Returns the description and schema of a tool that the client runs; undefined for functions and tools that OpenAI runs. */
function clientToolDefinition(tool: Fields): Fields | undefined {
  switch (tool.type) {
    case 'custom':
      return fromFreeform(tool)
    case 'local_shell':
      return LOCAL_SHELL
    case 'shell':
      return isRemote(tool) ? undefined : SHELL
    case 'apply_patch':
      return APPLY_PATCH
    default:
      return undefined
  }
}

/** Whether the commands run in a container of OpenAI's. */
function isRemote({ environment }: Fields): boolean {
  return textOf(fieldsOf(environment).type).startsWith('container')
}

const TIMEOUT = { type: 'integer', description: 'Time limit in milliseconds.' }

const LOCAL_SHELL = {
  description: "Runs a command on the user's machine and returns its output.",
  input_schema: {
    type: 'object',
    properties: {
      command: {
        type: 'array',
        items: { type: 'string' },
        description: 'The program and its arguments, such as ["bash", "-lc", "ls -la"].',
      },
      working_directory: { type: 'string' },
      env: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Environment variables.',
      },
      timeout_ms: TIMEOUT,
    },
    required: ['command'],
  },
}

const SHELL = {
  description: "Runs shell commands on the user's machine and returns the output and the exit code of each.",
  input_schema: {
    type: 'object',
    properties: {
      commands: {
        type: 'array',
        items: { type: 'string' },
        description: 'Shell commands, which may run at once.',
      },
      timeout_ms: TIMEOUT,
      max_output_length: { type: 'integer', description: 'The most characters of output to return.' },
    },
    required: ['commands'],
  },
}

const APPLY_PATCH = {
  description: [
    'Creates, changes or deletes one file by a patch.',
    'For update_file, `diff` has one or more hunks. A hunk starts with a line "@@", which may name the enclosing class or',
    'function; each further line starts with a space (context), "-" (removed) or "+" (added). Give three lines of context',
    'around a change. There are no line numbers.',
    'For create_file, every line of `diff` starts with "+". delete_file takes no diff.',
  ].join('\n'),
  input_schema: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
      path: { type: 'string', description: 'The path of the file.' },
      diff: { type: 'string' },
    },
    required: ['type', 'path'],
  },
}

/** Converts `tool_choice` and `parallel_tool_calls`; tools such as `apply_patch` are named by their type. */
export function toolChoiceIn(body: Fields, table: ToolTable): ToolChoice {
  const saidIn = ({ type, name }: Fields) => textOf(name) || textOf(type)
  return fromToolChoice(body, {
    list: table.list,
    hosted: table.hosted,
    nameIn: (tool) => table.insideName(textOf(tool.namespace), saidIn(tool)),
    has: (name) => table.tools.has(name),
    saidIn,
  })
}
