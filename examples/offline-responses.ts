// The offline model of the examples for OpenAI's Responses API: on loopback, with `tool_search` run by the client as
// gpt-5.4 and later have it. It refuses what it does not know, and calls only what it has been shown.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import { estimateTokens, type Shelf } from '@toolshelf/core'
import { savedLine, steps } from './offline-model.ts'

type Item = { readonly type?: string; readonly [field: string]: unknown }
type Body = { readonly tools: readonly Item[]; readonly input: readonly Item[]; readonly model: string }

export type OfflineResponses = {
  /** The base URL for OpenAI's SDK. */
  readonly url: string
  readonly bodies: readonly Body[]
  /** What was done with each request. */
  readonly actions: readonly string[]
  saved(shelf: Shelf): string
  close(): Promise<void>
}

export async function startOfflineResponses(): Promise<OfflineResponses> {
  const bodies: Body[] = []
  const actions: string[] = []
  const server = createServer(async (incoming, outgoing) => {
    const body = JSON.parse(await text(incoming)) as Body
    const fault = faultIn(body)
    const item = nextItem(body, bodies.push(body))
    actions.push(fault ?? deedOf(item))
    const response = { id: `resp_${bodies.length}`, object: 'response', status: 'completed', output: [item] }
    outgoing.writeHead(fault ? 400 : 200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify(fault ? { error: { message: fault } } : response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    bodies,
    actions,
    saved: (shelf) => saved(bodies, actions, shelf),
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => void server.close(() => resolve()))
    },
  }
}

const KNOWN: { readonly [type: string]: readonly string[] } = {
  message: ['id', 'type', 'role', 'content', 'status'],
  function_call: ['id', 'type', 'call_id', 'name', 'namespace', 'arguments', 'status'],
  function_call_output: ['type', 'call_id', 'output'],
  tool_search_call: ['id', 'type', 'call_id', 'execution', 'status', 'arguments'],
  tool_search_output: ['type', 'call_id', 'execution', 'status', 'tools'],
  function: ['type', 'name', 'description', 'parameters', 'strict'],
  tool_search: ['type', 'execution', 'description', 'parameters'],
}

function faultIn(body: Body): string | undefined {
  for (const item of [...body.tools, ...body.input, ...shownIn(body)]) {
    const known = KNOWN[item.type ?? 'message']
    if (!known) return `unknown type: ${item.type}`
    const extra = Object.keys(item).find((field) => !known.includes(field))
    if (extra !== undefined) return `unknown field: ${item.type}.${extra}`
  }
  const ids = (ending: string) =>
    body.input.filter(({ type }) => type?.endsWith(ending)).map(({ call_id: id }) => id)
  const isPaired = JSON.stringify(ids('_call')) === JSON.stringify(ids('_output'))
  return isPaired ? undefined : 'a call without an output, or an output without a call'
}

function shownIn({ input }: Body): readonly Item[] {
  return input.flatMap(({ tools }) => (tools ?? []) as Item[])
}

/** The next step of the task, or a search for its tool where no tool of that name has been shown. */
function nextItem(body: Body, number: number): Item {
  const done = body.input.filter(({ type }) => type === 'function_call_output').length
  const step = steps[done]
  const ids = { id: `item_${number}`, call_id: `call_${number}`, status: 'completed' }
  const say = (text: string) => {
    const content = [{ type: 'output_text', text, annotations: [] }]
    return { type: 'message', role: 'assistant', id: ids.id, status: 'completed', content }
  }
  if (!step || 'say' in step) return say(step?.say ?? 'Done.')
  const { call, input } = step
  const isLoaded = shownIn(body).some(({ name }) => name === call)
  if (isLoaded || body.tools.some(({ name }) => name === call)) {
    const namespace = isLoaded ? { namespace: call } : {}
    return { type: 'function_call', ...ids, name: call, ...namespace, arguments: JSON.stringify(input) }
  }
  const search = { query: 'search' in step ? step.search : call }
  const isAgain = body.input.some((item) => isDeepStrictEqual(item.arguments, search))
  if (isAgain) return say(`I searched for ${call} and cannot see it.`)
  return { type: 'tool_search_call', execution: 'client', ...ids, arguments: search }
}

function deedOf({ type, name }: Item): string {
  if (type === 'message') return 'says its piece (end_turn)'
  return `calls ${type === 'tool_search_call' ? 'ToolSearch' : name}`
}

function saved(bodies: readonly Body[], actions: readonly string[], shelf: Shelf): string {
  const all = estimateTokens(
    shelf
      .partition()
      .pool.tools.map(({ json }) => json)
      .join(''),
  )
  const searches = actions.filter((action) => action === 'calls ToolSearch').length
  const isSearch = ({ type }: Item) => type?.startsWith('tool_search') === true
  const plain = ({ input }: Body) => estimateTokens(JSON.stringify(input.filter((item) => !isSearch(item))))
  const without = bodies.filter((_, index) => actions[index] !== 'calls ToolSearch')
  return savedLine({
    tools: shelf.tools().length,
    rounds: bodies.length,
    extraRoundTrips: searches,
    tokensWith: bodies.reduce(
      (sum, { tools, input }) => sum + estimateTokens(JSON.stringify([tools, input])),
      0,
    ),
    tokensWithout: without.reduce((sum, body) => sum + all + plain(body), 0),
  })
}
