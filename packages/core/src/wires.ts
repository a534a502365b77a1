// Defines the interface of a wire: how deferred tools are declared and loaded on one kind of back-end. Everything that a
// wire writes into a history, history.ts must read back.
// Implements A5, D4, K4, Q1, Q2, Q5, Q7, Q9, S9, S11.

import { capabilityOf } from './capabilities.ts'
import { type Speaker, wireInUse } from './gate.ts'
import { type Facts, loadedOtherwise, referredNames } from './history.ts'
import { oncePer } from './lib/objects.ts'
import { callToolInput } from './names.ts'
import { loadedNote, placeOfNames, textResult, withRemark } from './notes.ts'
import type { Settings } from './options.ts'
import { fitTools } from './signature.ts'
import { charactersFor } from './tokens.ts'
import type { Definition, Host, Message, PoolTool, State, ToolResult, WireName } from './types.ts'

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
  showAgain(tools: readonly PoolTool[], id: string): Message[]
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

type MakeWire = (settings: Settings, hosted: 'bm25' | 'regex') => Wire

/** Returns the definition with `defer_loading`, which the back-end hides from the model (Q2, Q9). */
const withDeferLoading = oncePer(
  (definition: Definition): Definition => Object.freeze({ ...definition, defer_loading: true }),
)

/** Returns a search call and its result, as if the model had searched for these tools by name. */
function searchAgain(settings: Settings, tools: readonly PoolTool[], result: ToolResult): Message[] {
  const { tool_use_id: id } = result
  const query = `select:${namesOf(tools).join(',')}`
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: settings.searchTool, input: { query } }] },
    { role: 'user', content: [result] },
  ]
}

const namesOf = (tools: readonly PoolTool[]) => tools.map(({ name }) => name)

/** Explains to the model how to search for one tool by name. */
export function selectIt(settings: Settings, name: string): string {
  return `Call ${settings.searchTool} with {"query": "select:${name}"}`
}

/** Returns the text of a search result whose references were removed. */
export function loadedEarlier(names: readonly string[]): string {
  return `Tools loaded: ${names.join(', ')}.`
}

/** What a wire does unless it says otherwise. */
const usual = (settings: Settings) => ({
  searchName: settings.searchTool,
  callsByName: true,
  takesReferences: false,
  takesAdditions: false,
  declared: ({ loaded }: Facts): Iterable<string> => loaded,
  unseen: (): string[] => [],
  showAgain: (): Message[] => [],
  recall: loadedEarlier,
  howToLoad: (name: string) => selectIt(settings, name),
})

const inLines = (...parts: readonly (string | undefined)[]) => parts.filter(Boolean).join('\n')

const append: MakeWire = (settings) => {
  const recall = (names: readonly string[]) => `${loadedNote(names)}\nThey are in your list of tools now.`
  return {
    ...usual(settings),
    name: 'append',
    declare: ({ immediate, loaded }) => [searchTool(settings), ...immediate, ...loaded],
    answer: (id, tools, remark) => textResult({ id }, inLines(recall(namesOf(tools)), remark)),
    recall,
  }
}

const reference: MakeWire = (settings) => {
  const answer: Wire['answer'] = (id, tools, remark) => {
    const content = tools.map(({ name }) => ({ type: 'tool_reference' as const, tool_name: name }))
    return withRemark({ type: 'tool_result', tool_use_id: id, content }, remark)
  }
  return {
    ...usual(settings),
    name: 'reference',
    takesReferences: true,
    declare: ({ immediate, loaded, unloaded }) => [
      searchTool(settings),
      ...immediate,
      withDeferLoading(placeholder),
      ...loaded.map(withDeferLoading),
      ...(settings.strategy === 'staged' ? unloaded().map(withDeferLoading) : []),
    ],
    answer,
    unseen: (facts) => loadedOtherwise(facts, 'reference'),
    showAgain: (tools, id) => searchAgain(settings, tools, answer(id, tools)),
  }
}

