// Every option of a shelf with its default, merged and checked once; nobody after this asks `??`.

import { closestNames, MCP_PREFIX, quote } from '../lib/index.ts'
import type { Rank } from './calls/index.ts'
import { classic } from './calls/index.ts'
import { ShelfError } from './errors.ts'
import type { Environment } from './gate/index.ts'
import { type Capabilities, capabilities, mergeCapabilities } from './gate/index.ts'
import type { Trace } from './trace.ts'
import { type Definition, type Tool, type Validate, type WireName, wireNames } from './types.ts'

/** What core cannot do itself: it has no clock, no environment and no packages. */
export type Services = {
  /** Checks a call's input (V1). Without it every input passes. */
  readonly validate: Validate
  /**
   * Without it nothing is waited for, and nothing times out. One that fails is over at once; core has no other clock, so
   * one that never ends makes a search wait until every server has settled.
   */
  readonly timer: ((milliseconds: number) => Timer) | undefined
  /** Told to the person who runs the agent, once per message. */
  readonly notify: (message: string) => void
  readonly trace: (event: Trace) => void
}

export type Timer = { readonly over: Promise<void>; readonly cancel: () => void }

export type Settings = Services & {
  readonly environment: Environment
  /** Overrides `ENABLE_TOOL_SEARCH`: true, false, 'auto', 'auto:N' (M). */
  readonly toolSearch: string | boolean | undefined
  /** A row of the capability table; unknown ones get everything loaded. */
  readonly provider: string
  readonly baseURL: string | undefined
  readonly capabilities: Capabilities
  /** In tokens; by default what the capability table says of the model. */
  readonly contextWindow: number | undefined
  /** Forces a wire; by default the capability table chooses. */
  readonly wire: WireName | undefined
  /** Which of the provider's own search tools the hosted wire uses; by default the first one offered. */
  readonly hostedSearch: 'bm25' | 'regex' | undefined
  /** `additions` by value need no definition in `tools`. */
  readonly additions: 'reference' | 'value'
  /** `staged` also sends the deferred tools that are not loaded (Q1). */
  readonly strategy: 'on-demand' | 'staged'
  readonly announce: 'delta' | 'prepend'
  /** One line of description with each announced name, cut at so many characters; 0 for names only. */
  readonly announceDescriptions: number
  /** The announcements' share of the context window (A7). */
  readonly announceShare: number
  /** Characters of each server's instructions that are announced; 0 for none. */
  readonly announceInstructions: number
  /** Keeps the definition of a loaded tool that vanished, on every model (N5). */
  readonly tombstones: boolean
  /** What happens to a valid call of a tool that was not loaded (V2). */
  readonly unloadedCalls: 'run' | 'refuse'
  /** Counts the tokens of these definitions, preamble included (T3). */
  readonly countTokens:
    | ((definitions: readonly Definition[], model: string) => Promise<number> | number)
    | undefined
  readonly countTimeout: number
  readonly rank: Rank
  readonly maxResults: number
  /** Milliseconds that a search waits for servers still connecting, unless a tool's name answers it (S8). */
  readonly pendingWait: number
  readonly searchTool: string
  readonly callTool: string
  /** In front of the server in the name of an MCP tool (H3). */
  readonly namePrefix: string
  /** Sends every tool under the name it was given, with all its fields, MCP or not; a name no API takes is an error. */
  readonly exactNames: boolean
  /** Characters of an MCP tool's description that the model reads (H5). */
  readonly descriptionLimit: number
  /** Characters of an MCP tool's whole definition; the schema of a larger one is shortened and says so (S17). */
  readonly definitionLimit: number
  /** Tokens that the definitions of one search answer may take; what does not fit is shortened (S17). */
  readonly answerTokens: number
  /** Put on the last tool that is never deferred: the end of the part that stays the same. */
  readonly cacheControl: object | undefined
  /** Permissions: a hidden tool is neither sent, announced nor found (S10). */
  readonly hidden: ((tool: Tool) => boolean) | undefined
  /** Sees each tool between match and load; false keeps it from loading (S16). */
  readonly allowLoad: ((tool: Tool, query: string) => boolean | Promise<boolean>) | undefined
}

export type Options = Partial<Omit<Settings, 'capabilities'>> & {
  /** Replaces parts of the capability table, or all of it. */
  readonly capabilities?: Partial<Capabilities>
}

/** What the model calls to search, unless a host names it otherwise. */
export const SEARCH_TOOL = 'ToolSearch'

