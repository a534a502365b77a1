// A model behind the Responses API that wants to call one tool: it searches for it, calls it, and repeats its result. Its
// server refuses every field and item that the API does not know.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { type Fields, fieldsOf, listOf } from '../../../packages/core/src/lib/json.ts'

type Model = { readonly url: URL; readonly bodies: Fields[] }

/** What a model sees at one point: its tools by name, and the results since the user spoke. */
type Sight = {
  readonly tools: readonly unknown[]
  readonly results: readonly string[]
  readonly query: string
}
type Deed =
  | { readonly call: string; readonly input: Fields }
  | { readonly search: string; readonly input: Fields }
  | { readonly say: string }

const SEARCHES = ['ToolSearch', 'tool_search_tool_bm25', 'tool_search_tool_regex', 'tool_search']
const MAX_RESULTS = 4

/** Calls the tool once it is in sight; `ran` is what a run of it says. */
function decide(target: string, { tools, results, query }: Sight): Deed {
  const last = results.at(-1) ?? ''
  if (last.includes(`${target} ran`)) return { say: `Done: ${last}` }
  if (tools.includes(target)) return { call: target, input: { stripes: 3 } }
  const search = SEARCHES.find((name) => tools.includes(name))
  if (!search || results.length >= MAX_RESULTS) return { say: `I cannot see ${target}.` }
  return { search, input: { [search.endsWith('regex') ? 'pattern' : 'query']: query } }
}

const KNOWN: { readonly [type: string]: readonly string[] } = {
  body: [
    ...['model', 'instructions', 'tools', 'input', 'store', 'stream', 'tool_choice', 'parallel_tool_calls'],
    ...['max_output_tokens', 'temperature', 'top_p', 'safety_identifier', 'text', 'reasoning', 'include'],
  ],
  message: ['type', 'role', 'content', 'id', 'status'],
  reasoning: ['type', 'id', 'summary', 'encrypted_content'],
  function_call: ['type', 'call_id', 'name', 'namespace', 'arguments', 'id', 'status'],
  function_call_output: ['type', 'call_id', 'output'],
  tool_search_call: ['type', 'call_id', 'execution', 'status', 'arguments'],
  tool_search_output: ['type', 'call_id', 'execution', 'status', 'tools'],
  additional_tools: ['type', 'role', 'tools'],
  function: ['type', 'name', 'description', 'parameters', 'strict'],
  tool_search: ['type', 'execution', 'description', 'parameters'],
}

/** What of a request the Responses API would not know. */
function faultOf(body: Fields): string | undefined {
  const inside = listOf(body.input).map(fieldsOf)
  const tools = [...listOf(body.tools), ...inside.flatMap((item) => listOf(item.tools))].map(fieldsOf)
  const hasSearch = !/^gpt-4/.test(String(body.model))
  for (const [type, value] of [
    ['body', body],
    ...[...inside, ...tools].map((one) => [String(one.type ?? (one.role && 'message')), one]),
  ] as [string, Fields][]) {
    const isNew = !hasSearch && /^(tool_search|additional_tools)/.test(type)
    if (isNew || !KNOWN[type]) return `unknown type: ${type}`
    const extra = Object.keys(value).find((field) => !KNOWN[type]?.includes(field))
    if (extra !== undefined) return `unknown field: ${type}.${extra}`
  }
  const calls = inside.filter(({ type }) => String(type).endsWith('_call')).map(({ call_id: id }) => id)
  const outputs = inside.filter(({ type }) => String(type).endsWith('_output')).map(({ call_id: id }) => id)
  const alone = [...calls, ...outputs].find((id) => !calls.includes(id) || !outputs.includes(id))
  return alone === undefined ? undefined : `no call or no output for ${alone}`
}

/** Models of the fourth generation neither reason nor search. */
function reasoningFault(body: Fields): string | undefined {
  if (!/^gpt-4/.test(String(body.model))) return undefined
  if (body.reasoning) return "Unsupported parameter: 'reasoning.effort' is not supported with this model."
  return body.include ? 'Encrypted content is not supported with this model.' : undefined
}

/** A Responses model on loopback, with `tool_search` unless it is of the fourth generation. */
export async function startResponses(target: string, query = target): Promise<Model> {
  const bodies: Fields[] = []
  const server = createServer(async (incoming, outgoing) => {
    const json = await text(incoming)
    const body = fieldsOf(json === '' ? {} : JSON.parse(json))
    const send = (status: number, value: unknown) => {
      outgoing.writeHead(status, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify(value))
    }
    if (incoming.method === 'GET')
      return send(200, { object: 'list', data: [{ id: 'gpt-5.4', object: 'model' }] })
    bodies.push(body)
    const fault = faultOf(body) ?? reasoningFault(body)
    if (fault) return send(400, { error: { message: fault, type: 'invalid_request_error' } })
    const response = responseTo(body, target, query, bodies.length)
    if (body.stream !== true) return send(200, response)
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of eventsOf(response))
      outgoing.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    outgoing.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`), bodies }
}

function responseTo(
  body: Fields,
  target: string,
  query: string,
  number: number,
): Fields & { output: Fields[] } {
  const items = listOf(body.input).map(fieldsOf)
  const asked = items.findLastIndex(({ role }) => role === 'user')
  const tools = [...listOf(body.tools), ...items.flatMap((item) => listOf(item.tools))].map(fieldsOf)
  const outputs = items.slice(asked).filter(({ type }) => String(type).endsWith('_output'))
  const deed = decide(target, {
    tools: tools.map(({ type, name }) => name ?? type),
    results: outputs.map(({ output }) => String(output ?? '')),
    query,
  })
  return {
    ...{ id: `resp_${number}`, object: 'response', status: 'completed', error: null, model: body.model },
    output: [itemOf(deed, number)],
    usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
  }
}

function itemOf(deed: Deed, number: number): Fields {
  const ids = { id: `item_${number}`, call_id: `call_${number}`, status: 'completed' }
  if ('say' in deed)
    return { type: 'message', role: 'assistant', ...ids, content: [{ type: 'output_text', text: deed.say }] }
  if ('search' in deed && deed.search === 'tool_search')
    return { type: 'tool_search_call', execution: 'client', ...ids, arguments: deed.input }
  const name = 'call' in deed ? deed.call : deed.search
  return { type: 'function_call', ...ids, name, arguments: JSON.stringify(deed.input) }
}

function* eventsOf(response: Fields & { output: Fields[] }): Generator<Fields> {
  yield { type: 'response.created', response: { ...response, output: [], usage: null } }
  for (const [output_index, item] of response.output.entries()) {
    yield { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } }
    yield { type: 'response.output_item.done', output_index, item }
  }
  yield { type: 'response.completed', response }
}
