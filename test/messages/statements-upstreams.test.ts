// Statements 39 to 41 through the gateway: upstreams that know nothing of tool search, and OpenAI's that has its own.
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import type { MessagesRequest } from '../../packages/messages/src/types.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'
import { createResponsesUpstream } from '../../packages/messages/src/upstream/responses.ts'
import {
  assistant,
  deferred,
  found,
  reference,
  result,
  search,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, blockLine, expose, hosted, post, record, reply, start, upstreamOf } from './support/gateways.ts'
import { startResponses } from './support/openai-models.ts'

const read = tool('Read')
const waiting = [hosted('regex'), read, deferred('a'), deferred('b'), deferred('c')]

/** One conversation, turn by turn: searches of the API's, of the client's, beside calls, again, and in vain. */
const turns: readonly (readonly Fields[])[] = [
  [user(text('go'))],
  [assistant(search('srvtoolu_1'), found('srvtoolu_1', 'b'), use('t1', 'b')), user(result('t1'))],
  [assistant(text('Hm.'), search('srvtoolu_2'), found('srvtoolu_2'), text('No.')), user(text('again'))],
  [
    assistant(use('t2', 'Read'), { ...search('srvtoolu_3'), input: { pattern: '^[bc]$' } }),
    user(result('t2')),
  ],
  [assistant(found('srvtoolu_3', 'b', 'c'), use('t3', 'c')), user(result('t3'), text('more'))],
  [assistant(use('t4', 'find')), user(result('t4', [reference('a'), reference('b')]))],
  [assistant(use('t5', 'a'), use('t6', 'b')), user(result('t5'), result('t6'))],
]
const upTo = (turn: number) => turns.slice(0, turn + 1).flat()

/** What an API from before tool search is sent for each turn. */
async function sentFor(wire: 'append' | 'bridge', tools: readonly Fields[]): Promise<string[]> {
  const body = JSON.stringify({
    ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
    ...{ content: [{ type: 'text', text: 'Hi.' }], usage: {} },
  })
  const headers = { 'content-type': 'application/json' }
  const { url, requests } = await record({ status: 200, headers, body })
  const gateway = await start(createMessagesUpstream({ url, wire }))
  for (const turn of turns.keys()) {
    expect((await post(gateway, ask(tools, ...upTo(turn)))).status).toBe(200)
  }
  return requests.map((request) => request.body)
}

describe.each(['append', 'bridge'] as const)('to an upstream that does not know tool search, %s', (wire) => {
  test('wire 39 tools and messages only grow at their end; the same request gives the same bytes', async () => {
    const bodies = await sentFor(wire, waiting)
    expect(await sentFor(wire, waiting)).toEqual(bodies)
    const requests = bodies.map((body) => JSON.parse(body) as MessagesRequest)
    for (const [index, { tools, messages }] of requests.slice(1).entries()) {
      const before = requests[index]!
      expect(tools?.slice(0, before.tools?.length)).toEqual(before.tools)
      expect(messages.slice(0, before.messages.length)).toEqual(before.messages)
    }
    const sizes = requests.map(({ tools }) => tools?.length)
    expect(sizes).toEqual(wire === 'bridge' ? sizes.map(() => 3) : [2, 3, 3, 4, 4, 5, 5])
  })

  test('wire 39 the order of the tools that wait does not matter', async () => {
    const others = [hosted('regex'), deferred('z'), deferred('b'), read, deferred('c'), deferred('a')]
    expect(await sentFor(wire, others)).toEqual(await sentFor(wire, waiting))
  })

  test('wire 40 nothing of the contract leaks', async () => {
    for (const body of await sentFor(wire, waiting))
      expect(body).not.toMatch(
        /"(tool_reference|server_tool_use|tool_search_tool_result|tool_search_tool_regex_\d+|defer_loading|caller|input_examples)"/,
      )
  })

  test('wire 40 an API of that time takes all of it, over HTTP', async () => {
    const script = always({ call: 'a' }, { call: 'b' }, { say: 'Done.' })
    const { url } = await expose(upstreamOf(wire, script))
    const gateway = await start(createMessagesUpstream({ url: new URL(url), wire }))
    const headers = { 'anthropic-beta': 'advanced-tool-use-2025-11-20' }
    const messages: Fields[] = [user(text('go'))]
    const told: string[] = []
    for (let stop = ''; stop !== 'end_turn'; ) {
      const { content, stop_reason } = await reply(gateway, ask(waiting, ...messages), headers)
      told.push(...content.map(blockLine))
      const calls = content.filter(({ type }) => type === 'tool_use')
      messages.push(assistant(...content), user(...calls.map(({ id }) => result(String(id)))))
      stop = stop_reason
    }
    expect(told).toEqual([
      ...['server_tool_use tool_search_tool_regex {"pattern":"a"}', 'result [a]', 'tool_use a {}'],
      ...['server_tool_use tool_search_tool_regex {"pattern":"b"}', 'result [b]', 'tool_use b {}'],
      expect.stringMatching(/^text Done/),
    ])
  })
})

describe('OpenAI Responses', () => {
  const tools = [hosted('bm25'), read, deferred('zebra'), deferred('mail')]

  test('wire 41 from gpt-5.4 on the search is OpenAI’s own, run by the client', async () => {
    const { url, bodies } = await startResponses('zebra')
    const gateway = await start(createResponsesUpstream({ url }))
    const { content } = await reply(gateway, { ...ask(tools), model: 'gpt-5.4' })
    expect(content.map(blockLine)).toEqual([
      'server_tool_use tool_search_tool_bm25 {"query":"zebra"}',
      'result [zebra]',
      'tool_use zebra {"stripes":3}',
    ])
    expect(bodies[1]?.tools).toEqual(bodies[0]?.tools)
    expect(bodies[1]?.input).toMatchObject([
      { type: 'message' },
      { type: 'tool_search_call', execution: 'client', arguments: { query: 'zebra' } },
      { type: 'tool_search_output', tools: [{ type: 'function', name: 'zebra' }] },
    ])
    expect(JSON.stringify(bodies)).not.toContain('mail')
  })

  test('wire 41 a replay has the definitions with it, and calls come back by their names', async () => {
    const { url, bodies } = await startResponses('zebra')
    const gateway = await start(createResponsesUpstream({ url }))
    const request = { ...ask(tools), model: 'gpt-5.4' }
    const { content } = await reply(gateway, request)
    const call = content.at(-1)
    const messages = [user(text('go')), assistant(...content), user(result(String(call?.id), 'zebra ran'))]
    const end = await reply(gateway, { ...request, messages })
    expect(end.content.map(blockLine)).toEqual(['text Done: zebra ran'])
    const [, second, third] = bodies.map(({ input }) => input as Fields[])
    expect(third?.slice(1, 3)).toEqual(second?.slice(1, 3))
    expect(third?.[3]).toMatchObject({ type: 'function_call', name: 'zebra', namespace: 'zebra' })
  })

  test('wire 40, 41 before gpt-5.4 it is a plain function, and nothing leaks', async () => {
    const { url, bodies } = await startResponses('zebra')
    const gateway = await start(createResponsesUpstream({ url }))
    const { content } = await reply(gateway, { ...ask(tools), model: 'gpt-4.1' })
    expect(content.map(blockLine)).toContain('result [zebra]')
    expect(JSON.stringify(bodies)).not.toMatch(
      /tool_search_call|additional_tools|defer_loading|tool_reference/,
    )
  })
})
