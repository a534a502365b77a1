// What a gateway says of itself: its modes and why, what they save, its keys, metrics, records and events.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { assistant, text, user } from '../../../packages/testkit/src/blocks.ts'
import { counting, inputOf } from '../../../packages/testkit/src/exact-usage.ts'
import { runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import {
  createMessagesMetrics,
  createMessagesUpstream,
  parseModeSetting,
  type RequestRecord,
  type Trace,
  type Upstream,
} from '../../doors.ts'
import { open, play, post, wires } from './gateways.ts'
import { callOf, createModel, loadedIn, toolFor } from './model.ts'
import { recorder } from './recorder.ts'

const SEND = 'mcp__mail__send'
const tools = ['Read', SEND].map(toolFor)
const asked = (more: Loose = {}): Loose => ({
  ...{ model: 'claude-sonnet-5', max_tokens: 100, tools, messages: [user(text('go'))] },
  ...more,
})
const KEY = 'a-secret-key-with-24-characters'
const done = [text('Done.')]
const says = () => done
const BM25 = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
const deferring = [BM25, toolFor('Read'), { ...toolFor(SEND), defer_loading: true }]
const many = Array.from({ length: 150 }, (_, index) => toolFor(`tool_${index}`))

describe('the decision', () => {
  it.each<[string, Loose, Loose, string, string]>([
    ['auto', {}, {}, 'off', 'the tools are few'],
    [
      'auto',
      { contextWindow: 100 },
      {},
      'shelve',
      'tools take 10 % of the window or more; native: asked for',
    ],
    ['auto:100', { contextWindow: 10 }, {}, 'off', 'auto:100 shelves nothing'],
    [
      'auto',
      { maxTools: 128, wire: 'append' },
      { tools: many },
      'shelve',
      'the upstream allows 128 tools at most; append',
    ],
    ['shelve', {}, {}, 'shelve', 'asked for; native: asked for'],
    ['shelve', {}, { tools: [] }, 'off', 'there are no tools'],
    ['shelve', {}, { tools: [toolFor('Read')] }, 'off', 'no tool can be deferred'],
    ['shelve', {}, { tools: [...tools, toolFor('ToolSearch')] }, 'off', 'the client has its own ToolSearch'],
    [
      'shelve',
      {},
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }, toolFor('web_search')] },
      'off',
      'the tools cannot be shelved: ',
    ],
    ['off', {}, {}, 'off', 'switched off'],
    ['off', {}, { tools: deferring }, 'off', 'switched off'],
    ['auto', {}, { tools: deferring }, 'emulate', 'the client defers; native: asked for'],
    ['shelve', { wire: 'append' }, { tools: deferring }, 'emulate', 'the client defers; append: asked for'],
    ['emulate', {}, {}, 'off', 'the client defers nothing'],
  ])('%s with %j and %j is %s: %s', async (mode, options, more, expected, why) => {
    const { ask } = await play({ mode, says, ...options })
    const { headers, status } = await ask(asked(more))
    const given = headers.get('x-toolshelf-why') ?? ''
    expect([status === 200 || /ToolSearch|two|cannot/.test(why), headers.get('x-toolshelf-mode')]).toEqual([
      true,
      expected,
    ])
    expect(given.startsWith(why), given).toBe(true)
  })

  it('of a key holds for its requests; others choose by a header, if there is such a mode', async () => {
    const setting = parseModeSetting('shelve')
    const keys = [
      { secret: 'fixed-key-with-24-characters', setting },
      { secret: 'free-key-with-24-characters', setting, mayChoose: true },
      { secret: 'plain-key-with-24-characters' },
    ]
    const { ask } = await play({ mode: 'off', says, keys })
    const mode = async (key: string, chosen?: string) => {
      const { status, headers, body } = await ask(asked(), {
        'x-api-key': key,
        ...(chosen ? { 'x-toolshelf-mode': chosen } : {}),
      })
      return status === 200 ? headers.get('x-toolshelf-mode') : `${status} ${body.error.message}`
    }
    expect(await mode('plain-key-with-24-characters')).toBe('off')
    expect(await mode('plain-key-with-24-characters', 'shelve')).toBe('shelve')
    expect(await mode('fixed-key-with-24-characters')).toBe('shelve')
    expect(await mode('fixed-key-with-24-characters', 'shelve')).toBe('shelve')
    expect(await mode('fixed-key-with-24-characters', 'off')).toMatch(
      /^403 this key is fixed to the mode "shelve"/,
    )
    expect(await mode('free-key-with-24-characters', 'off')).toBe('off')
    expect(await mode('free-key-with-24-characters', 'odd')).toMatch(
      /^400 x-toolshelf-mode is "odd"; use auto, auto:N, emulate, shelve, off$/,
    )
    expect(await mode('wrong')).toMatch(/^401 missing or wrong key/)
  })
})

