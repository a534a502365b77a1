// Defines the interface of a wire: how deferred tools are declared and loaded on one kind of back-end. Everything that a
// wire writes into a history, fold.ts must read back.
// Implements Q2, Q9.
import type { Facts } from '../history/index.ts'
import type { Settings } from '../options.ts'
import type { Definition, Message, PoolTool, ToolResult, WireName } from '../types.ts'

/** How deferred tools are declared and loaded on one kind of back-end. */
export type Wire = {
  readonly name: WireName
  /** The name of the search tool. */
  readonly searchName: string
  /** The model calls a loaded tool by its own name, so that a host can force it. */
  readonly callsByName: boolean
  /** Messages may contain `tool_reference`. */
  readonly takesReferences: boolean
  /** Messages may contain `tool_addition` and `tool_removal`. */
  readonly takesAdditions: boolean
  /** Returns the names of the deferred tools whose definitions the request must contain, in order. */
  declared(facts: Facts): Iterable<string>
  /** Returns the request's `tools`. */
  declare(working: Working): Definition[]
  /** Returns the result of a search: loads the tools and adds a remark (S9). `definitions` are their texts, if not JSON. */
  answer(id: string, tools: readonly PoolTool[], remark?: string, definitions?: readonly string[]): ToolResult
  /** Returns loaded names whose definitions are not visible on this wire, e.g. after a compaction. */
  unseen(facts: Facts): string[]
  /** Returns the messages that show them again. */
  reload(tools: readonly PoolTool[], id: string): Message[]
  /** Returns the text of a search result whose references cannot be sent. */
  recall(names: readonly string[]): string
  /** Explains to the model how to get this tool's schema (V2). */
  howToLoad(name: string): string
}

/** The tools of one request, each group in order (Q3). */
export type Working = {
  readonly immediate: readonly Definition[]
  /** Deferred and loaded, in the order of loading; includes removed tools that are kept. */
  readonly loaded: readonly Definition[]
  /** Deferred and not loaded, by name; a function, because most wires do not send them. */
  readonly unloaded: () => readonly Definition[]
}

/** Creates a wire. */
export type MakeWire = (settings: Settings, hosted: 'bm25' | 'regex') => Wire

const overlaid = new WeakMap<Definition, Definition>()

/** Returns the definition with `defer_loading`, which the back-end hides from the model (Q2, Q9). */
export function withDeferLoading(definition: Definition): Definition {
  let overlay = overlaid.get(definition)
  if (!overlay) {
    overlay = Object.freeze({ ...definition, defer_loading: true })
    overlaid.set(definition, overlay)
  }
  return overlay
}

/** Returns a search call and its result, as if the model had searched for these tools by name. */
export function searchAgain(settings: Settings, tools: readonly PoolTool[], result: ToolResult): Message[] {
  const { tool_use_id: id } = result
  const query = `select:${tools.map(({ name }) => name).join(',')}`
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: settings.searchTool, input: { query } }] },
    { role: 'user', content: [result] },
  ]
}

/** Explains to the model how to search for one tool by name. */
export function selectIt(settings: Settings, name: string): string {
  return `Call ${settings.searchTool} with {"query": "select:${name}"}`
}

/** Returns the text of a search result whose references were removed. */
export function loadedEarlier(names: readonly string[]): string {
  return `Tools loaded: ${names.join(', ')}.`
}
