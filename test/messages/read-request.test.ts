// Reading of requests: what was read before is recognised, what nobody changes goes out as the bytes that came.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { jsonBytes } from '../../src/messages/json/index.ts'
import { createRequestReader } from '../../src/messages/server/read-request.ts'
import { createMessagesUpstream } from '../../src/messages/upstream/index.ts'
import { post, record, start } from './support/gateways.ts'

const slice = { isOver: () => false, next: async () => {} }
const read = async (text: string | Buffer, reader = createRequestReader(), owner = 'me') =>
  reader.read(Buffer.from(text), owner, slice)
const written = (value: unknown) => Buffer.concat(jsonBytes(value)).toString()

const tool = (number: number): Fields => ({
  name: `mcp__files__tool_${number}`,
  description: 'Reads a file.',
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
})
const user = (content: unknown): Fields => ({ role: 'user', content })
const said = (text: string): Fields => ({ role: 'assistant', content: [{ type: 'text', text }] })
const request = (messages: readonly Fields[], tools = [tool(1), tool(2)]) =>
  JSON.stringify({ model: 'any', max_tokens: 100, tools, messages })

describe('a list that was sent before', () => {
  it('is the same list again', async () => {
    const reader = createRequestReader()
    const [one, two] = [await read(request([user('a')]), reader), await read(request([user('b')]), reader)]
    expect(two.tools).toBe(one.tools)
    expect(two).toEqual(JSON.parse(request([user('b')])))
  })

  it('is another list for another client', async () => {
    const reader = createRequestReader()
    const one = await read(request([user('a')]), reader, 'one')
    const other = await read(request([user('a')]), reader, 'other')
    expect(other.tools).not.toBe(one.tools)
    expect(other.tools).toEqual(one.tools)
  })

  it('shares its start with a longer one, whatever separates its items', async () => {
    const reader = createRequestReader()
    const messages = [user('a'), said('b')]
    const one = (await read(request(messages), reader)) as MessagesRequest
    const longer = JSON.stringify({ messages: [...messages, user('c')] }).replace(
      '},{"role":"ass',
      '} ,\n {"role":"ass',
    )
    const two = (await read(longer, reader)) as MessagesRequest
    expect(two.messages.slice(0, 2).map((message, index) => message === one.messages[index])).toEqual([
      true,
      true,
    ])
    expect(two).toEqual(JSON.parse(longer))
  })

  it('is not taken for one that only starts with the same bytes', async () => {
    const reader = createRequestReader()
    await read('{"messages":[{"a":1},{"b":2}]}', reader)
    for (const body of [
      '{"messages":[{"a":1},{"b":2},{"c":3}]}',
      '{"messages":[{"a":1}]}',
      '{"messages":[{"a":1},{"b":22}]}',
      '{"messages":[{"a":1},2]}',
      '{"messages":[{"a":1},{"b":2}],"messages":[]}',
    ])
      expect(await read(body, reader), body).toEqual(JSON.parse(body))
  })

  it('is forgotten before too many are kept', async () => {
    const reader = createRequestReader({ maxCacheBytes: 10_000 })
    const first = await read(request([user('a')]), reader)
    for (let number = 0; number < 100; number++)
      await read(request([user(`${number}`.repeat(100))], [tool(number), tool(number)]), reader)
    expect((await read(request([user('a')]), reader)).tools).not.toBe(first.tools)
  })
})

describe('what is read', () => {
  const json = fc.json({ maxDepth: 6 })
  const space = fc.constantFrom('', ' ', '\n', '\t\r\n ')

  it('is what JSON.parse reads, and is written so that it reads the same', async () => {
    const reader = createRequestReader()
    const body = fc
      .tuple(fc.array(json, { maxLength: 4 }), fc.array(json, { maxLength: 4 }), json, space)
      .map(
        ([tools, messages, more, gap]) =>
          `${gap}{${gap}"tools"${gap}:${gap}[${tools.join(`${gap},${gap}`)}${gap}],"x":${more},"messages":[${messages}]${gap}}${gap}`,
      )
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const fields = await read(text, reader)
        expect(fields).toEqual(JSON.parse(text))
        expect(JSON.parse(written(fields))).toEqual(JSON.parse(text))
        expect(JSON.parse(written({ ...fields, tools: [fields.tools] }))).toEqual({
          ...JSON.parse(text),
          tools: [JSON.parse(text).tools],
        })
      }),
    )
  })

  it('is the same for large values, in which objects are read one by one', async () => {
    const filler = 'words that fill, "quoted" and \\ escaped, ünïcode. '.repeat(200)
    const content = [
      { type: 'text', text: filler },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBOR'.repeat(10_000) } },
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: [{ type: 'text', text: filler, empty: {}, list: [] }],
      },
    ]
    const body = request([user(content)])
    const fields = await read(body)
    expect(fields).toEqual(JSON.parse(body))
    expect(written({ ...fields })).toBe(body)
  })

  it.each([
    '',
    'null',
    '[]',
    '{"a":}',
    '{"a":1,}',
    '{"messages":[{"a":1}{"b":2}]}',
    '{"messages":[{"a":1},]}',
    '{"messages":[,{"a":1}]}',
    '{"messages":[{"a":01}]}',
    '{"messages":[{"a":"\n"}]}',
    '{"messages":[{"a":1]]}',
    '{"messages":[{"a":1}',
    '{"a":1} {"b":2}',
    '{"a":1}x',
    "{'a':1}",
    `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`,
    `{"messages":[{"a":1},{"a":${'['.repeat(2000)}${']'.repeat(2000)}}]}`,
  ])('is refused as 400 where it is not a request: %s', async (body) => {
    await expect(read(body)).rejects.toMatchObject({ answer: { status: 400 } })
  })

  it('may start with a byte order mark, and may name __proto__', async () => {
    const body = '{"__proto__":{"x":1},"messages":[{"__proto__":{"y":2}}]}'
    const fields = await read(`\ufeff${body}`)
    expect(fields).toEqual(JSON.parse(body))
    expect(Object.hasOwn(fields, '__proto__')).toBe(true)
  })
})

