// The Responses upstream against a server that refuses whatever the API does not know, and what the API is known to.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCollector } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest, SamplingOutcome, UpstreamWire } from '../../src/messages/index.ts'
import { createResponsesUpstream, UpstreamError } from '../../src/messages/upstream/index.ts'
import { namesOf } from '../../src/messages/upstream/openai.ts'

type Body = { readonly tools?: Fields[]; readonly input: Fields[]; readonly [field: string]: unknown }

const FIELDS: Record<string, readonly string[]> = {
  body: [
    ...['model', 'instructions', 'tools', 'input', 'store', 'stream', 'tool_choice', 'parallel_tool_calls'],
    ...['max_output_tokens', 'temperature', 'top_p', 'safety_identifier', 'text', 'reasoning', 'include'],
  ],
  message: ['type', 'role', 'content'],
  reasoning: ['type', 'id', 'summary', 'encrypted_content'],
  function_call: ['type', 'call_id', 'name', 'namespace', 'arguments'],
  function_call_output: ['type', 'call_id', 'output'],
  tool_search_call: ['type', 'call_id', 'execution', 'status', 'arguments'],
  tool_search_output: ['type', 'call_id', 'execution', 'status', 'tools'],
  additional_tools: ['type', 'role', 'tools'],
  function: ['type', 'name', 'description', 'parameters', 'strict'],
  tool_search: ['type', 'execution', 'description', 'parameters'],
  input_text: ['type', 'text'],
  input_image: ['type', 'image_url', 'detail'],
  input_file: ['type', 'filename', 'file_data', 'file_url'],
}

/** Why the API would refuse. */
function faultOf(body: Body, headers: IncomingMessage['headers']): string | undefined {
  const faults: string[] = []
  const known = (value: Fields, type = String(value.type)) => {
    const extra = Object.keys(value).filter((field) => !FIELDS[type]?.includes(field))
    if (!FIELDS[type] || extra.length > 0) faults.push(`unknown: ${type} ${extra}`)
  }
  const tool = (value: Fields) => {
    known(value)
    if (value.type === 'function' && !/^[\w-]{1,64}$/.test(String(value.name))) faults.push(`${value.name}`)
  }
  known(body, 'body')
  body.tools?.forEach(tool)
  const open = new Map<unknown, unknown>()
  const loaded = new Set<unknown>()
  for (const item of body.input) {
    known(item)
    for (const part of [item.content, item.output].filter(Array.isArray).flat()) known(part)
    const type = String(item.type)
    if (/_call$/.test(type)) open.set(item.call_id, type)
    if (
      /_output$/.test(type) &&
      open.get(item.call_id) !== type.replace('_output', '').replace(/_search$/, '_search_call')
    )
      faults.push(`${type} without its call`)
    if (/_output$/.test(type)) open.delete(item.call_id)
    if (String(item.call_id ?? '').length > 64) faults.push('call_id too long')
    const isLoaded = loaded.has(item.name)
    if (type === 'function_call' && item.namespace !== (isLoaded ? item.name : undefined))
      faults.push(`Missing namespace for function_call '${item.name}'.`)
    for (const one of (item.tools ?? []) as Fields[]) {
      tool(one)
      loaded.add(one.name)
    }
  }
  if (open.size > 0) faults.push(`no output for ${[...open.keys()]}`)
  if (body.store !== false) faults.push('store')
  const foreign = Object.keys(headers).find((name) => /^(x-|anthropic)/.test(name))
  if (foreign) faults.push(`header ${foreign}`)
  return faults.length > 0 ? faults.join('; ') : undefined
}

type Reply = {
  readonly status?: number
  readonly type?: string
  readonly body: string
  readonly isCut?: boolean
  readonly onGone?: () => void
}
type Seen = { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: string }

const whole = { id: 'resp_1', status: 'completed', error: null, output: [] as Fields[] }
const ok: Reply = { body: JSON.stringify(whole) }
let reply: Reply = ok
let seen: Seen[] = []

const server = createServer(async (incoming, outgoing) => {
  const body = await text(incoming)
  seen.push({ path: incoming.url ?? '', headers: incoming.headers, body })
  const fault = body === '' ? undefined : faultOf(JSON.parse(body), incoming.headers)
  const {
    status = 200,
    type = 'application/json',
    body: answer,
    isCut,
    onGone,
  } = fault ? refusal(fault) : reply
  outgoing.writeHead(status, { 'content-type': type })
  outgoing.write(answer)
  if (isCut) setImmediate(() => outgoing.destroy())
  else if (onGone) outgoing.once('close', onGone)
  else outgoing.end()
})

