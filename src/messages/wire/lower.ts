// Translates a contract request (deferred tools, references, hosted searches) into a plain one for upstreams without tool
// search (wire 39, 40). The oracle determines which tools are visible, and from which message on.
// Implements wire 32, 39, 40.

import {
  entryOf,
  isDeferred,
  nameOf,
  type RequestWalk,
  type RevealedTool,
  walkRequest,
} from '../../core/oracle/index.ts'
import {
  CALL_TOOL,
  type Fields,
  fieldsOf,
  omitFields,
  oncePerFrozen,
  textOf,
  withoutCacheControl,
} from '../../lib/index.ts'
import { plainSearchTool, variantOf } from '../hosted/index.ts'
import { stringifyExact } from '../json/index.ts'
import type { MessagesRequest, UpstreamWire } from '../types.ts'
import { callToolDefinition } from './call-tool.ts'
import { withDirectives } from './directives.ts'
import { isPlainMessage, lowerMessages } from './lower-messages.ts'
import { plainTool } from './plain-tool.ts'
import { withRemarksInside } from './remarks.ts'

/** Options of `lower`. */
export type Lowering = {
  /** The upstream's limit on tools per request. */
  readonly maxTools?: number | undefined
  /** Keeps tool fields of newer APIs, such as `strict`. */
  readonly keepsFields?: boolean
}

/** Translates a request for a wire. */
export function lower(
  contract: MessagesRequest,
  wire: UpstreamWire,
  lowering: Lowering = {},
): MessagesRequest {
  if (wire === 'native') return contract
  const request = withDirectives(withRemarksInside(contract))
  const walked = walkRequest(request, isPlainMessage)
  const bridged = bridgedTools(request, walked, wire, lowering)
  const { tools: all, messages, ...rest } = request
  const tools = lowerTools(request, walked, bridged, lowering)
  return {
    ...rest,
    ...(all === undefined && tools.length === 0 ? {} : { tools }),
    messages: lowerMessages(withExactDefinitions(walked, all, bridged), messages, bridged),
  }
}

/** Uses the client's own definition text wherever a definition is shown as text. */
function withExactDefinitions(
  walked: RequestWalk,
  tools: MessagesRequest['tools'] = [],
  bridged: ReadonlySet<string>,
): RequestWalk {
  if (bridged.size === 0) return walked
  const own = new Map(tools.map((tool) => [nameOf(tool), tool]))
  const exact = ({ name, definition }: RevealedTool): RevealedTool => ({
    name,
    definition: stringifyExact(definitionOf(definition, own.get(name))),
  })
  const steps = walked.steps.map((step) =>
    step.revealed.length === 0 ? step : { ...step, revealed: step.revealed.map(exact) },
  )
  return { ...walked, steps }
}

/** Makes every tool visible from the start, for mode `off`. */
export function withEverythingLoaded(request: MessagesRequest): MessagesRequest {
  if (request.tools === undefined) return request
  return { ...request, tools: allLoaded(request.tools) }
}

const allLoaded = oncePerFrozen((tools: readonly Fields[]): readonly Fields[] =>
  Object.freeze(tools.filter((tool) => variantOf(tool) === undefined).map(withoutDeferral)),
)

/** Removes the deferral fields of a tool, or of a toolset and its members. */
export function withoutDeferral(tool: Fields): Fields {
  if (!('defer_loading' in tool || 'default_config' in tool || 'configs' in tool)) return tool
  const { default_config, configs, ...rest } = omitFields(tool, 'defer_loading')
  return {
    ...rest,
    ...(default_config === undefined
      ? {}
      : { default_config: omitFields(fieldsOf(default_config), 'defer_loading') }),
    ...(configs === undefined
      ? {}
      : {
          configs: Object.fromEntries(
            Object.entries(fieldsOf(configs)).map(([name, one]) => [
              name,
              omitFields(fieldsOf(one), 'defer_loading'),
            ]),
          ),
        }),
  }
}

