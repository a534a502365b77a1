// A client's own definitions of its tools, for an upstream that speaks the same API: what the Messages shape cannot
// express, such as namespaces, freeform tools and tools that OpenAI runs itself, reaches it as the client wrote it.
import { type Fields, fieldsOf, listOf, omitFields, textOf } from '@toolshelf/core/internal'
import type { ClientTerms } from '../types.ts'
import { callItemsOf } from './call-items.ts'

/** How a tool is called: as a function, or by items of its own. */
export type NativeTool = { readonly type: string; readonly name: string; readonly namespace: string }

/** The client's tools and settings as it wrote them. */
export type NativeTools = {
  /** The client speaks this upstream's API. */
  readonly isNative: boolean
  /** The client's definition by the name inside the gateway; a namespace with one tool if it is in one. */
  readonly definitionOf: (name: string) => Fields | undefined
  readonly toolOf: (name: string) => NativeTool | undefined
  /** The name inside the gateway of a tool that a reply calls. */
  readonly insideName: (namespace: string, name: string) => string | undefined
  /** The name inside the gateway of the search tool that the client runs. */
  readonly searchName: string | undefined
  /** Definitions of tools that the upstream runs itself. */
  readonly hosted: readonly Fields[]
  /** Top-level fields of the client's request, which replace the converted ones. */
  readonly settings: Fields
  /** Names of tools that may not be called now. */
  readonly barred: ClientTerms['barred']
}

const NONE: NativeTools = {
  isNative: false,
  definitionOf: () => undefined,
  toolOf: () => undefined,
  insideName: () => undefined,
  searchName: undefined,
  hosted: [],
  settings: {},
  barred: undefined,
}

/**
 * Returns the client's tools and settings, if it speaks the Responses API; `hasSearch` if the request may have
 * OpenAI's search.
 */
export function nativeTools(terms: ClientTerms | undefined, hasSearch = false): NativeTools {
  if (terms?.api !== 'responses') return terms?.barred ? { ...NONE, barred: terms.barred } : NONE
  const tools = new Map<string, NativeTool>()
  const names = new Map<string, string>()
  const hosted: Fields[] = []
  for (const [name, definition] of terms.tools) {
    const tool = toolIn(definition)
    if (isHosted(tool)) hosted.push(definition)
    // Where the model has no search of its own, the client's is a function like any other.
    if (isHosted(tool) || (tool.type === 'tool_search' && !hasSearch)) continue
    tools.set(name, tool)
    names.set(keyOf(tool.namespace, tool.name), name)
  }
  return {
    isNative: true,
    definitionOf: (name) => (tools.has(name) ? undeferred(fieldsOf(terms.tools.get(name))) : undefined),
    toolOf: (name) => tools.get(name),
    insideName: (namespace, name) =>
      names.get(keyOf(namespace, name)) ?? (namespace === name ? names.get(keyOf('', name)) : undefined),
    searchName: [...tools].find(([, { type }]) => type === 'tool_search')?.[0],
    hosted,
    settings: terms.settings,
    barred: terms.barred,
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
  const joined: { definition: Fields; tools: unknown[] }[] = []
  const places = new Map<string, { tools: unknown[] }>()
  for (const definition of definitions) {
    const place = definition.type === 'namespace' ? places.get(textOf(definition.name)) : undefined
    const tools = [...listOf(definition.tools)]
    if (place) {
      place.tools.push(...tools)
      continue
    }
    const entry = { definition, tools }
    joined.push(entry)
    if (definition.type === 'namespace') places.set(textOf(definition.name), entry)
  }
  return joined.map(({ definition, tools }) =>
    definition.type === 'namespace' ? { ...definition, tools } : definition,
  )
}
