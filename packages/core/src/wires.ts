// Defines the interface of a wire: how deferred tools are declared and loaded on one kind of back-end. Everything that a
// wire writes into a history, fold.ts must read back.
// Implements A5, D4, K4, Q1, Q2, Q5, Q7, Q9, S9, S11.

import type { Speaker } from './gate.ts'
import { type Facts, loadedOtherwise, referredNames } from './history.ts'
import { oncePer } from './lib/objects.ts'
import { callToolInput } from './names.ts'
import { describedNote, loadedNote, placeOfNames, withRemark } from './notes.ts'
import type { Settings } from './options.ts'
import { fitTools } from './signature.ts'
import { charactersFor } from './tokens.ts'
import type { Block, Definition, Message, PoolTool, ToolResult, WireName } from './types.ts'

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
type Working = {
  readonly immediate: readonly Definition[]
  /** Deferred and loaded, in the order of loading; includes removed tools that are kept. */
  readonly loaded: readonly Definition[]
  /** Deferred and not loaded, by name; a function, because most wires do not send them. */
  readonly unloaded: () => readonly Definition[]
}

/** Creates a wire. */
type MakeWire = (settings: Settings, hosted: 'bm25' | 'regex') => Wire

/** Returns the definition with `defer_loading`, which the back-end hides from the model (Q2, Q9). */
const withDeferLoading = oncePer(
  (definition: Definition): Definition => Object.freeze({ ...definition, defer_loading: true }),
)

/** Returns a search call and its result, as if the model had searched for these tools by name. */
function searchAgain(settings: Settings, tools: readonly PoolTool[], result: ToolResult): Message[] {
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

/** Creates the wire `append`. */
const append: MakeWire = (settings) => ({
  name: 'append',
  searchName: settings.searchTool,
  callsByName: true,
  takesReferences: false,
  takesAdditions: false,
  declared: ({ loaded }) => loaded,
  declare: ({ immediate, loaded }) => [searchTool(settings), ...immediate, ...loaded],
  answer: (id, tools, remark) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: [
      { type: 'text', text: [recall(tools.map(({ name }) => name)), ...(remark ? [remark] : [])].join('\n') },
    ],
  }),
  unseen: () => [],
  reload: () => [],
  recall,
  howToLoad: (name) => selectIt(settings, name),
})

function recall(names: readonly string[]): string {
  return `${loadedNote(names)}\nThey are in your list of tools now.`
}

/** Creates the wire `reference`. */
const reference: MakeWire = (settings) => {
  const wire: Wire = {
    name: 'reference',
    searchName: settings.searchTool,
    callsByName: true,
    takesReferences: true,
    takesAdditions: false,
    declared: ({ loaded }) => loaded,
    declare: ({ immediate, loaded, unloaded }) => [
      searchTool(settings),
      ...immediate,
      withDeferLoading(placeholder),
      ...loaded.map(withDeferLoading),
      ...(settings.strategy === 'staged' ? unloaded().map(withDeferLoading) : []),
    ],
    answer: (id, tools, remark) => {
      const content = tools.map(({ name }) => ({ type: 'tool_reference' as const, tool_name: name }))
      return withRemark({ type: 'tool_result', tool_use_id: id, content }, remark)
    },
    unseen: (facts) => loadedOtherwise(facts, 'reference'),
    reload: (tools, id) => searchAgain(settings, tools, wire.answer(id, tools)),
    recall: loadedEarlier,
    howToLoad: (name) => selectIt(settings, name),
  }
  return wire
}

/** Creates the wire `addition`. */
const addition: MakeWire = (settings, variant) => {
  const byReference = reference(settings, variant)
  const byValue = settings.additions === 'value'
  return {
    ...byReference,
    name: 'addition',
    takesAdditions: true,
    declare: (working) =>
      byValue
        ? [searchTool(settings), ...working.immediate, ...working.loaded.map(withDeferLoading)]
        : byReference.declare(working),
    declared: (facts) => (byValue ? referredNames(facts) : [...facts.loaded, ...referredNames(facts)]),
    answer: (id, tools, remark) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: written(tools, remark) }],
    }),
    unseen: (facts) => loadedOtherwise(facts, 'reference', 'addition', 'value'),
    reload: (tools) => [{ role: 'system', content: tools.map(byValue ? valueBlock : referenceBlock) }],
  }
}

function written(tools: readonly PoolTool[], remark: string | undefined): string {
  const names = tools.map(({ name }) => name)
  return [loadedNote(names), 'Their definitions follow.', ...(remark ? [remark] : [])].join('\n')
}

function referenceBlock({ name }: PoolTool): Block {
  return { type: 'tool_addition', tool: { type: 'tool_reference', name } }
}

function valueBlock({ definition }: PoolTool): Block {
  return { type: 'tool_addition', tool: { type: 'tool_definition', definition } }
}

