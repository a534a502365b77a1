// Statements 24 to 32 through the gateway: replies, their counts, and how they come back.
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'
import { assistant, deferred, found, loading, result, search, text, tool, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import {
  ask,
  blockLine,
  COUNT,
  count,
  emulate,
  hosted,
  kinds,
  open,
  post,
  record,
  reply,
  start,
  stream,
  upstreamOf,
  ways,
} from './support/gateways.ts'

const read = tool('Read')
const mail = deferred('send_mail', { description: 'Sends a letter. '.repeat(20) })
const tools = [hosted('bm25'), read, mail, deferred('other')]
const sending = always({ say: 'I look.' }, { call: 'send_mail' }, { say: 'Sent: {{result}}' })

describe.each(ways)('%s', (way) => {
  test('wire 24 streamed and whole, the reply is the same', async () => {
    const gateway = await open(way, sending)
    const whole = await reply(gateway, ask(tools))
    const streamed = await gateway.client.messages.stream(ask(tools) as never).finalMessage()
    expect(streamed.content.map((block) => blockLine(block as never))).toEqual(whole.content.map(blockLine))
    expect(streamed.usage.input_tokens).toBe(whole.usage.input_tokens)
    expect(streamed.stop_reason).toBe(whole.stop_reason)
  })

  test('wire 25 searches have ids of the API’s, and calls say who makes them', async () => {
    const { content } = await reply(await open(way, sending), ask(tools))
    expect(content).toMatchObject([
      { type: 'text' },
      { id: expect.stringMatching(/^srvtoolu_[\w-]+$/), caller: { type: 'direct' } },
      { tool_use_id: content[1]?.id },
      { type: 'tool_use', caller: { type: 'direct' } },
    ])
    expect(content[3]?.id).not.toMatch(/^srvtoolu_/)
  })

  test('wire 25 history without callers is taken as well', async () => {
    const gateway = await open(way, sending)
    const { content } = await reply(gateway, ask(tools))
    const bare = content.map(({ caller: _, ...block }) => block)
    const turns = [user(text('go')), assistant(...bare), user(result(String(bare.at(-1)?.id)))]
    expect((await reply(gateway, ask(tools, ...turns))).stop_reason).toBe('end_turn')
  })

  test('wire 26 no count of tool searches is made up', async () => {
    const { usage } = await reply(await open(way, sending), ask(tools))
    expect(JSON.stringify(usage)).not.toContain('tool_search')
    const told = (usage.server_tool_use ?? {}) as Fields
    expect(
      Object.keys(told).every((name) => ['web_search_requests', 'web_fetch_requests'].includes(name)),
    ).toBe(true)
  })

  test('wire 27 the input is counted over all samplings, loaded definitions with it', async () => {
    const gateway = await open(way, sending)
    const { usage } = await reply(gateway, ask(tools))
    const [before, after] = gateway.seen.map(({ tokens }) => tokens)
    expect(usage.input_tokens).toBe(before! + after!)
    expect(after! - before!).toBeGreaterThan('Sends a letter. '.length * 5)
  })

  test('wire 28 whole replies too: the result of a search beside a call comes first in the next', async () => {
    const script = always({ calls: [{ search: 'letter' }, { call: 'Read' }] }, { call: 'send_mail' })
    const gateway = await open(way, script)
    const first = await reply(gateway, ask(tools))
    expect(first.stop_reason).toBe('tool_use')
    expect(first.content.map(blockLine)).toEqual([
      'server_tool_use tool_search_tool_bm25 {"query":"letter"}',
      'tool_use Read {}',
    ])
    const turns = [
      user(text('go')),
      assistant(...first.content),
      user(result(String(first.content[1]?.id), 'read'), text('And be quick.')),
    ]
    const second = await reply(gateway, ask(tools, ...turns))
    expect(second.content[0]).toEqual({
      type: 'tool_search_tool_result',
      tool_use_id: first.content[0]?.id,
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [{ type: 'tool_reference', tool_name: 'send_mail' }],
      },
    })
  })

  test('wire 29 the official client reads searches, errors and empty results', async () => {
    const { client } = await open(
      way,
      always({ search: 'letter' }, { call: 'tool_search_tool_bm25', input: {} }, { search: 'zebra' }),
    )
    const request = ask(tools) as never
    const created = await client.messages.create(request)
    const streamed = await client.messages.stream(request).finalMessage()
    for (const { content } of [created, streamed])
      expect(
        content.map((block) => blockLine(block as never)).filter((line) => line.startsWith('result')),
      ).toEqual(['result [send_mail]', 'result invalid_tool_input', 'result []'])
    expect((await client.messages.countTokens(request)).input_tokens).toBeGreaterThan(0)
  })

  test('wire 30 a history with searches, failed ones and none found comes back and is understood', async () => {
    const gateway = await open(way, always({ call: 'send_mail' }, { say: 'Sent.' }))
    const failed = { type: 'tool_search_tool_result_error', error_code: 'unavailable', error_message: null }
    const turns = [
      user(text('Before.')),
      assistant(
        ...[text('One.'), search('srvtoolu_1', 'tool_search_tool_bm25'), found('srvtoolu_1')],
        search('srvtoolu_2', 'tool_search_tool_bm25'),
        { type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_2', content: failed },
        ...[search('srvtoolu_3', 'tool_search_tool_bm25'), found('srvtoolu_3', 'send_mail'), text('Three.')],
      ),
      user(text('go')),
    ]
    const { content } = await reply(gateway, ask(tools, ...turns))
    expect(content.map(blockLine)).toEqual(['tool_use send_mail {}'])
  })

  test('wire 30 a long conversation continues from its own replies, unchanged', async () => {
    const script = {
      rules: [
        { when: 'first', do: [{ call: 'send_mail' }, { say: 'Sent.' }] },
        { when: 'second', do: [{ search: 'zebra' }, { say: 'None.' }] },
        { do: [{ call: 'send_mail' }] },
      ],
    }
    const gateway = await open(way, script)
    const said = await talk(gateway, ['first', 'second', 'third'])
    expect(said).toEqual([
      'server_tool_use tool_search_tool_bm25 {"query":"send mail"}',
      'result [send_mail]',
      'tool_use send_mail {}',
      expect.stringMatching(/^text Sent/),
      'server_tool_use tool_search_tool_bm25 {"query":"zebra"}',
      'result []',
      expect.stringMatching(/^text None/),
      'tool_use send_mail {}',
      expect.stringMatching(/^text /),
    ])
  })

  test('wire 31 tools that wait count nothing, loaded ones do, search tools are taken', async () => {
    const gateway = await open(way, sending)
    const small = await count(gateway, ask([hosted('bm25'), read, deferred('other')]))
    expect(await count(gateway, ask(tools))).toBe(small)
    const turns = loading('send_mail')
    const loaded = await count(gateway, ask(tools, ...turns))
    const without = await count(gateway, ask([...tools.slice(0, 2), deferred('tiny')], ...loading('tiny')))
    expect(loaded - without).toBeGreaterThan(50)
    const { headers } = await post(gateway, ask(tools), { path: COUNT })
    expect(headers.get('x-toolshelf-estimate')).toBeNull()
  })
})

async function talk(gateway: { url: string }, sayings: readonly string[]): Promise<string[]> {
  const messages: unknown[] = []
  const told: string[] = []
  for (const saying of sayings) {
    messages.push(user(text(saying)))
    for (;;) {
      const { content, stop_reason } = await reply(gateway, ask(tools, ...messages))
      told.push(...content.map(blockLine))
      messages.push(assistant(...content))
      if (stop_reason !== 'tool_use') break
      const calls = content.filter(({ type }) => type === 'tool_use')
      messages.push(user(...calls.map(({ id }) => result(String(id)))))
    }
  }
  return told
}

describe.each(kinds)('emulate on %s', (kind) => {
  test.each([
    ['auto', { type: 'auto', disable_parallel_tool_use: true }],
    ['any', { type: 'any' }],
    ['none', { type: 'none' }],
    ['a tool in sight', { type: 'tool', name: 'Read' }],
  ])('wire 32 tool_choice %s passes untouched', async (_, choice) => {
    const gateway = await emulate(kind, sending)
    await reply(gateway, { ...ask(tools), tool_choice: choice })
    expect(gateway.seen[0]?.request.tool_choice).toEqual(choice)
  })

  test('wire 32 a forced tool is among the tools, loaded or not, and can be called', async () => {
    const gateway = await emulate(kind, sending)
    const choice = { type: 'tool', name: 'send_mail' }
    await reply(gateway, { ...ask(tools), tool_choice: choice })
    await reply(gateway, { ...ask(tools, ...loading('send_mail')), tool_choice: choice })
    for (const { request } of gateway.seen.slice(0, 2)) {
      expect(request.tool_choice).toEqual(choice)
      expect(request.tools?.filter(({ name }) => name === 'send_mail')).toHaveLength(1)
    }
  })
})

describe('an upstream that counts nothing', () => {
  test('wire 31 its tokens are estimated, and labelled so', async () => {
    const gateway = await start({ ...upstreamOf('append', sending), countTokens: async () => undefined })
    const one = await post(gateway, ask(tools), { path: COUNT })
    expect(one.headers.get('x-toolshelf-estimate')).toMatch(/./)
    const waiting = await count(gateway, ask([hosted('bm25'), read, deferred('other')]))
    expect(one.body.input_tokens).toBe(waiting)
    expect(await count(gateway, ask(tools, ...loading('send_mail')))).toBeGreaterThan(waiting + 50)
  })
})

describe('counting by an upstream over HTTP', () => {
  const counted = {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{"input_tokens": 7}',
  }

  test.each(['append', 'bridge'] as const)('wire 31 on %s it counts what it would be sent', async (wire) => {
    const { url, requests } = await record(counted)
    const gateway = await start(createMessagesUpstream({ url, wire }))
    const answer = await post(gateway, { ...ask(tools), stream: true }, { path: COUNT })
    expect(answer.text).toBe(counted.body)
    expect(answer.headers.has('x-toolshelf-estimate')).toBe(false)
    expect(requests[0]?.line).toBe(`POST ${COUNT}`)
    expect(requests[0]?.body).not.toMatch(/defer_loading|max_tokens|"stream"|letter/)
  })

  test('wire 31 estimates tokens if the upstream cannot count; returns its own answer if the request is passed on', async () => {
    const { url } = await record({ ...counted, status: 404, body: 'no' })
    const gateway = await start(createMessagesUpstream({ url }))
    const answer = await post(gateway, ask(tools), { path: COUNT })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-toolshelf-estimate')).toMatch(/./)
    const passed = await fetch(gateway.url + COUNT, { method: 'POST', body: JSON.stringify(ask([read])) })
    expect({ status: passed.status, text: await passed.text() }).toEqual({ status: 404, text: 'no' })
  })

  test('wire 31 in mode shelve what is hidden does not count, in mode off all does', async () => {
    const many = [read, ...Array.from({ length: 30 }, (_, index) => tool(`mail_${index}`))]
    const [shelved, off] = await Promise.all(
      ['shelve', 'off'].map(async (mode) => count(await emulate('append', sending, { mode }), ask(many))),
    )
    expect(shelved).toBeLessThan(off!)
  })
})

test('wire 24 pings of the upstream come through', async () => {
  const events = await stream(await emulate('append', sending), ask(tools))
  expect(events.filter(({ type }) => type === 'ping').length).toBeGreaterThan(0)
})