describe('many tiny values', () => {
  const body = (name: string, count: number) => `{"${name}":[${'{},'.repeat(count - 1)}{}]}`

  it('are read in one piece, and refused above a million', async () => {
    const read300 = (await read(body('metadata', 300_000))) as Fields
    expect(read300.metadata).toHaveLength(300_000)
    const nested = `${'['.repeat(998)}${']'.repeat(998)}`
    for (const many of [body('metadata', 1_000_002), body('metadata', 1003).replaceAll('{}', nested)])
      await expect(read(many)).rejects.toMatchObject({
        answer: { status: 400, body: expect.stringContaining('the body has more than 1000000 values') },
      })
  })

  it.each(['tools', 'messages', 'input'])('are refused as %s before they are parsed', async (name) => {
    const message = `${name}: at most 100000 are allowed, but there are 100001`
    await expect(read(body(name, 100_001))).rejects.toMatchObject({
      answer: { status: 400, body: expect.stringContaining(message) },
    })
  })
})

describe('what is written', () => {
  it('is the bytes that came, however they are spelled', async () => {
    const exact = '{ "role": "user", "content": [ {"type":"text", "text":"\\u00e9", "n": 1.0} ] }'
    const fields = (await read(`{"messages":[${exact}]}`)) as MessagesRequest
    expect(written({ ...fields, messages: [...fields.messages] })).toBe(`{"messages":[${exact}]}`)
  })

  it('holds long numbers as they came, also where the object around them is changed', async () => {
    const input = '{"id":12345678901234567890,"deep":{"id":9007199254740993}}'
    const call = `{"type":"tool_use","id":"a","name":"x","input":${input}}`
    const fields = (await read(`{"messages":[{"role":"assistant","content":[${call}]}]}`)) as MessagesRequest
    const message = fields.messages[0] as { readonly content: readonly Fields[] }
    const [block] = message.content
    expect(written({ ...message, content: [{ ...block, id: 'b' }] })).toBe(
      `{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"x","input":${input}}]}`,
    )
  })

  it('does not copy a large image', async () => {
    const data = 'iVBOR'.repeat(100_000)
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
    const body = Buffer.from(request([user([image])]))
    const fields = await createRequestReader().read(body, 'me', slice)
    const parts = jsonBytes({ ...fields })
    expect(Buffer.concat(parts).equals(body)).toBe(true)
    expect(parts.some((part) => part.buffer === body.buffer && part.length > data.length)).toBe(true)
  })
})

describe.each(['shelve', 'off', 'emulate'])('through the gateway, %s', (mode) => {
  it('numbers above 2^53 in the history reach the upstream as they came', async () => {
    const reply = JSON.stringify({
      ...{
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'any',
        content: [{ type: 'text', text: 'ok' }],
      },
      ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
    })
    const answer = { status: 200, headers: { 'content-type': 'application/json' }, body: reply }
    const { url, requests } = await record(answer)
    const gateway = await start(createMessagesUpstream({ url, wire: 'append' }), { mode })
    const name = 'mcp__files__tool_1'
    const call = { type: 'tool_use', id: 'toolu_1', name, input: { id: '@' } }
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: '@' }
    const tools =
      mode === 'emulate' ? [hosted, tool(1), { ...tool(2), defer_loading: true }] : [tool(1), tool(2)]
    const body = request([user('go'), { role: 'assistant', content: [call] }, user([result])], tools)
    await post(
      gateway,
      body
        .replaceAll('"@"', '12345678901234567890')
        .replace('"content":12345678901234567890', '"content":"12345678901234567890"'),
    )
    expect(requests[0]?.body).toContain('{"id":12345678901234567890}')
  })
})

const hosted = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
