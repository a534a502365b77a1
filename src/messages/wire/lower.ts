// A request of the contract (deferred tools, references, hosted searches) → one that holds nothing of it, for
// upstreams that do not know it (wire 39, 40). What is visible, and from where on, the oracle says.
import { isDeferred, nameOf } from '../../core/oracle/catalogue.ts'
import { type Fields, fieldsOf, textOf, without } from '../../core/oracle/json.ts'
import { type Walk, walk } from '../../core/oracle/walk.ts'
import { plainSearchTool, variantOf } from '../hosted/tools.ts'
import type { MessagesRequest, Wire } from '../types.ts'
import { callTool } from './call-tool.ts'
import { lowerMessages } from './lower-messages.ts'
import { plainTool } from './plain-tool.ts'

export function lower(request: MessagesRequest, wire: Wire): MessagesRequest {
  if (wire === 'native') return request
  const walked = walk(request)
  const bridged = wire === 'bridge' ? joined(request, walked) : new Set<string>()
  const { tools: given, messages, ...rest } = request
  const tools = lowerTools(request, walked, bridged)
  return {
    ...rest,
    ...(given === undefined && tools.length === 0 ? {} : { tools }),
    messages: lowerMessages(walked, messages, { isBridge: wire === 'bridge', bridged }),
  }
}

/** The request with every tool in sight from the start: tool search is off. */
export function withEverythingLoaded(request: MessagesRequest): MessagesRequest {
  if (request.tools === undefined) return request
  const tools = request.tools.filter((tool) => variantOf(tool) === undefined).map(undeferred)
  return { ...request, tools }
}

/** A tool, or a toolset with what it says of its members. */
export function undeferred(tool: Fields): Fields {
  const { default_config, configs, ...rest } = without(tool, 'defer_loading')
  return {
    ...rest,
    ...(default_config === undefined
      ? {}
      : { default_config: without(fieldsOf(default_config), 'defer_loading') }),
    ...(configs === undefined
      ? {}
      : {
          configs: Object.fromEntries(
            Object.entries(fieldsOf(configs)).map(([name, one]) => [
              name,
              without(fieldsOf(one), 'defer_loading'),
            ]),
          ),
        }),
  }
}

/** What is visible in its order: what always was, then what joined; a forced tool that is not among it comes last. */
function lowerTools(request: MessagesRequest, { visible }: Walk, bridged: ReadonlySet<string>): Fields[] {
  const given = new Map((request.tools ?? []).map((tool) => [nameOf(tool), tool]))
  const seen = [...visible].filter(([name]) => !bridged.has(name))
  const forced = textOf(fieldsOf(request.tool_choice).name)
  const isSeen = visible.has(forced) && !bridged.has(forced)
  const added = visible.get(forced)
  const missing = isSeen ? undefined : (given.get(forced) ?? (added && (JSON.parse(added) as Fields)))
  return [
    ...(bridged.size > 0 ? [callTool] : []),
    ...seen.map(([name, json]) => plain(JSON.parse(json) as Fields, given.get(name))),
    ...(missing ? [plain(missing, missing)] : []),
  ]
}

/** The search tool, or the definition with old fields only; breakpoints stay on tools that do not move. */
function plain(definition: Fields, given: Fields | undefined): Fields {
  const variant = variantOf(definition)
  const tool = variant ? plainSearchTool(variant) : plainTool(undeferred(definition))
  const mark = given?.defer_loading === true ? undefined : given?.cache_control
  return mark === undefined || mark === null ? tool : { ...tool, cache_control: mark }
}

/** On the bridge, every tool that was not in sight from the start is called through CallTool. */
function joined({ tools = [] }: MessagesRequest, { visible }: Walk): ReadonlySet<string> {
  const always = new Set(tools.filter((tool) => !isDeferred(tool)).map(nameOf))
  return new Set([...tools.map(nameOf), ...visible.keys()].filter((name) => !always.has(name)))
}
