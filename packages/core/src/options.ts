// Defines all options of a shelf with their defaults, and merges and validates them once.
// Implements A6.

import type { FindRelated } from './answer.ts'
import { type Capabilities, defaultCapabilities, mergeCapabilities } from './capabilities.ts'
import type { TraceListener } from './events.ts'
import { fieldsOf } from './lib/json.ts'
import type { Environment } from './lib/objects.ts'
import { quote } from './lib/text.ts'
import { CALL_TOOL, closestNames, MCP_PREFIX, SEARCH_TOOL } from './names.ts'
import { classicRank, type Rank } from './query.ts'
import type { ResultSettings } from './results.ts'
import { type Definition, ShelfError, type Tool, type Validate, type WireName, wireNames } from './types.ts'

/** Functions that core needs from its host, because it has no clock and no packages. */
export type Services = {
  /**
   * Validates a call's input against the tool's schema (V1). Default in core: all pass; in the main entry:
   * `validateInput`.
   */
  readonly validate: Validate
  /**
   * Starts a timer. Without one, searches do not wait for servers and nothing times out. A timer that throws or rejects
   * counts as expired; one that never expires makes a search wait until every server has settled. Default in core: none;
   * in the main entry: the clock.
   */
  readonly timer: ((milliseconds: number) => Timer) | undefined
  /** Lets other work run during work over thousands of tools or values. Default in core: none; in the main entry: the event loop. */
  readonly pause: Pause
  /** Receives warnings for the operator, each once. Default in core: none; in the main entry: `console.warn`. */
  readonly notify: (message: string) => void
  /** Receives the events of every conversation; without it none are built. Default: none. */
  readonly trace: TraceListener | undefined
}

/** Lets other work run; returns undefined if it is too early for that. */
export type Pause = () => Promise<void> | undefined

/** A running timer: `over` resolves when the time is up, `cancel` stops it. */
export type Timer = { readonly over: Promise<void>; readonly cancel: () => void }

