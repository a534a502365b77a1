// How one back-end spells deferral. A wire declares tools, writes what a search loaded, and knows what the model has
// not seen of it. Whatever a wire writes, the fold over history reads back (fold.ts); one suite checks them all.
// Implements Q2, Q9.
import type { Facts } from '../history/index.ts'
import type { Settings } from '../options.ts'
import type { Definition, Message, PoolTool, ToolResult, WireName } from '../types.ts'

export type Wire = {
  readonly name: WireName
  /** What the model calls to search. */
  readonly searchName: string
  /** True where a loaded tool is called by its own name, so that a host can force it. */
  readonly callsByName: boolean
  /** True where `tool_reference` may stand in the history that is sent. */
  readonly takesReferences: boolean
  /** True where `tool_addition` and `tool_removal` may. */
  readonly takesAdditions: boolean
  /** Names of deferred tools whose definitions the request must hold, in their order. */
  declared(facts: Facts): Iterable<string>
  /** The request's `tools`. */
  declare(working: Working): Definition[]
  /** The result of a search: the tools it loads, and a remark beside them (S9). */
  answer(id: string, tools: readonly PoolTool[], remark?: string): ToolResult
  /** Loaded names whose definitions this wire shows nowhere yet, e.g. after a compaction. */
  unseen(facts: Facts): string[]
  /** The messages that show them again. */
  reload(tools: readonly PoolTool[], id: string): Message[]
  /** What a search result says when its references cannot be sent; the fold reads it back where it can. */
  recall(names: readonly string[]): string
  /** Tells the model how to get at this tool's schema (V2). */
  howToLoad(name: string): string
}

/** The tools of one request, each group in its order (Q3). */
export type Working = {
  readonly immediate: readonly Definition[]
  /** Deferred and loaded, in the order of loading; those that vanished included where they are kept. */
  readonly loaded: readonly Definition[]
  /** Deferred and not loaded, by name; asked for only by those who send them. */
  readonly unloaded: () => readonly Definition[]
}

export type MakeWire = (settings: Settings, hosted: 'bm25' | 'regex') => Wire

const overlaid = new WeakMap<Definition, Definition>()

/** The overlay of one request on a definition that the back-end hides (Q2, Q9). */
export function deferred(definition: Definition): Definition {
  let overlay = overlaid.get(definition)
  if (!overlay) {
    overlay = Object.freeze({ ...definition, defer_loading: true })
    overlaid.set(definition, overlay)
  }
  return overlay
}

/** A search call and its answer, as if the model had asked for these tools by name. */
export function searchAgain(settings: Settings, tools: readonly PoolTool[], result: ToolResult): Message[] {
  const { tool_use_id: id } = result
  const query = `select:${tools.map(({ name }) => name).join(',')}`
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: settings.searchTool, input: { query } }] },
    { role: 'user', content: [result] },
  ]
}

/** How the model asks our own search tool for one tool. */
export function selectIt(settings: Settings, name: string): string {
  return `Call ${settings.searchTool} with {"query": "select:${name}"}`
}

/** Said of a search whose references were taken out. */
export function loadedEarlier(names: readonly string[]): string {
  return `Tools loaded: ${names.join(', ')}.`
}