describe('what is passed on', () => {
  const OK = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: done,
    stop_reason: 'end_turn',
    usage: {},
  }

  it('keeps the headers that concern the upstream, and no other', async () => {
    const { url, requests } = await recorder(OK)
    const { url: gateway } = await open(createMessagesUpstream({ url }), {
      mode: 'pass',
      keys: [{ secret: KEY }],
    })
    const mine = { 'x-api-key': 'own', 'anthropic-beta': 'some-beta', 'x-kept': 'yes' }
    const not = {
      cookie: 'c',
      'x-toolshelf-mode': 'pass',
      'x-http-method': 'PUT',
      'x-original-url': '/',
      te: 'trailers',
    }
    expect(
      (await post(gateway, asked(), { headers: { ...mine, ...not, 'x-toolshelf-key': KEY } })).status,
    ).toBe(200)
    expect(requests[0]?.headers).toMatchObject(mine)
    for (const name of [...Object.keys(not), 'x-toolshelf-key'])
      expect(requests[0]?.headers).not.toHaveProperty(name)
  })

  it('are models and what a rule names, nothing else', async () => {
    const { url, requests } = await recorder(OK)
    const { url: gateway } = await open(createMessagesUpstream({ url }), {
      forward: ['GET /v1/files/*/content', 'POST /v1/batches'],
    })
    const asks = [
      'GET models/a',
      'GET models/.b.',
      'GET models/a%2fb',
      'GET files/x/content',
      'GET files/..%2f../content',
      'GET files/x/contents',
      'POST batches',
      'GET batches',
      'POST models/a',
    ]
    for (const line of asks) {
      const [method = '', path = ''] = line.split(' ')
      await post(gateway, {}, { method, path })
    }
    const passed = ['GET /v1/models/a', 'GET /v1/models/.b.', 'GET /v1/files/x/content', 'POST /v1/batches']
    expect(requests.map(({ line }) => line)).toEqual(passed)
    for (const rule of [
      'GET /v2/x',
      '/v1/x',
      'GET v1/x',
      'get /v1/x',
      'GET /v1',
      'GET /v1/a*',
      'GET /v1/x y',
    ])
      await expect(open(createMessagesUpstream({ url }), { forward: [rule] })).rejects.toThrow(
        `forward: "${rule}"`,
      )
  })
})

test('large requests at the same time reach the upstream unmixed', async () => {
  const reply = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: done,
    stop_reason: 'end_turn',
    usage: {},
  }
  const { url, bodies } = await recorder(reply)
  const { url: gateway } = await open(createMessagesUpstream({ url, wire: 'append' }), { mode: 'off' })
  const large = Array.from({ length: 16 }, (_, client) => ({
    ...{ model: 'any', max_tokens: 10 },
    messages: [{ role: 'user', content: `${client} `.repeat(26_000 + client * 1000) }],
  }))
  for (let from = 0; from < large.length; from += 8)
    await Promise.all(large.slice(from, from + 8).map((body) => post(gateway, body)))
  const texts = (all: Loose[]) => all.map(({ messages }) => messages[0].content).sort()
  expect(texts(bodies)).toEqual(texts(large))
})

test('what the API itself would refuse, or this gateway cannot do, is refused with a reason', async () => {
  const { ask, model } = await play({ mode: 'auto', says })
  const refused = async (more: Loose) => (await ask(asked(more))).body.error.message
  expect(await refused({ thread: { id: 'x' } })).toMatch(/does not store threads/)
  expect(await refused({ tools: [{ ...toolFor('a'), defer_loading: true }] })).toMatch(/defer/)
  expect(await refused({ tools: deferring, messages: [] })).toMatch(/at least one message/)
  const removal = { type: 'tool_removal', tool: { type: 'tool_reference', name: 'Read' } }
  const messages = [user(text('go')), { role: 'system', content: [removal] }]
  expect(await refused({ tools: deferring, messages })).toMatch(/Input tag/)
  expect(model.samplings).toEqual([])
})