/** Every option with its value. */
export type Settings = Services & {
  /** Environment variables such as `ENABLE_TOOL_SEARCH`. Default in core: none; in the main entry: `process.env`. */
  readonly environment: Environment
  /**
   * Turns tool search on (`true`), off (`false`), or on if the tools take a share of the context window: `'auto'` (10 %)
   * or `'auto:N'` (N %). Overrides `ENABLE_TOOL_SEARCH` (M). Default: `ENABLE_TOOL_SEARCH`, else on.
   */
  readonly toolSearch: string | boolean | undefined
  /**
   * The back-end, as named in the capability table: anthropic, aws, bedrock, vertex, foundry, baseten or
   * openai-compatible. An unknown one gets every tool loaded. Default: `'anthropic'`.
   */
  readonly provider: string
  /** Where requests are sent; a host that is not the provider's counts as a proxy. Default: `ANTHROPIC_BASE_URL`. */
  readonly baseURL: string | undefined
  /** What models and back-ends can do. Default: the table that comes with the package. */
  readonly capabilities: Capabilities
  /** The model's context window in tokens. Default: by the capability table. */
  readonly contextWindow: number | undefined
  /** How loaded tools reach the model: one of the five wires. Default: by the capability table. */
  readonly wire: WireName | undefined
  /** The provider's search tool that the wire `hosted` uses. Default: the first one offered. */
  readonly hostedSearch: 'bm25' | 'regex' | undefined
  /** How the wire `addition` adds tools; by value they need no definition in `tools`. Default: `'reference'`. */
  readonly additions: 'reference' | 'value'
  /** `'staged'` also sends tools that are not loaded, hidden from the model (Q1). Default: `'on-demand'`. */
  readonly strategy: 'on-demand' | 'staged'
  /**
   * Announces new names where they appear (`'delta'`), or all names in one list in front of the messages (`'prepend'`).
   * Default: `'delta'`.
   */
  readonly announce: 'delta' | 'prepend'
  /** Characters of description beside each announced name. Default: 0, names only. */
  readonly announceDescriptions: number
  /** The share of the context window that announcements may take (A7). Default: 0.02. */
  readonly announceShare: number
  /** Characters of each server's instructions that are announced; 0 for none. Default: 2048. */
  readonly announceInstructions: number
  /** Keeps sending the definition of a loaded tool that was removed, on every model (N5). Default: false. */
  readonly tombstones: boolean
  /** Whether a valid call of a tool that was not loaded is run or refused (V2). Default: `'run'`. */
  readonly unloadedCalls: 'run' | 'refuse'
  /**
   * Counts the tokens of definitions for `'auto'`, as the API does; 500 are subtracted for its fixed preamble (T3). Default:
   * an estimate.
   */
  readonly countTokens:
    | ((definitions: readonly Definition[], model: string) => Promise<number> | number)
    | undefined
  /** Milliseconds that `countTokens` may take. Default: 3000. */
  readonly countTimeoutMs: number
  /** Orders tools by how well they fit a search. Default in core: `classicRank`; in the main entry: `'hybrid'`. */
  readonly rank: Rank
  /** Tools that a search loads, unless the model asks for more or fewer. Default: 5. */
  readonly maxResults: number
  /** Milliseconds that a search waits for servers still connecting, unless it names a tool (S8). Default: 5000. */
  readonly pendingWaitMs: number
  /** The name of the search tool. Default: `'ToolSearch'`. */
  readonly searchTool: string
  /** The name of the tool through which the model calls others on the wire `bridge`. Default: `'CallTool'`. */
  readonly callTool: string
  /** Prefix of an MCP tool's name, in front of its server: `mcp__github__create_issue` (H3). Default: `'mcp__'`. */
  readonly namePrefix: string
  /**
   * Sends every tool under its own name, up to 128 characters, with all its fields; throws for a name that no API accepts.
   * Default: false.
   */
  readonly exactNames: boolean
  /** Characters of an MCP tool's description that the model reads (H5). Default: 2048. */
  readonly descriptionLimit: number
  /** Maximum characters of an MCP tool's definition; the schema of a larger one is shortened (S17). Default: 100,000. */
  readonly definitionLimit: number
  /** Maximum tokens of one search answer; beyond, matches are shortened to signatures and names (S17). Default: 8000. */
  readonly answerTokens: number
  /** A `cache_control` for the last tool that is always sent, such as `{ type: 'ephemeral' }`. Default: none. */
  readonly cacheControl: object | undefined
  /** Returns true for a tool that must not be sent, announced or found (S10). Default: none is hidden. */
  readonly isHidden: ((tool: Tool) => boolean) | undefined
  /** Called for each tool that a search is about to load; false prevents it (S16). Default: all may load. */
  readonly allowLoad: ((tool: Tool, query: string) => boolean | Promise<boolean>) | undefined
  /** Finds what fits a search beside tools, such as skills: the answer names it with what to do. Default: none. */
  readonly related: FindRelated | undefined
  /** Keeps long results out of the context: the model gets a preview and reads on with ReadResult. Default: off. */
  readonly results: ResultSettings | undefined
}

/** Settings of a shelf, all optional. */
export type Options = Partial<Omit<Settings, 'capabilities'>> & {
  /**
   * Replaces parts of the capability table, or all of it; `keepCapabilitiesFresh` reloads it from a file or URL.
   * Default: the table that comes with the package.
   */
  readonly capabilities?: Partial<Capabilities>
}

/** What an option takes, and how the error says it. */
type Check = readonly [isValid: (value: unknown) => boolean, expected: string]

const isFunction: Check = [(value) => typeof value === 'function', 'a function']
const ofType = (type: string): Check => [
  (value) => typeof value === type && value !== null,
  `a value of type ${type}`,
]
const oneOf = (...choices: readonly unknown[]): Check => [
  (value) => choices.includes(value),
  choices.join(' or '),
]
const atLeast = (min: number): Check => [
  (value) => typeof value === 'number' && value >= min && Number.isFinite(value),
  `a number of at least ${min}`,
]
const like = (pattern: RegExp, expected: string): Check => [
  (value) => typeof value === 'string' && pattern.test(value),
  expected,
]
const toolName = like(/^[A-Za-z0-9_-]{1,64}$/, 'a tool name of letters, digits, "_" and "-"')