/** Creates the wire `bridge`. */
const bridge: MakeWire = (settings) => {
  const wire: Wire = {
    name: 'bridge',
    searchName: settings.searchTool,
    callsByName: false,
    takesReferences: false,
    takesAdditions: false,
    declared: ({ loaded }) => loaded,
    declare: ({ immediate }) => [searchTool(settings, outcome(settings)), callTool(settings), ...immediate],
    answer: (id, tools, remark, definitions = tools.map(({ json }) => json)) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: writtenCall(settings, tools, definitions, remark) }],
    }),
    unseen: (facts) => loadedOtherwise(facts, 'text'),
    reload: (tools, id) => {
      const budget = charactersFor(settings.answerTokens)
      const { whole, text } = fitTools(tools, budget, selectIt(settings, '<name>'))
      const definitions = whole.map(({ json }) => json)
      const shown = { type: 'text' as const, text: writtenCall(settings, tools, definitions, text) }
      return searchAgain(settings, tools, { type: 'tool_result', tool_use_id: id, content: [shown] })
    },
    recall: loadedEarlier,
    howToLoad: (name) => selectIt(settings, name),
  }
  return wire
}

/** Writes the answer of a search. All of `tools` count as loaded; the remark describes those without a definition. */
function writtenCall(
  settings: Settings,
  tools: readonly PoolTool[],
  definitions: readonly string[],
  remark: string | undefined,
): string {
  const note = describedNote(tools.map(({ name }) => name))
  const isCompact = definitions.some((text) => !text.startsWith('{'))
  const about = isCompact
    ? ` ("?" marks what may be left out; ${selectIt(settings, '<name>')} for one whole)`
    : ''
  return [
    note,
    `Call them with ${settings.callTool}. Their definitions${about}:`,
    ...definitions,
    ...(remark ? [remark] : []),
  ].join('\n')
}

function outcome({ callTool }: Settings): string {
  return `The answer holds the definitions of the tools it found. Call one with ${callTool}, never by its own name.`
}

/** Creates the wire `hosted`. */
const hosted: MakeWire = (settings, variant) => ({
  ...reference(settings, variant),
  name: 'hosted',
  searchName: `tool_search_tool_${variant}`,
  declare: ({ immediate, loaded, unloaded }) => [
    hostedTool(variant),
    ...immediate,
    withDeferLoading(placeholder),
    ...loaded.map(withDeferLoading),
    ...unloaded().map(withDeferLoading),
  ],
  howToLoad: (name) => `Search for "${name}" with tool_search_tool_${variant}`,
})

/** The name of the placeholder. */
export const PLACEHOLDER = 'DeferredToolPlaceholder'

const LOADED_AT_ONCE =
  'What is found is loaded at once and callable like any other tool: no second search or select is needed.'

/** Returns the search tool; its description says where the names are announced (S11, A5). */
export function searchTool(settings: Settings, outcome = LOADED_AT_ONCE): Definition {
  const { searchTool: name, announce, maxResults } = settings
  const description = `Finds deferred tools and loads them, so that they can be called.

Deferred tools appear by name in ${placeOfNames(announce)} messages. Only the name is known until a tool is fetched here: it has no parameters yet and cannot be called. ${outcome}

Query forms:
- "slack send message": keywords; name the service, the action and the object. Returns up to max_results best matches.
- "+github issue": tools that have "github", ranked by the other words.
- "select:WebFetch,mcp__github__create_issue": exactly these tools, by name.
Fetch all the tools that a step needs in one search.`
  return {
    name,
    description,
    input_schema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Keywords, "+required words", or "select:" with exact names.' },
        max_results: { type: 'number', description: `How many tools at most; ${maxResults} if left out.` },
      },
      required: ['query'],
    },
  }
}

/** Returns the tool through which the model calls every deferred tool on the wire `bridge`. */
function callTool(settings: Settings): Definition {
  return {
    name: settings.callTool,
    description: `Calls a deferred tool whose definition ${settings.searchTool} has returned.`,
    input_schema: callToolInput(),
  }
}

/** A deferred tool in every request, so that the first real deferred tool does not change the prefix (Q7). */
const placeholder: Definition = Object.freeze({
  name: PLACEHOLDER,
  description: 'Holds a place. It does nothing and cannot be called.',
  input_schema: { type: 'object', properties: {} },
})

/** Returns the provider's own search tool. */
function hostedTool(variant: 'bm25' | 'regex'): Definition {
  return { type: `tool_search_tool_${variant}_20251119`, name: `tool_search_tool_${variant}` }
}

const wires: Record<WireName, MakeWire> = { reference, addition, append, bridge, hosted }

/** Creates the wire with this name. */
export function makeWire(name: WireName, { settings, capability }: Speaker): Wire {
  return wires[name](settings, settings.hostedSearch ?? capability.provider?.hosted?.[0] ?? 'regex')
}