test('a tool that a message defines can be called, and a search beside it finds the others', async () => {
  const addition = {
    type: 'tool_addition',
    tool: { type: 'tool_definition', definition: toolFor('late_one') },
  }
  const said = [user(text('go')), assistant(text('Well.')), user(text('and?'))]
  const find = { type: 'tool_use', id: 'toolu_s', name: BM25.name, input: { query: 'mail send' } }
  const call = (request: Loose, n: number) => (n === 0 ? [find] : [callOf('toolu_1', 'late_one', request)])
  const { ask } = await play({ wire: 'append', mode: 'emulate', says: call })
  const betas = { 'anthropic-beta': 'inline-tools-2026-09-15,mid-conversation-tool-changes-2026-07-01' }
  const messages = [...said, { role: 'system', content: [addition] }]
  const { body } = await ask(asked({ tools: deferring, messages }), betas)
  const [, found, called] = body.content
  expect(found.content.tool_references).toMatchObject([{ tool_name: SEND }])
  expect(called).toMatchObject({ type: 'tool_use', name: 'late_one' })
})

test('users are asked for their keys, and refused as their directory says', async () => {
  const refusals: Loose = {
    tsk_wrong: { status: 401, message: 'wrong' },
    tsk_none: { status: 401, message: 'none', isWrongKey: true },
    tsk_denied: { status: 403, message: 'denied' },
    tsk_busy: { status: 429, message: 'busy', retryAfter: 9 },
    tsk_down: { status: 503, message: 'down' },
  }
  const profile = {
    name: 'ada',
    servers: { allow: [], deny: [] },
    tools: { allow: [], deny: [] },
    limits: {},
  }
  const userOf = (mode?: string) => ({
    id: 'ada',
    uid: 'ada',
    profile: mode ? { ...profile, mode } : profile,
  })
  const authenticate = async (token = 'tsk_none') => refusals[token] ?? userOf(token.split('_')[2])
  const { ask } = await play({ mode: 'off', says, users: { authenticate, recall: () => undefined } as never })
  const told = async (headers: Loose) => {
    const { status, body, headers: given } = await ask(asked(), headers)
    return [status, body.error?.message ?? given.get('x-toolshelf-mode')]
  }
  const odd = expect.stringContaining('the profile "ada" has the mode "odd", which does not exist')
  for (const [token, expected] of [
    ['tsk_wrong', [401, 'wrong']],
    ['tsk_none', [401, expect.stringContaining('missing or wrong key')]],
    ['tsk_denied', [403, 'denied']],
    ['tsk_busy', [429, 'busy']],
    ['tsk_down', [503, 'down']],
    ['tsk_good', [200, 'off']],
    ['tsk_mode_shelve', [200, 'shelve']],
    ['tsk_mode_odd', [403, odd]],
  ])
    for (const header of ['x-toolshelf-key', 'x-api-key', 'authorization'])
      expect(await told({ [header]: header === 'authorization' ? `bearer  ${token}` : token })).toEqual(
        expected,
      )
})

test('bodies are read as they are, and requests passed on only to an API that is the client’s', async () => {
  const { ask } = await play({ mode: 'pass', says })
  const { body, status } = await ask(asked())
  expect([status, body.error.message]).toEqual([
    400,
    expect.stringContaining('its upstream does not serve /v1/messages'),
  ])
  const compressed = await ask(asked(), { 'content-encoding': 'gzip', 'x-toolshelf-mode': 'off' })
  expect(compressed.body.error.message).toBe(
    'content-encoding "gzip" is not supported; send the body uncompressed',
  )
})