function refusal(message: string): Reply {
  return { status: 400, body: JSON.stringify({ error: { message, type: 'invalid_request_error' } }) }
}

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  server.close()
  server.closeAllConnections()
})
beforeEach(() => {
  reply = ok
  seen = []
})

const upstream = (more: { key?: string; wire?: UpstreamWire } = {}) =>
  createResponsesUpstream({
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`),
    ...more,
  })
const call = (headers: Record<string, string> = {}, signal = new AbortController().signal) => ({
  headers,
  signal,
})

async function send(request: Partial<MessagesRequest>, headers = {}, more = {}): Promise<SamplingOutcome> {
  return upstream(more).sample(
    { model: 'gpt-5.4', messages: [{ role: 'user', content: 'Hi' }], ...request },
    call(headers),
  )
}

/** The body of a request that the strict server took. */
async function sent(request: Partial<MessagesRequest>): Promise<Body> {
  const sampled = await send(request)
  if ('refused' in sampled) throw new Error(sampled.refused.body)
  for await (const _ of sampled.events);
  return JSON.parse(seen.at(-1)?.body ?? '')
}

async function messageOf(sampled: SamplingOutcome): Promise<Fields> {
  if ('refused' in sampled) throw new Error(sampled.refused.body)
  const collector = createCollector()
  for await (const event of sampled.events) collector.add(event)
  return collector.message()
}

const LONG = `mcp__${'warehouse'.repeat(8)}__count`
const schema = { type: 'object', properties: { city: { type: 'string' } } }
const tool = (name: string, more: Fields = {}) => ({
  name,
  description: `${name}!`,
  input_schema: schema,
  ...more,
})
const deferred = (name: string) => tool(name, { defer_loading: true })
const hosted = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
const tools = [hosted, tool('read'), tool('ToolSearch'), ...['a', 'b', 'c', LONG].map(deferred)]

const user = (...content: Fields[]) => ({ role: 'user', content })
const assistant = (...content: Fields[]) => ({ role: 'assistant', content })
const said = (words: string) => ({ type: 'text', text: words })
const use = (id: string, name: string) => ({
  type: 'tool_use',
  id,
  name,
  input: { city: 'Rome' },
  caller: { type: 'direct' },
})
const result = (id: string, content: unknown) => ({ type: 'tool_result', tool_use_id: id, content })
const reference = (name: string) => ({ type: 'tool_reference', tool_name: name })
const search = (id: string) => ({
  type: 'server_tool_use',
  id,
  name: 'tool_search_tool_regex',
  input: { pattern: 'x' },
})
const found = (id: string, ...names: string[]) => ({
  type: 'tool_search_tool_result',
  tool_use_id: id,
  content: { type: 'tool_search_tool_search_result', tool_references: names.map(reference) },
})
const functionOf = (name: string) => ({
  type: 'function',
  name,
  description: `${name}!`,
  parameters: schema,
  strict: false,
})
const types = ({ input }: Body) => input.map(({ type }) => type)

describe('a plain request', () => {
  test('says in OpenAI’s words what it says in Anthropic’s', async () => {
    const body = await sent({
      system: [said('Be kind.'), said('Be brief.')],
      tools: [
        tool('read', {
          cache_control: { type: 'ephemeral' },
          input_examples: [{ city: 'Rome' }],
          strict: true,
        }),
      ],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      ...{ max_tokens: 1, temperature: 0.5, top_p: 0.9, metadata: { user_id: 'me' }, top_k: 3 },
      ...{ thinking: { type: 'adaptive' }, stop_sequences: ['x'], context_management: {}, speed: 'fast' },
      messages: [
        user(said('Look'), {
          type: 'image',
          source: { type: 'base64', media_type: 'image/png', data: 'AA' },
        }),
        assistant(
          { type: 'thinking', thinking: 'hm', signature: 's' },
          said('I look.'),
          use('t1', 'read'),
          use('t2', 'read'),
        ),
        user(result('t1', 'fine'), {
          ...result('t2', [said('so'), { type: 'image', source: { type: 'url', url: 'https://x/y.png' } }]),
          is_error: true,
        }),
      ],
    })
    expect(body).toEqual({
      model: 'gpt-5.4',
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      instructions: 'Be kind.\n\nBe brief.',
      tools: [{ ...functionOf('read'), description: 'read!\n\nExamples of its input:\n{"city":"Rome"}' }],
      input: [
        { type: 'message', role: 'user', content: 'Look' },
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'auto' }],
        },
        { type: 'message', role: 'assistant', content: 'I look.' },
        { type: 'function_call', call_id: 't1', name: 'read', arguments: '{"city":"Rome"}' },
        { type: 'function_call', call_id: 't2', name: 'read', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', call_id: 't1', output: 'fine' },
        {
          type: 'function_call_output',
          call_id: 't2',
          output: [
            { type: 'input_text', text: 'Error:' },
            { type: 'input_text', text: 'so' },
            { type: 'input_image', image_url: 'https://x/y.png', detail: 'auto' },
          ],
        },
      ],
      store: false,
      stream: false,
      tool_choice: 'required',
      parallel_tool_calls: false,
      max_output_tokens: 16,
      safety_identifier: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  test('documents and search results are read, a deferred tool that is forced is sent', async () => {
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'AA' }
    const {
      input,
      tools: sentTools,
      tool_choice,
    } = await sent({
      tools: [tool('read'), deferred('a')],
      tool_choice: { type: 'tool', name: 'a' },
      messages: [
        user(
          { type: 'document', title: 'deed', source: pdf },
          { type: 'document', source: { type: 'content', content: [said('inner')] } },
          { type: 'search_result', title: 'T', source: 'S', content: [said('C')] },
        ),
      ],
    })
    expect(input.flatMap(({ content }) => content)).toEqual([
      { type: 'input_file', filename: 'deed', file_data: 'data:application/pdf;base64,AA' },
      { type: 'input_text', text: 'inner' },
      { type: 'input_text', text: 'T\nS\nC' },
    ])
    expect(sentTools).toEqual([functionOf('read'), functionOf('a')])
    expect(tool_choice).toEqual({ type: 'function', name: 'a' })
  })

  test('a schema of the reply, a tool without properties and a forced search have their like', async () => {
    const format = { type: 'json_schema', schema }
    const body = await sent({
      tools: [hosted, { name: 'now', input_schema: { type: 'object' } }],
      tool_choice: { type: 'tool', name: hosted.name },
      ...{ temperature: 1, output_config: { effort: 'high', format } },
    })
    expect(body).toMatchObject({ tool_choice: 'required', text: { format } })
    expect(body.tools?.[1]).toMatchObject({ parameters: { type: 'object', properties: {} } })
    expect(body).not.toHaveProperty('temperature')
  })

  test('names and ids that OpenAI finds too long get short ones that stay the same', async () => {
    const id = `toolu_${'x'.repeat(80)}`
    const messages = [user(said('Hi')), assistant(use(id, LONG)), user(result(id, 'ok'))]
    const body = await sent({ tools: [tool(LONG)], messages })
    expect(body.tools?.[0]?.name).toBe(body.input[1]?.name)
    reply = {
      body: JSON.stringify({
        ...whole,
        output: [{ type: 'function_call', call_id: 'c', name: body.input[1]?.name, arguments: '{}' }],
      }),
    }
    expect((await messageOf(await send({ tools: [tool(LONG)], messages }))).content).toMatchObject([
      { name: LONG },
    ])
  })
})

describe('wire 41: tools that wait', () => {
  test('nothing of a deferred tool is sent, and the hosted search is one of the client’s', async () => {
    const body = await sent({ tools })
    expect(body.tools?.slice(1)).toEqual([functionOf('read'), functionOf('ToolSearch')])
    expect(body.tools?.[0]).toMatchObject({
      type: 'tool_search',
      execution: 'client',
      parameters: { properties: { pattern: { type: 'string' }, limit: { type: 'integer' } } },
    })
    const bm25 = await sent({
      tools: [{ type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }, deferred('a')],
    })
    expect(bm25.tools).toMatchObject([{ parameters: { required: ['query'] } }])
  })

  test('a hosted search brings the definitions, and later calls name their namespace', async () => {
    const { input } = await sent({
      tools,
      messages: [
        user(said('Hi')),
        assistant(said('I search.'), search('srvtoolu_1'), found('srvtoolu_1', 'a'), use('t1', 'a')),
        user(result('t1', 'ok')),
      ],
    })
    const shared = { call_id: 'srvtoolu_1', execution: 'client', status: 'completed' }
    expect(input.slice(2, 5)).toEqual([
      { type: 'tool_search_call', ...shared, arguments: { pattern: 'x' } },
      { type: 'tool_search_output', ...shared, tools: [functionOf('a')] },
      { type: 'function_call', call_id: 't1', name: 'a', namespace: 'a', arguments: '{"city":"Rome"}' },
    ])
  })

  test('wire 28: the result of a search beside a call comes first in the next reply', async () => {
    const messages = [
      user(said('Hi')),
      assistant(use('t1', 'read'), search('srvtoolu_1')),
      user(result('t1', 'ok')),
      assistant(found('srvtoolu_1', 'a'), said('Found.')),
      user(said('Go on')),
    ]
    expect(types(await sent({ tools, messages }))).toEqual([
      ...['message', 'function_call', 'tool_search_call', 'function_call_output', 'tool_search_output'],
      ...['message', 'message'],
    ])
  })

  test('wire 16, 20: reports what a search did not find, or found again', async () => {
    const error = {
      type: 'tool_search_tool_result_error',
      error_code: 'invalid_tool_input',
      error_message: 'missing )',
    }
    const { input } = await sent({
      tools,
      messages: [
        user(said('Hi')),
        assistant(
          ...[search('s1'), found('s1', 'a', 'b')],
          ...[search('s2'), found('s2', 'b', 'read', 'c')],
          ...[search('s3'), { type: 'tool_search_tool_result', tool_use_id: 's3', content: error }],
        ),
      ],
    })
    const outputs = input.filter(({ type }) => type === 'tool_search_output')
    expect(outputs.map((item) => (item.tools as Fields[]).map(({ name }) => name))).toEqual([
      ['a', 'b'],
      ['c'],
      [],
    ])
    const notes = input.filter(({ role }) => role === 'developer')
    expect(notes.map(({ content }) => content)).toEqual([
      expect.stringContaining('b, read'),
      expect.stringContaining('missing )'),
    ])
  })

  test('wire 13: a client’s own search, additions, removals and compactions bring definitions, too', async () => {
    const added = (named: Fields) => ({ type: 'tool_addition', tool: named })
    const { input } = await sent({
      tools,
      messages: [
        user(said('Hi')),
        assistant(use('t1', 'ToolSearch')),
        user(result('t1', [reference('a'), reference(LONG)])),
        {
          role: 'system',
          content: [
            added({ type: 'tool_reference', name: 'b' }),
            added({ type: 'tool_definition', definition: tool('d') }),
            { type: 'tool_removal', tool: { type: 'tool_reference', name: 'a' } },
          ],
        },
        assistant({
          type: 'compaction',
          content: 'So far.',
          tool_changes: [added({ type: 'tool_reference', name: 'c' })],
        }),
      ],
    })
    const short = namesOf([]).short(LONG)
    expect(input.slice(2)).toMatchObject([
      { type: 'function_call_output', output: expect.stringContaining(`a, ${short}`) },
      { type: 'additional_tools', role: 'developer', tools: [{ name: 'a' }, { name: short }] },
      { type: 'additional_tools', tools: [{ name: 'b' }] },
      { type: 'additional_tools', tools: [functionOf('d')] },
      { type: 'message', role: 'developer', content: expect.stringContaining('a') },
      { type: 'message', role: 'assistant', content: 'So far.' },
      { type: 'additional_tools', tools: [{ name: 'c' }] },
    ])
  })

  test('wire 14, 39: loading leaves the tools and the earlier items as they were; the same request, the same bytes', async () => {
    const turns: Fields[][] = [
      [assistant(search('s1'), found('s1', 'a'), use('t1', 'a')), user(result('t1', 'ok'))],
      [assistant(use('t2', 'ToolSearch')), user(result('t2', [reference('b')]))],
      [assistant(use('t3', 'b'), use('t4', 'a')), user(result('t3', 'ok'), result('t4', 'ok'))],
      [
        {
          role: 'system',
          content: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: LONG } }],
        },
      ],
      [assistant(use('t5', LONG)), user(result('t5', 'ok'), said('More'))],
      [{ role: 'system', content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'b' } }] }],
      [assistant(said('Done.'))],
    ]
    for (const shift of turns.keys()) {
      const order = [...turns.slice(shift), ...turns.slice(0, shift)]
      let before = await sent({ tools, messages: [user(said('Hi'))] })
      for (const count of order.keys()) {
        const messages = [user(said('Hi')), ...order.slice(0, count + 1).flat()]
        const after = await sent({ tools, messages })
        expect(after.tools).toEqual(before.tools)
        expect(after.input.slice(0, before.input.length)).toEqual(before.input)
        await sent({ tools: [...tools, deferred(`later_${count}`)], messages })
        expect(seen.at(-1)?.body).toBe(seen.at(-2)?.body)
        before = after
      }
    }
  })
})

describe('the connection', () => {
  test('goes to <url>/responses with a bearer, and no header of Anthropic’s', async () => {
    const headers = { 'x-api-key': 'mine', 'anthropic-version': '2023-06-01', 'anthropic-beta': 'x' }
    await send({}, headers)
    await send({}, { authorization: 'Bearer own' })
    await send({}, headers, { key: 'configured' })
    expect(seen.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses', '/v1/responses'])
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer mine',
      'Bearer own',
      'Bearer configured',
    ])
  })

  test('a reply that comes whole, and one that streams, say the same', async () => {
    const item = { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }
    const done = { ...whole, model: 'gpt-5.4', output: [item], usage: { input_tokens: 3, output_tokens: 2 } }
    reply = { body: JSON.stringify(done) }
    const once = await messageOf(await send({}))
    const data = [
      { type: 'response.created', response: { ...done, output: [] } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hello' },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: done },
    ]
    const body = `${data.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`
    reply = { type: 'text/event-stream', body }
    expect(await messageOf(await send({ stream: true }))).toEqual(once)
    expect(once).toMatchObject({
      content: [{ text: 'Hello' }],
      stop_reason: 'end_turn',
      usage: { output_tokens: 2 },
    })
    expect(seen.map(({ body }) => JSON.parse(body).stream)).toEqual([false, true])
  })

  test.each<[Reply, RegExp]>([
    [{ body: '{"status":"failed","error":{"message":"overloaded"}}' }, /overloaded/],
    [{ body: 'null' }, /a JSON object/],
    [{ body: '{}' }, /before it was complete/],
    [{ body: '{"status":', isCut: true }, /cut its reply off/],
    [
      { type: 'text/event-stream', body: 'data: {"type":"response.created"}\n\n', isCut: true },
      /cut its reply off/,
    ],
    [{ type: 'text/event-stream', body: 'data: oops\n\n' }, /a JSON object/],
  ])('a broken answer says what happened: %j', async (broken, why) => {
    reply = broken
    const reading = send({ stream: true }).then(messageOf)
    await expect(reading).rejects.toThrow(UpstreamError)
    await expect(reading).rejects.toThrow(why)
  })

  test('an error of OpenAI’s is one of Anthropic’s', async () => {
    reply = {
      status: 429,
      body: '{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}',
    }
    const sampled = await send({})
    expect('refused' in sampled && JSON.parse(sampled.refused.body).error).toEqual({
      type: 'rate_limit_error',
      message: 'slow down',
    })
  })

  test('a client that leaves ends the upstream’s work', async () => {
    const leaving = new AbortController()
    const gone = new Promise<void>((onGone) => {
      reply = { type: 'text/event-stream', body: 'data: {"type":"response.created"}\n\n', onGone }
    })
    const sampled = await upstream().sample({ model: 'gpt-6', messages: [] }, call({}, leaving.signal))
    const reading = messageOf(sampled)
    leaving.abort()
    await expect(reading).rejects.not.toBeInstanceOf(UpstreamError)
    await gone
  })

  test('models are listed, tokens are not counted', async () => {
    reply = { body: '{"data":[{"id":"gpt-6","created":1}]}' }
    expect(JSON.parse((await upstream().models(call())).body).data).toMatchObject([
      { id: 'gpt-6', type: 'model' },
    ])
    expect(seen[0]?.path).toBe('/v1/models')
    expect(await upstream().countTokens({ model: 'gpt-6', messages: [] }, call())).toBeUndefined()
  })
})

describe('the wire', () => {
  test.each([
    ...[
      'gpt-5.4',
      'gpt-5.4-2026-03-05',
      'gpt-5.5-pro',
      'gpt-5.10',
      'gpt-6',
      'gpt-6-astra',
      'openai/gpt-5.4-mini',
    ],
    ...['ft:gpt-5.4:acme::1'],
  ])('%s: native', (model) => expect(upstream().wireFor(model).wire).toBe('native'))

  test.each([
    ...[
      'gpt-5',
      'gpt-5-2025-08-07',
      'gpt-5.3-codex',
      'gpt-4o',
      'gpt-4.1',
      'gpt-35-turbo',
      'gpt-oss-120b',
      'o3',
    ],
    ...['qwen3', 'claude-opus-5-5', ''],
  ])('%s: append', (model) => expect(upstream().wireFor(model).wire).toBe('append'))

  test('can be forced', () => {
    expect(upstream({ wire: 'bridge' }).wireFor('gpt-6')).toMatchObject({
      wire: 'bridge',
      why: 'it is forced',
    })
  })
})