/** Every option's default, and what it takes. */
const table: { readonly [Name in keyof Settings]: readonly [usual: Settings[Name], check?: Check] } = {
  validate: [() => [], isFunction],
  timer: [undefined, isFunction],
  pause: [() => undefined, isFunction],
  notify: [() => {}, isFunction],
  trace: [undefined, isFunction],
  environment: [{}, ofType('object')],
  toolSearch: [
    undefined,
    [(value) => ['string', 'boolean'].includes(typeof value), "true, false, 'auto' or 'auto:N'"],
  ],
  provider: ['anthropic', ofType('string')],
  baseURL: [undefined, ofType('string')],
  capabilities: [defaultCapabilities],
  contextWindow: [undefined, atLeast(1)],
  wire: [undefined, oneOf(...wireNames)],
  hostedSearch: [undefined, oneOf('bm25', 'regex')],
  additions: ['reference', oneOf('reference', 'value')],
  strategy: ['on-demand', oneOf('on-demand', 'staged')],
  announce: ['delta', oneOf('delta', 'prepend')],
  announceDescriptions: [0, atLeast(0)],
  announceShare: [0.02, atLeast(0)],
  announceInstructions: [2048, atLeast(0)],
  tombstones: [false, ofType('boolean')],
  unloadedCalls: ['run', oneOf('run', 'refuse')],
  countTokens: [undefined, isFunction],
  countTimeoutMs: [3000, atLeast(0)],
  rank: [classicRank, isFunction],
  maxResults: [5, atLeast(1)],
  pendingWaitMs: [5000, atLeast(0)],
  searchTool: [SEARCH_TOOL, toolName],
  callTool: [CALL_TOOL, toolName],
  namePrefix: [MCP_PREFIX, like(/^[A-Za-z0-9_-]{0,16}$/, 'at most 16 letters, digits, "_" and "-"')],
  exactNames: [false, ofType('boolean')],
  descriptionLimit: [2048, atLeast(1)],
  definitionLimit: [100_000, atLeast(1000)],
  answerTokens: [8000, atLeast(200)],
  cacheControl: [undefined, ofType('object')],
  isHidden: [undefined, isFunction],
  allowLoad: [undefined, isFunction],
  related: [undefined, isFunction],
  results: [undefined, [isResultSettings, 'an object with store, budget, idOf and newOwner']],
}

function isResultSettings(value: unknown): boolean {
  const { store, budget, idOf, newOwner } = fieldsOf(value)
  const { put, get, drop } = fieldsOf(store)
  const hasMethods = [idOf, newOwner, put, get, drop].every((method) => typeof method === 'function')
  return hasMethods && typeof budget === 'number' && budget >= 0
}

const defaults = Object.fromEntries(Object.entries(table).map(([name, [usual]]) => [name, usual])) as Settings

/** Merges options with their defaults; throws a `ShelfError` for an invalid or unknown one. */
export function resolveOptions(options: Options): Settings {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(defaults, name))
  if (unknown) {
    const near = closestNames(unknown, [...Object.keys(defaults), 'tools', 'servers', 'state'])
    const hint = near.length > 0 ? `nearest: ${near.join(', ')}.` : 'the type ShelfOptions lists them.'
    throw new ShelfError(
      'BAD_OPTION',
      `unknown option "${unknown}" (given ${quote(given[unknown])}); ${hint}`,
      given[unknown],
    )
  }
  for (const [name, value] of Object.entries(given)) {
    const [isValid, expected] = table[name as keyof Settings][1] ?? []
    if (isValid?.(value) === false) throw badOption(name, value, String(expected))
  }
  const settings: Settings = { ...defaults, ...(given as Partial<Settings>) }
  if (settings.searchTool === settings.callTool)
    throw badOption('callTool', settings.callTool, 'another name than searchTool')
  return {
    ...settings,
    baseURL: settings.baseURL ?? settings.environment.ANTHROPIC_BASE_URL,
    capabilities:
      options.capabilities !== undefined
        ? mergeCapabilities(defaultCapabilities, options.capabilities)
        : defaultCapabilities,
  }
}

/** Creates the error for an invalid option. */
export function badOption(name: string, value: unknown, expected: string): ShelfError {
  return new ShelfError('BAD_OPTION', `option "${name}" is ${quote(value)}; use ${expected}.`, value)
}