describe('what is saved', () => {
  const wordy = (index: number) => ({
    ...toolFor(`mcp__g__make_${index}`),
    description: 'It is long. '.repeat(20),
  })
  const toolsOf = (count: number) => Array.from({ length: count }, (_, index) => wordy(index))
  const use = (name: string) => user(text(`use ${name}`))

  /** Calls the tool that the user names, once it is loaded, and is done when it ran. */
  const obedient = (request: Loose, n: number) => {
    const said = request.messages.findLastIndex(({ content }: Loose) =>
      /use mcp__/.test(JSON.stringify(content)),
    )
    const name = /use (mcp__\w+)/.exec(JSON.stringify(request.messages[said]))?.[1] ?? ''
    if (JSON.stringify(request.messages.slice(said)).includes(`${name} ran`)) return done
    const find = {
      type: 'tool_use',
      id: `toolu_${n}`,
      name: 'ToolSearch',
      input: { query: `select:${name}` },
    }
    return [loadedIn(request).includes(name) ? callOf(`toolu_${n}`, name, request) : find]
  }

  async function counted(wire: (typeof wires)[number], mode: string, usageOf?: () => Loose) {
    const [usages, records] = [[] as Loose[], [] as RequestRecord[]]
    const model = createModel({ script: [], api: wire === 'native' ? 'new' : 'old', says: obedient })
    const metrics = createMessagesMetrics()
    const upstream = counting(model.upstream(wire) as never, usages, usageOf) as unknown as Upstream
    const { url } = await open(upstream, { mode, metrics, onDone: (one) => records.push(one) })
    return {
      usages,
      ask: (body: Loose) => post(url, body),
      metrics,
      figures: () => records.map(({ outcome }) => outcome?.figures()),
    }
  }

  async function measure(count: number, usageOf?: () => Loose, more: Loose = {}) {
    const { ask, figures, metrics } = await counted('append', 'shelve', usageOf)
    const got = await ask(asked({ tools: toolsOf(count), messages: [use('mcp__g__make_1')], ...more }))
    return { figures: figures()[0], got, metrics: metrics.text() }
  }

  it.each(wires)('is the usage without tool search minus that with it, to the token (%s)', async (wire) => {
    const uses = fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 4 })
    const property = fc.asyncProperty(fc.integer({ min: 1, max: 12 }), uses, async (count, all) => {
      const [shelving, plain] = [await counted(wire, 'shelve'), await counted(wire, 'off')]
      const messages: Loose[] = []
      for (const one of all) {
        const name = `mcp__g__make_${one % count}`
        messages.push(use(name))
        for (let isOver = false; !isOver; ) {
          const body = asked({ tools: toolsOf(count), messages })
          const { content } = (await shelving.ask(body)).body
          await plain.ask(body)
          const calls = content.filter(({ type }: Loose) => type === 'tool_use')
          messages.push(assistant(...content))
          const results = calls.map(({ id }: Loose) => ({
            type: 'tool_result',
            tool_use_id: id,
            content: `${name} ran`,
          }))
          isOver = calls.length === 0
          if (!isOver) messages.push(user(...results))
        }
      }
      const figures = shelving.figures()
      const sum = (field: 'tokensWith' | 'tokensWithout' | 'tokensSaved' | 'extraRoundTrips') =>
        figures.reduce((total, one) => total + (one?.[field] ?? Number.NaN), 0)
      expect(figures.every((one) => one?.isEstimated === false)).toBe(true)
      const [used, without] = [inputOf(shelving.usages), inputOf(plain.usages)]
      expect([sum('tokensWith'), sum('tokensWithout'), sum('tokensSaved')]).toEqual([
        used,
        without,
        without - used,
      ])
      expect(sum('extraRoundTrips')).toBe(shelving.usages.length - plain.usages.length)
    })
    await fc.assert(property, { seed: seedOr(20261119), numRuns: runs(12) })
  })

  it('is the same in headers, metrics and records', async () => {
    const { figures, got, metrics } = await measure(20, undefined, { model: 'claude-sonnet-5-5' })
    const header = (name: string) => got.headers.get(`x-toolshelf-${name}`)
    expect([header('tokens-saved'), header('tokens-with')]).toEqual([
      `${figures?.tokensSaved}`,
      `${figures?.tokensWith}`,
    ])
    expect(header('dollars-saved')).toBe(figures?.dollarsSaved?.toFixed(6))
    expect(metrics).toContain(`toolshelf_tokens_saved{mode="shelve"} ${figures?.tokensSaved}\n`)
    expect(metrics).toContain('toolshelf_extra_round_trips_total{mode="shelve"} 1\n')
  })

  it.each([
    [{}],
    [{ input_tokens: -5000, cache_read_input_tokens: 900 }],
    [{ input_tokens: '1000' }],
    [{ input_tokens: 1e308, output_tokens: 1e308 }],
    [{ input_tokens: [1000] }],
    [{ input_tokens: 1000, cache_read_input_tokens: { toString: 1 } }],
  ])('is estimated, and said to be, where usage counts nothing: %j', async (usage) => {
    const { figures } = await measure(20, () => usage, { model: 'claude-sonnet-5-5' })
    expect(figures).toMatchObject({ isEstimated: true, rounds: 2 })
    expect(figures).not.toHaveProperty('dollarsSaved')
  })
})