/**
 * Lists the visible tools: first those that always were, then those found later, then a forced tool that is not among
 * them. If CallTool serves only tools beyond the limit, it comes after the tools that were listed before it.
 */
function lowerTools(
  request: MessagesRequest,
  { visible }: RequestWalk,
  bridged: ReadonlySet<string>,
  lowering: Lowering,
): Fields[] {
  const own = new Map((request.tools ?? []).map((tool) => [nameOf(tool), tool]))
  const seen = [...visible].filter(([name]) => !bridged.has(name))
  const forced = textOf(fieldsOf(request.tool_choice).name)
  const isSeen = visible.has(forced) && !bridged.has(forced)
  const added = visible.get(forced)
  const missing = isSeen ? undefined : (own.get(forced) ?? (added && (JSON.parse(added) as Fields)))
  const listed = [
    ...seen.map(([name, json]) => plainSeen(json, own.get(name), lowering)),
    ...(missing ? [plain(missing, missing, lowering)] : []),
  ]
  if (bridged.size === 0) return listed
  return lowering.maxTools === undefined ? [callToolDefinition, ...listed] : [...listed, callToolDefinition]
}

type PlainTool = { readonly json: string; readonly keepsFields: boolean; readonly tool: Fields }

const plainTools = new WeakMap<Fields, PlainTool>()

/** Like `plain`, but returns the same object for the same definition of the same tool. */
function plainSeen(json: string, own: Fields | undefined, lowering: Lowering): Fields {
  if (!own || !Object.isFrozen(own)) return plain(definitionOf(json, own), own, lowering)
  const { keepsFields = false } = lowering
  const known = plainTools.get(own)
  if (known?.json === json && known.keepsFields === keepsFields) return known.tool
  const tool = Object.freeze(plain(definitionOf(json, own), own, lowering))
  plainTools.set(own, { json, keepsFields, tool })
  return tool
}

/** Parses a definition; returns the client's own object if it is the same, because that keeps long numbers exact. */
function definitionOf(json: string, own: Fields | undefined): Fields {
  const isOwn = own !== undefined && entryOf(own).definition === json
  return isOwn
    ? (withoutCacheControl(omitFields(own, 'defer_loading')) as Fields)
    : (JSON.parse(json) as Fields)
}

/** A definition with the fields that the upstream accepts; cache breakpoints stay only on tools that do not move. */
function plain(definition: Fields, own: Fields | undefined, { keepsFields = false }: Lowering): Fields {
  const variant = variantOf(definition)
  const shown = withoutDeferral(definition)
  const tool = variant ? plainSearchTool(variant) : keepsFields ? shown : plainTool(shown)
  const mark = own?.defer_loading === true ? undefined : own?.cache_control
  return mark === undefined || mark === null ? tool : { ...tool, cache_control: mark }
}

/** Tools called through CallTool: with `bridge` all that searches found, else those beyond the upstream's limit. */
function bridgedTools(
  request: MessagesRequest,
  { visible }: RequestWalk,
  wire: UpstreamWire,
  { maxTools = Number.POSITIVE_INFINITY }: Lowering,
): ReadonlySet<string> {
  const { tools = [], tool_choice: choice } = request
  const always = new Set(tools.filter((tool) => !isDeferred(tool)).map(nameOf))
  const names = [...tools.map(nameOf), ...visible.keys()]
  if (wire === 'bridge') return new Set(names.filter((name) => !always.has(name)))
  if (names.includes(CALL_TOOL)) return new Set()
  const joined = [...visible.keys()].filter((name) => !always.has(name))
  const forced = textOf(fieldsOf(choice).name)
  const isForced = forced !== '' && !always.has(forced)
  // One place is reserved for CallTool from the start, so that the list only ever grows at its end.
  const places = maxTools - (visible.size - joined.length) - (isForced ? 2 : 1)
  return new Set(joined.slice(Math.max(0, places)))
}
