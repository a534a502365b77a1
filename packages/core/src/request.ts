// Builds a request: its betas, the host's own tools and ours, and everything removed that must not be sent, wherever it comes
// from (M1, N1).
// Implements G7, K3, K4, M1, N1, Q4, Q6, Q9.

import { searchBetas } from './capabilities.ts'
import { additionBeta } from './gate.ts'
import { isFields } from './lib/json.ts'
import { countMarks, MAX_MARKS } from './reading.ts'
import {
  type Context,
  type Decision,
  type Definition,
  type Message,
  type MessageLike,
  type RequestLike,
  type RequestTool,
  type SendableItem,
  ShelfError,
} from './types.ts'
import type { Wire } from './wires.ts'

/** A host's request with the tools and messages to send, in the SDK's own types. */
export type RequestToSend<Request extends RequestLike> = Omit<Request, 'messages' | 'tools'> & {
  messages: MessagesOf<Request>
  tools: RequestTool[]
}

/** The messages of a request in the SDK's own type, without the shelf's notes. */
export type MessagesOf<Request extends RequestLike> = Request['messages'] extends readonly (infer Item)[]
  ? SendableItem<Item>[]
  : MessageLike[]

type Parts = {
  readonly tools: readonly Definition[]
  readonly messages: readonly Message[]
  /** Thinking by hand has to be off, because it must begin a series of calls and is left out there (N5). */
  readonly losesThinking: boolean
  readonly betas: readonly string[]
  /** The list of names in front of all messages, with `announce: 'prepend'` (A1). */
  readonly prepended: string | undefined
  readonly wire: Wire | undefined
  readonly decision: Decision
}

export function assemble<Request extends RequestLike>(
  hostRequest: Request,
  context: Context,
  { tools, messages, losesThinking, betas, prepended, wire, decision }: Parts,
): { readonly request: RequestToSend<Request>; readonly headers: Record<string, string> } {
  const { tools: _, betas: ownBetas, tool_choice, ...rest } = hostRequest as Request & HostFields
  const front = prepended === undefined ? [] : [{ role: 'user', content: prepended }]
  const sent = { ...rest, messages: prepended === undefined ? messages : [...front, ...messages] }
  const request = {
    ...sent,
    ...hostChoice(tool_choice, wire, context),
    ...hostBetas(ownBetas, context),
    ...(losesThinking ? { thinking: { type: 'disabled' } } : {}),
    tools: withBreakpoints(tools, sent, context),
  }
  const isSent = betas.length > 0 && decision.reason !== 'rejected'
  return {
    // The messages are the host's own, or copies of its type; the tools have the SDK's shape.
    request: request as unknown as RequestToSend<Request>,
    headers: isSent ? { 'anthropic-beta': betas.join(',') } : {},
  }
}

type HostFields = { tools?: unknown; betas?: unknown; tool_choice?: unknown }

/** Puts the request's own tools in front of the shelf's. Throws if one has the name of a tool on the shelf. */
export function withHostTools(
  { pool, own: { tools } }: Context,
  wire: Wire | undefined,
  ours: readonly Definition[],
): readonly Definition[] {
  const twice = tools.find(({ name }) => pool.byName.has(name) || ours.some((tool) => tool.name === name))
  const all = [...tools, ...ours]
  if (!twice) return wire?.takesReferences ? all : withoutDeferral(all)
  const message = `"${twice.name}" is both on the shelf and in the request's own tools; remove it from one of them.`
  throw new ShelfError('DUPLICATE_TOOL', message, twice)
}

/** Returns the beta headers: one that was sent stays for the conversation, unless the kill switch is on (Q4). */
export function betasFor(context: Context, wire: Wire | undefined): readonly string[] {
  const { state, mode, capability } = context
  if (mode.isKilled) return []
  const references = wire?.takesReferences ? (capability.provider?.betas ?? []) : []
  const additions = wire?.takesAdditions ? [additionBeta(context) ?? ''] : []
  const betas = [...new Set([...state.betas, ...references, ...additions])].filter((beta) => beta !== '')
  return betas.length === state.betas.length ? state.betas : betas
}

function withoutDeferral(tools: readonly Definition[]): Definition[] {
  return tools
    .filter(({ type }) => !String(type).startsWith('tool_search_tool_'))
    .map((tool) => (DEFERRAL.some((field) => field in tool) ? (undeferred(tool) as Definition) : tool))
}

const DEFERRAL = ['defer_loading', 'default_config', 'configs']

/** Removes the deferral from a tool, or from a toolset and its members. */
function undeferred(value: unknown): unknown {
  if (!isFields(value)) return value
  const { defer_loading: _, default_config, configs, ...rest } = value
  const members = isFields(configs) && Object.entries(configs).map(([name, one]) => [name, undeferred(one)])
  return {
    ...rest,
    ...(default_config === undefined ? {} : { default_config: undeferred(default_config) }),
    ...(members ? { configs: Object.fromEntries(members) } : {}),
  }
}

/**
 * Adds a breakpoint after the tools that stay the same during a conversation (Q9), unless the host has already used all
 * breakpoints that the API allows.
 */
function withBreakpoints(
  tools: readonly Definition[],
  rest: { readonly messages: readonly Message[]; readonly [field: string]: unknown },
  { settings, pool }: Context,
): readonly Definition[] {
  const own = tools.map((tool) => {
    const mark = (pool.byName.get(tool.name)?.tool as { cache_control?: object } | undefined)?.cache_control
    return mark && tool.defer_loading !== true ? { ...tool, cache_control: mark } : tool
  })
  const { cacheControl } = settings
  const last = cacheControl ? own.findLastIndex(({ defer_loading }) => defer_loading !== true) : -1
  const marked = own.map((tool, index) => (index === last ? { ...tool, cache_control: cacheControl } : tool))
  if (last < 0) return own
  // The last message stays, because a breakpoint of the request as a whole counts on its last block.
  const messages = rest.messages.filter(
    (message, index, { length }) => index === length - 1 || isMarked(message),
  )
  return countMarks({ ...rest, messages, tools: marked }) <= MAX_MARKS ? marked : own
}

/** Messages without a breakpoint. */
const unmarked = new WeakSet<Message>()

function isMarked(message: Message): boolean {
  if (unmarked.has(message)) return false
  if (countMarks({ messages: [message] }) > 0) return true
  if (isFields(message)) unmarked.add(message)
  return false
}

/** Drops a `tool_choice` that forces the search tool (Q6). Warns if the model refuses forced choices. */
function hostChoice(
  choice: unknown,
  wire: Wire | undefined,
  { settings, capability, model }: Context,
): object {
  if (choice === undefined) return {}
  const { type, name } = (choice ?? {}) as { type?: unknown; name?: unknown }
  if (name !== undefined && (name === settings.searchTool || name === wire?.searchName)) return {}
  if (!capability.forcedToolChoice && (type === 'any' || type === 'tool')) {
    settings.notify(`${model} refuses a tool_choice of "${type}"; use "auto".`)
  }
  return { tool_choice: choice }
}

function hostBetas(betas: unknown, { mode, settings }: Context): object {
  if (!Array.isArray(betas)) return {}
  const ours = mode.isKilled ? searchBetas(settings.capabilities) : new Set()
  const kept = betas.filter((beta) => !ours.has(String(beta)))
  return kept.length > 0 ? { betas: kept } : {}
}