const defaults: Settings = {
  validate: () => [],
  timer: undefined,
  notify: () => {},
  trace: () => {},
  environment: {},
  toolSearch: undefined,
  provider: 'anthropic',
  baseURL: undefined,
  capabilities,
  contextWindow: undefined,
  wire: undefined,
  hostedSearch: undefined,
  additions: 'reference',
  strategy: 'on-demand',
  announce: 'delta',
  announceDescriptions: 0,
  announceShare: 0.02,
  announceInstructions: 2048,
  tombstones: false,
  unloadedCalls: 'run',
  countTokens: undefined,
  countTimeout: 3000,
  rank: classic,
  maxResults: 5,
  pendingWait: 5000,
  searchTool: SEARCH_TOOL,
  callTool: 'CallTool',
  namePrefix: MCP_PREFIX,
  exactNames: false,
  descriptionLimit: 2048,
  definitionLimit: 100_000,
  answerTokens: 8000,
  cacheControl: undefined,
  hidden: undefined,
  allowLoad: undefined,
}

export function resolveOptions(options: Options): Settings {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(defaults, name))
  if (unknown) {
    const near = closestNames(unknown, [...Object.keys(defaults), 'tools', 'servers', 'state'])
    const hint = near.length > 0 ? `nearest: ${near.join(', ')}.` : 'docs/reference/options.md lists them.'
    throw new ShelfError(
      'BAD_OPTION',
      `there is no option "${unknown}" (given ${quote(given[unknown])}); ${hint}`,
      given[unknown],
    )
  }
  for (const [name, value] of Object.entries(given)) check(name as keyof Settings, value)
  const settings: Settings = { ...defaults, ...(given as Partial<Settings>) }
  if (settings.searchTool === settings.callTool)
    throw wrong('callTool', settings.callTool, 'another name than searchTool')
  return {
    ...settings,
    baseURL: settings.baseURL ?? settings.environment.ANTHROPIC_BASE_URL,
    capabilities:
      options.capabilities !== undefined
        ? mergeCapabilities(capabilities, options.capabilities)
        : capabilities,
  }
}

const oneOf: Partial<Record<keyof Settings, readonly unknown[]>> = {
  wire: wireNames,
  hostedSearch: ['bm25', 'regex'],
  additions: ['reference', 'value'],
  strategy: ['on-demand', 'staged'],
  announce: ['delta', 'prepend'],
  unloadedCalls: ['run', 'refuse'],
}

const atLeast: Partial<Record<keyof Settings, number>> = {
  contextWindow: 1,
  announceDescriptions: 0,
  announceShare: 0,
  announceInstructions: 0,
  countTimeout: 0,
  maxResults: 1,
  pendingWait: 0,
  descriptionLimit: 1,
  definitionLimit: 1000,
  answerTokens: 200,
}

const ofType: Partial<Record<keyof Settings, string>> = {
  tombstones: 'boolean',
  exactNames: 'boolean',
  provider: 'string',
  baseURL: 'string',
  cacheControl: 'object',
  environment: 'object',
}

const functions: readonly (keyof Settings)[] = [
  ...(['validate', 'timer', 'notify', 'trace', 'countTokens', 'rank', 'hidden', 'allowLoad'] as const),
]

function check(name: keyof Settings, value: unknown): void {
  const choices = oneOf[name]
  if (choices && !choices.includes(value)) throw wrong(name, value, choices.join(' or '))
  const least = atLeast[name]
  if (least !== undefined && !(typeof value === 'number' && value >= least && Number.isFinite(value))) {
    throw wrong(name, value, `a number of at least ${least}`)
  }
  const type = ofType[name]
  if (type && (typeof value !== type || value === null)) throw wrong(name, value, `a value of type ${type}`)
  if (functions.includes(name) && typeof value !== 'function') throw wrong(name, value, 'a function')
  if (name === 'toolSearch' && typeof value !== 'string' && typeof value !== 'boolean') {
    throw wrong(name, value, "true, false, 'auto' or 'auto:N'")
  }
  if ((name === 'searchTool' || name === 'callTool') && !/^[A-Za-z0-9_-]{1,64}$/.test(String(value))) {
    throw wrong(name, value, 'a tool name of letters, digits, "_" and "-"')
  }
}

export function wrong(name: string, value: unknown, expected: string): ShelfError {
  return new ShelfError('BAD_OPTION', `option "${name}" is ${quote(value)}; use ${expected}.`, value)
}