const addition: MakeWire = (settings, variant) => {
  const byReference = reference(settings, variant)
  const byValue = settings.additions === 'value'
  const added = ({ name, definition }: PoolTool) => ({
    type: 'tool_addition',
    tool: byValue ? { type: 'tool_definition', definition } : { type: 'tool_reference', name },
  })
  return {
    ...byReference,
    name: 'addition',
    takesAdditions: true,
    declare: (working) =>
      byValue
        ? [searchTool(settings), ...working.immediate, ...working.loaded.map(withDeferLoading)]
        : byReference.declare(working),
    declared: (facts) => (byValue ? referredNames(facts) : [...facts.loaded, ...referredNames(facts)]),
    answer: (id, tools, remark) =>
      textResult({ id }, inLines(loadedNote(namesOf(tools)), 'Their definitions follow.', remark)),
    unseen: (facts) => loadedOtherwise(facts, 'reference', 'addition', 'value'),
    showAgain: (tools) => [{ role: 'system', content: tools.map(added) }],
  }
}

const bridge: MakeWire = (settings) => {
  /** All of `tools` count as loaded; the remark describes those without a definition. */
  const answer = (
    id: string,
    tools: readonly PoolTool[],
    remark?: string,
    definitions?: readonly string[],
  ) => {
    const texts = definitions ?? tools.map(({ json }) => json)
    const isCompact = texts.some((text) => !text.startsWith('{'))
    const about = isCompact
      ? ` ("?" marks what may be left out; ${selectIt(settings, '<name>')} for one whole)`
      : ''
    const how = `Call them with ${settings.callTool}. Their definitions${about}:`
    return textResult({ id }, inLines(loadedNote(namesOf(tools), true), how, ...texts, remark))
  }
  return {
    ...usual(settings),
    name: 'bridge',
    callsByName: false,
    declare: ({ immediate }) => [
      searchTool(
        settings,
        `The answer holds the definitions of the tools it found. Call one with ${settings.callTool}, never by its own name.`,
      ),
      callTool(settings),
      ...immediate,
    ],
    answer,
    unseen: (facts) => loadedOtherwise(facts, 'text'),
    showAgain: (tools, id) => {
      const budget = charactersFor(settings.answerTokens)
      const { whole, text } = fitTools(tools, budget, selectIt(settings, '<name>'))
      const definitions = whole.map(({ json }) => json)
      return searchAgain(settings, tools, answer(id, tools, text, definitions))
    },
  }
}

/** The provider's own search. */
const hosted: MakeWire = (settings, variant) => {
  const name = `tool_search_tool_${variant}`
  return {
    ...reference(settings, variant),
    name: 'hosted',
    searchName: name,
    declare: ({ immediate, loaded, unloaded }) => [
      { type: `${name}_20251119`, name },
      ...immediate,
      withDeferLoading(placeholder),
      ...loaded.map(withDeferLoading),
      ...unloaded().map(withDeferLoading),
    ],
    howToLoad: (tool) => `Search for "${tool}" with ${name}`,
  }
}

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

const wires: Record<WireName, MakeWire> = { reference, addition, append, bridge, hosted }

/** The wires of these settings: every call asks for one. */
const made = oncePer((_: Settings) => new Map<string, Wire>())

export function makeWire(name: WireName, { settings, capability }: Speaker): Wire {
  const variant = settings.hostedSearch ?? capability.provider?.hosted?.[0] ?? 'regex'
  const known = made(settings)
  const wire = known.get(name + variant) ?? wires[name](settings, variant)
  known.set(name + variant, wire)
  return wire
}

/** Returns the wire by which the model could search in the last request; undefined if it could not. */
export function searchWire(host: Host, state: State): Wire | undefined {
  const { settings } = host
  const name = wireInUse(host, state)
  return (
    name &&
    makeWire(name, { settings, capability: capabilityOf('', settings.provider, settings.capabilities) })
  )
}