test('requests of one conversation are events of one, with the client’s name and the tools that it sent', async () => {
  const starts: Loose[] = []
  const events: Trace[] = []
  const openTrace = (start: Loose) => {
    starts.push(start)
    return Object.assign((event: Trace) => void events.push(event), { traceId: `${starts.length}` })
  }
  const find = { type: 'tool_use', id: 'toolu_s', name: 'ToolSearch', input: { query: 'mail' } }
  const { ask } = await play({ says: (_, n) => (n === 0 ? [find] : done), openTrace: openTrace as never })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const headers = { 'user-agent': 'claude-cli/2.1.0 (external)', traceparent }
  const later = [user(text('go')), assistant(...done), user(text('And?'))]
  await ask(asked(), headers)
  await ask(asked({ messages: later }), headers)
  await ask(asked({ messages: [user(text('something else'))] }), { 'user-agent': '(x)' })
  await ask(asked({ messages: later }), { 'x-api-key': 'another' })
  expect(starts.map(({ client }) => client?.name)).toEqual(['claude-cli', undefined, expect.anything()])
  expect(starts[0]).toMatchObject({ client: { version: '2.1.0' }, traceparent })
  const types = events.map(({ type }) => type)
  expect(types.filter((type) => type === 'answered')).toHaveLength(4)
  expect(events.find(({ type }) => type === 'loaded')).toMatchObject({ names: [SEND], by: 'search' })
  expect(events.find(({ type }) => type === 'answered')).toMatchObject({
    mode: 'shelve',
    searches: 1,
    rounds: 2,
    toolsGiven: 2,
  })
})

test('records say what failed, and why, and save nothing', async () => {
  const records: RequestRecord[] = []
  const refused = {
    status: 529,
    headers: {},
    body: '{"type":"error","error":{"type":"overloaded_error","message":"too busy"}}',
  }
  const { ask } = await play({ says: () => ({ refused }), onDone: (one) => records.push(one) })
  await ask(asked())
  await ask(asked(), { 'x-toolshelf-mode': 'nonsense' })
  await ask(asked(), {}, 'nothing')
  expect(records.map(({ status, error, outcome }) => [status, error, outcome?.figures()])).toEqual([
    [529, 'too busy', undefined],
    [400, expect.stringContaining('x-toolshelf-mode is "nonsense"'), undefined],
    [404, expect.stringContaining('no such endpoint'), undefined],
  ])
})

test('wire 31 33 anyone may ask for its health; metrics need a key; others ask about models and tokens', async () => {
  const keys = [{ secret: KEY }]
  const readinessChecks = [
    {
      name: 'store',
      check: async () => {
        throw new Error('is gone')
      },
    },
  ]
  const { url } = await play({ says, keys, readinessChecks: readinessChecks as never })
  const status = async (path: string, headers = {}) => (await fetch(`${url}${path}`, { headers })).status
  expect([await status('/health'), await status('/api/hello'), await status('/ready')]).toEqual([
    200, 200, 503,
  ])
  expect([await status('/metrics'), await status('/v1/models')]).toEqual([401, 401])
  const key = { 'x-api-key': KEY }
  expect([
    await status('/metrics', key),
    await status('/v1/models/some', { authorization: 'Bearer '.concat(KEY) }),
  ]).toEqual([200, 200])
  const models = await (
    await fetch(`${url}/v1/models`, { headers: { authorization: 'Bearer '.concat(KEY) } })
  ).json()
  expect(JSON.stringify(models)).toContain('"id":"some"')
  const { max_tokens: _, ...counted } = asked()
  const { body, headers } = await post(url, counted, { path: 'messages/count_tokens', headers: key })
  expect([body.input_tokens > 0, headers.get('x-toolshelf-estimate')]).toEqual([true, 'characters / 2.9'])
})
