// Refusals of requests that the gateway cannot answer, each with what to do.
import {
  blocksOf,
  changeIn,
  type Fields,
  fieldsOf,
  isDeferred,
  kindOf,
  listOf,
  oncePerFrozen,
  parseBetas,
  pathOf,
} from '@toolshelf/core/internal'
import { invalidRequest, type RefusedRequest, refuseRequest } from './errors.ts'
import { variantOf } from './hosted/hosted-search.ts'
import type { RequestPlan } from './plan.ts'
import type { ApiName, MessagesRequest, Upstream, UpstreamCall } from './types.ts'
import { foreignBlock } from './upstream/responses-request.ts'

const API_NAMES: { readonly [api in ApiName]: string } = {
  messages: 'the Messages API',
  chat: 'Chat Completions',
  responses: 'Responses',
}

/** Makes the refusal of a request that cannot be converted for its upstream. */
export function refuseUnconvertible(
  what: string,
  { api, remedy = 'Leave it out' }: { readonly api: ApiName; readonly remedy?: string | undefined },
): RefusedRequest {
  const message = `${what}: cannot be converted for this upstream. ${remedy}, or use an upstream that speaks ${API_NAMES[api]}.`
  return invalidRequest(message)
}

/**
 * Throws a refusal for what the upstream cannot express of the client's request. It comes before all conversion, so that
 * nothing is dropped on the way and the error names a place that the client knows.
 */
export function refuseInexpressible(request: MessagesRequest, { api }: Upstream, plan: RequestPlan): void {
  const { tools = [], messages, mcp_servers: servers } = request
  const refuse = (place: string, why: string, remedy = 'Leave it out') => {
    const instead = `${remedy}, or use an upstream that speaks ${API_NAMES.messages}.`
    return invalidRequest(`${place}: ${why}. ${instead}`)
  }
  const hidden = plan.mode === 'emulate' && plan.wire !== 'native' ? tools.findIndex(isHiddenToolset) : -1
  if (hidden >= 0)
    throw refuse(
      `tools.${hidden}`,
      `the gateway does not know the tools of a \`${kindOf(tools[hidden] as Fields)}\`, so it cannot search them for this upstream`,
      'Leave out `defer_loading`',
    )
  if (api === 'messages') return
  const index = tools.findIndex(isForeign)
  if (index >= 0) throw refuse(`tools.${index}`, foreignText(tools[index] as Fields, api))
  if (listOf(servers).length > 0)
    throw refuse(
      'mcp_servers',
      `Anthropic's API calls MCP servers, but this upstream speaks ${API_NAMES[api]}`,
    )
  for (const [at, message] of messages.entries()) {
    const added = foreignAddition(message)
    if (added) throw refuse(pathOf({ message: at, ...added }), foreignText(added.tool, api))
    const block = api === 'responses' ? foreignBlock(message) : undefined
    if (block)
      throw refuse(
        pathOf({ message: at, ...block }),
        `${API_NAMES[api]} has nothing like a '${block.type}' block`,
      )
  }
}

function isHiddenToolset(tool: Fields): boolean {
  return kindOf(tool).includes('toolset') && isDeferred(tool)
}

function isForeign(tool: Fields): boolean {
  return kindOf(tool) !== 'custom' && variantOf(tool) === undefined
}

function foreignText(tool: Fields, api: ApiName): string {
  return `a tool of type \`${kindOf(tool)}\` is part of Anthropic's API, but this upstream speaks ${API_NAMES[api]}`
}

/** The first tool that a message adds by value and only Anthropic's API knows. */
const foreignAddition = oncePerFrozen(({ content }: Fields): { index: number; tool: Fields } | undefined => {
  for (const [index, block] of blocksOf(content).entries())
    for (const change of [block, ...listOf(block.tool_changes)]) {
      const tool = changeIn(fieldsOf(change))?.definition
      if (tool && isForeign(tool)) return { index, tool }
    }
  return undefined
})

/** Throws a refusal if a request continues a stored thread. */
export function refuseThreads({ thread }: MessagesRequest): void {
  if (thread === undefined || thread === null) return
  const message = 'thread: this gateway does not store threads. Send the whole conversation.'
  throw refuseRequest(400, 'invalid_request_error', message, 'thread_unsupported_request')
}

/** Throws the refusal that the API itself would give. */
export async function refuseInvalid(request: MessagesRequest, { headers }: UpstreamCall): Promise<void> {
  const { validateKnown } = await import('./oracle/validate.ts')
  const betas = parseBetas(headers['anthropic-beta'])
  const error = validateKnown(request, betas)
  if (!error) return
  const { message, details } = error.body.error
  throw refuseRequest(error.status, 'invalid_request_error', message, details?.error_code)
}
