// Parts of the Messages gateway that a whole server reaches only with many users, long conversations or odd chunks: what they
// keep, count and refuse.
import { expect, it } from 'vitest'
import type { ConversationListener } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { usesDeferral } from '../../src/messages/contract.ts'
import type { MessagesRequest, StreamEvent } from '../../src/messages/index.ts'
import { createMessagesMetrics, parseModeSetting, type RequestOutcome } from '../../src/messages/index.ts'
import { createRecent, createSizedCache } from '../../src/messages/recent.ts'
import { createReplyMemory } from '../../src/messages/reply-memory.ts'
import { createForwardRules } from '../../src/messages/server/forward-rules.ts'
import { settingFor } from '../../src/messages/server/inbound-reader.ts'
import {
  outcomeHeaders,
  peekRequest,
  type RequestContext,
  recordRequest,
} from '../../src/messages/server/request-context.ts'
import { createTokenCount } from '../../src/messages/server/token-count.ts'
import { createUserGuard } from '../../src/messages/server/user-guard.ts'
import { createTracedConversations } from '../../src/messages/traced-conversations.ts'
import type { AccessRefusal, Authenticator, User } from '../../src/users/index.ts'
import {
  assistant,
  deferred,
  found,
  reference,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'
import { effects } from '../support/variants.ts'
import { profileOf } from '../users/support.ts'

const json = JSON.stringify
const evenly = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
/** A text in two chunks, cut anywhere, and in chunks of these sizes. */
function chunksOf(whole: string, ...sizes: number[]): Buffer[][] {
  const bytes = Buffer.from(whole)
  const cut = [...bytes.keys()].map((at) => [bytes.subarray(0, at), bytes.subarray(at)])
  return [...cut, ...sizes.map((size) => evenly(bytes, size))]
}

it('caches keep what was used last, by number or by size', () => {
  const recent = createRecent<number>(2)
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
    ['c', 4],
  ] as const)
    recent.set(key, value)
  expect([recent.get('b'), recent.get('a'), recent.get('c')]).toEqual([undefined, 3, 4])
  recent.get('a')
  recent.set('d', 5)
  recent.delete('d')
  expect(['a', 'c', 'd'].map(recent.get)).toEqual([3, undefined, undefined])
  recent.get('unknown')
  recent.set('e', 6)
  expect(['a', 'e'].map(recent.get)).toEqual([3, 6])

  const sized = createSizedCache<string>(20)
  expect(sized.isEmpty()).toBe(true)
  sized.set('a', 'too large', 20)
  expect(sized.isEmpty()).toBe(true)
  sized.set('a', 'whole', 19)
  expect([sized.get('a'), sized.isEmpty()]).toEqual(['whole', false])
  for (const key of ['a', 'b', 'c']) sized.set(key, key, 5)
  expect(['a', 'b', 'c', 'd'].map(sized.get)).toEqual(['a', 'b', 'c', undefined])
  sized.get('a')
  sized.set('d', 'd', 5)
  expect(['a', 'b', 'c', 'd'].map(sized.get)).toEqual(['a', undefined, 'c', 'd'])
  sized.set('a', 'grown', 12)
  expect(['a', 'c', 'd'].map(sized.get)).toEqual(['grown', undefined, 'd'])
  sized.set('a', 'too large', 30)
  expect(sized.get('a')).toBeUndefined()
  const large = createSizedCache<string>()
  large.set('x', 'x', 2_000_000)
  large.set('y', 'y', 1_999_999)
  expect([large.get('x'), large.get('y')]).toEqual([undefined, 'y'])
})

it('H10 tokens are counted from what is reported or delivered, however it is cut', () => {
  const total = (chunks: readonly Buffer[], bytes = 0) => {
    const count = createTokenCount(bytes)
    for (const chunk of chunks) count.feed(chunk)
    return count.total()
  }
  const usage =
    '{"usage":{"input_tokens": 60,"cache_read_input_tokens":30,"cache_creation_input_tokens":5,"output_tokens" : 1234}}'
  for (const chunks of chunksOf(usage, 1, 7)) expect(total(chunks, 4000)).toBe(1329)
  const chat =
    'data: {"x":"\\"output_tokens\\": 9"}\n\ndata: {"prompt_tokens":7,"completion_tokens":2}\n\ndata: {"completion_tokens":3}\n'
  for (const chunks of chunksOf(chat, 1, 7)) expect(total(chunks, 4000)).toBe(10)
  // Texts of 12, 8 and 20 characters, in the three languages, are ten tokens.
  const broken = [
    { type: 'content_block_delta', delta: { type: 'text_delta', text: 'x'.repeat(12) } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { choices: [{ delta: { role: 'assistant', content: 'y'.repeat(8) } }] },
    { type: 'response.output_text.delta', delta: 'z'.repeat(20) },
    { type: 'response.output_text.done', text: 'z'.repeat(20) },
  ]
  const stream = broken.map((event) => `event: a\ndata: ${JSON.stringify(event)}\n\n`).join('')
  for (const chunks of chunksOf(stream, 1, 7)) expect(total(chunks, 401)).toBe(10)
  for (const chunks of chunksOf(stream.replace('"output_tokens":1', ''), 7))
    expect(total(chunks, 401)).toBe(111)
  for (const chunks of chunksOf('{"content":[{"text":"no usage"}]}\n', 7))
    expect(total(chunks, 401)).toBe(110)

  const events = (...given: object[]) => {
    const count = createTokenCount(8)
    for (const event of given) count.event(event as StreamEvent)
    return count
  }
  const delta = { type: 'content_block_delta', delta: { type: 'text_delta', text: '"output_tokens":9' } }
  const other = { type: 'content_block_start', usage: { output_tokens: 99 } }
  expect([events().total(), events(delta, delta, other).total()]).toEqual([2, 2 + 9])
  const reply = events(delta)
  for (const sampling of [
    [{ input_tokens: 5, output_tokens: 1 }, { output_tokens: 3 }],
    [{ input_tokens: 7, cache_read_input_tokens: 2, output_tokens: 1 }],
  ]) {
    reply.sampling()
    for (const usage of sampling) reply.reported(usage)
  }
  // Five tokens of output were delivered, four reported: of two samplings, the second broke off.
  expect(reply.total()).toBe(5 + 7 + 2 + 5)
})

it('a forwarded request is counted without reading it, however it is cut', () => {
  const tools = '"tools":[{"input_schema":{}},{"input_schema":{}},{"parameters":{}}]'
  const body = `{"x":"\\"model\\":\\"no\\"","model" : "a/b-[1m]",${tools}}`
  for (const chunks of chunksOf(body, 1, 5, 13)) {
    expect(peekRequest(chunks, 'messages')).toEqual({ model: 'a/b-[1m]', tools: 2 })
    expect(peekRequest(chunks, 'chat').tools).toBe(1)
    expect(peekRequest(chunks, 'responses').tools).toBe(1)
  }
  const around = (before: number, after: number) =>
    `{"a":"${'x'.repeat(before)}","model":"m","b":"${'y'.repeat(after)}"}`
  const modelIn = (whole: string, size: number) => peekRequest(evenly(Buffer.from(whole), size), 'chat').model
  for (const size of [100, 4096, 20_000]) {
    expect(modelIn(around(9000, 10), size)).toBe('m')
    expect(modelIn(around(10, 9000), size)).toBe('m')
    expect(modelIn(around(5000, 5000), size)).toBeUndefined()
    // The last byte of the first 4096, and the first of the last ones.
    for (const [before, isFound] of [
      [4077, true],
      [4078, false],
    ] as const)
      expect(modelIn(around(before, 9000), size)).toBe(isFound ? 'm' : undefined)
    for (const [after, isFound] of [
      [4077, true],
      [4078, false],
    ] as const)
      expect(modelIn(around(9000, after), size)).toBe(isFound ? 'm' : undefined)
  }
})

const asHeaders = (...list: { readonly [name: string]: string }[]) => list
const ada: User = { id: 'ada', uid: 'ada', profile: profileOf({ name: 'ada' }) }
const refusalOf = (error: unknown): string => {
  const { answer } = error as { answer: { status: number; headers: Fields; body: string } }
  const { type, message } = JSON.parse(answer.body).error
  return `refused ${answer.status} ${type}: ${message}; ${answer.headers['retry-after'] ?? 'no wait'}`
}

it('users are found by their keys, which stay here', async () => {
  const refusals: { readonly [token: string]: AccessRefusal } = {
    tsk_wrong: { status: 401, message: 'wrong' },
    tsk_missing: { status: 401, message: 'missing key', isWrongKey: true },
    tsk_denied: { status: 403, message: 'denied' },
    tsk_busy: { status: 429, message: 'busy', retryAfter: 9 },
    tsk_down: { status: 503, message: 'down' },
  }
  const withMode = (mode: string): User => ({
    ...ada,
    profile: { ...ada.profile, mode, isOperator: mode === 'off' },
  })
  const users = {
    authenticate: async (token?: string) =>
      refusals[token ?? 'tsk_missing'] ?? (token?.startsWith('tsk_mode_') ? withMode(token.slice(9)) : ada),
  } as unknown as Authenticator
  const guard = createUserGuard(users)
  const lines: string[] = []
  const write = async (headers: { readonly [name: string]: string }) => {
    const admitted = await guard.admit(headers).then(json, refusalOf)
    lines.push(`${json(headers)} → ${admitted}`)
  }
  for (const token of [
    ...Object.keys(refusals),
    'tsk_good',
    'tsk_mode_off',
    'tsk_mode_auto:20',
    'tsk_mode_odd',
    'other',
  ])
    for (const headers of asHeaders(
      { 'x-toolshelf-key': token },
      { 'x-api-key': ` ${token}`, 'x-kept': 'yes' },
      { authorization: `bearer  ${token}` },
    ))
      await write(headers)
  await write({ 'x-toolshelf-key': 'tsk_good', 'x-api-key': 'tsk_other', authorization: 'Bearer own' })
  await write({ 'x-api-key': 'own', authorization: 'Bearer tsk_good' })
  await write({ authorization: 'Basic Bearer tsk_good' })
  await write({})
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./conversations/user-keys.txt')
})

it('requests are found to be of one conversation by their messages', () => {
  const starts: unknown[] = []
  const traceOf = createTracedConversations((start) => {
    starts.push(start)
    return Object.assign(() => {}, { traceId: String(starts.length) }) as ConversationListener
  })
  const of = (messages: readonly Fields[], owner = 'me', headers = {}, who?: string) =>
    traceOf({ model: 'm', messages } as unknown as MessagesRequest, owner, headers, who)?.traceId
  const said = (index: number, more: Fields = {}) => ({
    role: index % 2 ? 'assistant' : 'user',
    content: [text(`${index}`, more)],
  })
  const talk = (count: number, from = 0) => Array.from({ length: count }, (_, index) => said(from + index))
  const seen = [
    of(talk(1)),
    of(talk(1)),
    of(talk(3)),
    of(talk(5)),
    of(talk(5), 'you'),
    // Up to seven new messages, no more.
    of(talk(12)),
    of(talk(20)),
    of([...talk(4), said(4, { cache_control: { type: 'ephemeral' } })]),
    of([]),
  ]
  expect(seen).toEqual(['1', '2', '2', '2', '3', '2', '4', '2', '5'])
  const frozen = (messages: Fields[]) => messages.map((message) => Object.freeze(message))
  const long = frozen(talk(30, 100))
  const objects = [
    of(long.slice(0, 1)),
    of(long.slice(0, 3)),
    of(long.slice(0, 10)),
    of(long.slice(0, 18)),
    of(long.slice(0, 10), 'you'),
    of([...frozen(talk(1, 50)), ...long.slice(1, 19)]),
    of(long.slice(1, 18)),
    of(talk(19, 100)),
    of([...long.slice(0, 16), ...frozen(talk(1, 70)), ...long.slice(17, 18)]),
  ]
  expect(objects).toEqual(['6', '6', '6', '7', '8', '9', '10', '7', '11'])
  const many = Array.from({ length: 20 }, (_, index) => frozen(talk(3, 1000 + 10 * index)))
  const first = many.map((messages) => of(messages))
  expect(new Set(first).size).toBe(20)
  expect(many.map((messages) => of([...messages, said(3)]))).toEqual(first)
  const again = many.slice(0, -1).map((messages) => of([...structuredClone(messages), said(5)]))
  expect(again).toEqual(first.slice(0, -1))
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  starts.length = 0
  for (const [agent, parent] of [
    ['claude-cli/2.1.0 (external)', traceparent],
    ['curl', 'odd'],
    ['(x)', ''],
    ['a/(b)', ''],
  ] as const)
    of(talk(1), 'me', { 'user-agent': agent, traceparent: parent }, agent === 'curl' ? 'ada' : undefined)
  of(talk(1))
  expect(starts).toEqual([
    { client: { name: 'claude-cli', version: '2.1.0' }, user: undefined, traceparent },
    { client: { name: 'curl', version: undefined }, user: 'ada', traceparent: undefined },
    { client: undefined, user: undefined, traceparent: undefined },
    { client: { name: 'a', version: undefined }, user: undefined, traceparent: undefined },
    { client: undefined, user: undefined, traceparent: undefined },
  ])
  expect(createTracedConversations(undefined)({ model: 'm', messages: [] }, 'me', {})).toBeUndefined()
})

it('finds a conversation that continues with the same objects without writing them', () => {
  let writes = 0
  const message = (role: string) =>
    Object.freeze({
      role,
      toJSON() {
        writes++
        return { role, content: String(writes) }
      },
    }) as unknown as Fields
  const messages = Array.from({ length: 40 }, (_, index) => message(index % 2 ? 'assistant' : 'user'))
  let opened = 0
  const traceOf = createTracedConversations(() => Object.assign(() => {}, { traceId: String(++opened) }))
  const costOf = (list: readonly Fields[], owner = 'me') => {
    writes = 0
    const trace = traceOf({ model: 'm', messages: list } as unknown as MessagesRequest, owner, {})
    return `${trace?.traceId}: ${writes}`
  }
  const upTo = (count: number) => messages.slice(0, count)
  // Seven more messages are looked through, and another owner's and other beginnings are not the same.
  expect([3, 5, 12, 20].map((count) => costOf(upTo(count)))).toEqual(['1: 3', '1: 0', '1: 0', '2: 17'])
  expect(costOf(upTo(20), 'you')).toBe('3: 20')
  const other = message('user')
  expect(costOf([other, ...messages.slice(1, 20)])).toBe('4: 20')
  expect(costOf([...upTo(18), other, messages[19]!])).toMatch(/^5: /)
  // Of conversations with one message, sixteen wait until somebody needs their key.
  const single = Array.from({ length: 17 }, () => costOf([message('user')]).split(': ')[1])
  expect(single.lastIndexOf('0')).toBe(15)
  expect(single[16]).toBe('1')
})

it('sends an outcome in headers and counts it', async () => {
  const figures = {
    tokensWithout: 9,
    tokensWith: 4,
    tokensSaved: 5,
    extraRoundTrips: 1,
    searchOutputTokens: 2,
  }
  const dollars = { dollarsWithout: 0.5, dollarsWith: 0.25, dollarsSaved: 0.25 }
  const given = {
    mode: 'shelve',
    wire: 'append',
    why: `asked for é ${'x'.repeat(400)}`,
    toolsGiven: 8,
    toolsVisible: 3,
  }
  const counted = { ...given, loaded: [], searches: 2, rounds: 3 }
  const outcomes = [
    { ...counted, figures: () => ({ ...figures, ...dollars }) },
    { ...counted, mode: 'emulate', figures: () => figures },
    { ...counted, mode: 'off', wire: undefined, figures: () => undefined },
    undefined,
  ] as unknown as RequestOutcome[]
  const lines: string[] = []
  for (const partial of ['dollarsWithout', 'dollarsWith', 'dollarsSaved'])
    outcomes.push({
      ...counted,
      mode: 'pass',
      figures: () => ({ ...figures, ...dollars, [partial]: undefined }),
    } as never)
  const metrics = createMessagesMetrics()
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome) lines.push(json(outcomeHeaders(outcome)))
    const path = ['/v1/messages', '/v1/responses', '/x'][index] ?? '/v1/models'
    recordRequest(metrics, { path, outcome } as RequestContext, 200 + index, 1500)
  }
  const text = metrics.text().replace(/^(?:#|\w+_bucket).*\n/gm, '')
  await expect([...lines, text].join('\n')).toMatchFileSnapshot('./conversations/outcomes.txt')
})

it('a reply that a client’s API cannot express is restored as the model wrote it', async () => {
  const memory = createReplyMemory()
  async function* eventsOf(blocks: readonly Fields[]): AsyncGenerator<StreamEvent> {
    yield { type: 'message_start', message: { role: 'assistant', content: [] } }
    for (const [index, content_block] of blocks.entries()) {
      yield { type: 'content_block_start', index, content_block }
      yield { type: 'content_block_stop', index }
    }
    yield { type: 'message_stop' }
  }
  const remember = async (...blocks: Fields[]) => {
    let count = 0
    for await (const _ of memory.remember(eventsOf(blocks), 'me')) count++
    return count
  }
  const request = (...messages: Fields[]) => ({ model: 'm', messages }) as unknown as MessagesRequest
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 's', text: 'no text' }
  const call = use('toolu_1', 'read')
  const flat = assistant(text('AB'), call)
  const untouched = request(flat)
  expect(memory.restore(untouched, 'me')).toBe(untouched)
  expect(await remember(thought, text('A'), { ...call, caller: { type: 'direct' } }, text('B'))).toBe(10)
  await remember(thought, text('C'), { type: 'server_tool_use', id: 's' }, text('D'))
  await remember(text('E'), use('toolu_2', 'read'))
  await remember(use('toolu_3', 'read'), text('F'))
  await remember(thought, text('G'))
  const halfway = memory
    .remember(eventsOf([thought, text('H'), use('toolu_4', 'read')]), 'me')
    [Symbol.asyncIterator]()
  for (let step = 0; step < 7; step++) await halfway.next()
  const others = [
    assistant(text('H'), use('toolu_4', 'read')),
    user(text('AB'), call),
    assistant(text('E'), use('toolu_2', 'read')),
    assistant(text('G')),
    assistant(text('AB'), use('toolu_1', 'write')),
  ]
  expect(
    memory.restore(
      request(flat, ...others, assistant(text('CD')), assistant(text('F'), use('toolu_3', 'read'))),
      'me',
    ).messages,
  ).toEqual([
    assistant(thought, text('A'), call, text('B')),
    ...others,
    assistant(text('C'), text('D')),
    assistant(use('toolu_3', 'read'), text('F')),
  ])
  for (const same of [request(...others), request(flat)]) expect(memory.restore(same, 'you')).toBe(same)
  expect(memory.restore(request(...others), 'me').messages[2]).toBe(others[2])
})

it('a client defers if its tools or its history say so', async () => {
  const whole = [
    { tools: [deferred('a')], messages: [] },
    { tools: [tool('a', { defer_loading: false })], messages: [] },
    { tools: [{ type: 'tool_search_tool_bm25', name: 'x' }], messages: [] },
    { tools: [{ type: 'mcp_toolset', default_config: { defer_loading: true } }], messages: [] },
    { tools: [{ type: 'mcp_toolset', configs: { a: {}, b: { defer_loading: true } } }], messages: [] },
    { tools: [tool('a')], messages: [user(text('hi')), { role: 'user', content: 'tool_search_tool_' }] },
    { messages: [user(result('a', [reference('b')]))] },
    { messages: [assistant(search('a')), user(text('x'))] },
    {
      messages: [
        assistant(
          { type: 'server_tool_use', name: 'web_search' },
          { type: 'tool_use', name: 'tool_search_tool_x' },
        ),
      ],
    },
    { messages: [assistant(found('a'))] },
    { messages: [system({ type: 'tool_removal', tool: { type: 'tool_reference', name: 'a' } })] },
    { messages: [assistant({ type: 'compaction', tool_changes: [{ type: 'tool_addition' }] })] },
    { messages: [assistant({ type: 'compaction', tool_changes: [] })] },
  ]
  const write = (requests: MessagesRequest[]) => [
    requests.map((one) => (usesDeferral(one) ? 'yes' : 'no')).join(' '),
  ]
  await expect(await effects(whole, write)).toMatchFileSnapshot('./conversations/defers.txt')
})

it('a request has the mode of its header, its key or the server, if it may', async () => {
  const lines: string[] = []
  const fixed = parseModeSetting('auto:20')!
  const keys = [
    undefined,
    { secret: 's' },
    { secret: 's', setting: fixed },
    { secret: 's', setting: fixed, mayChoose: true },
    { secret: 's', setting: parseModeSetting('pass')! },
  ]
  for (const [api, origin] of [
    ['messages', {}],
    ['chat', {}],
    ['messages', undefined],
  ])
    for (const key of keys)
      for (const given of [undefined, 'auto:20', 'auto:21', 'shelve', 'pass', 'x'.repeat(50)]) {
        const context = {
          incoming: { headers: { 'x-toolshelf-mode': given } },
          api: { name: 'messages' },
          path: '/v1/messages',
        }
        const options = { setting: parseModeSetting('off')!, gateway: { upstream: { api, origin } } }
        let outcome: string
        try {
          outcome = json(settingFor(context as never, { key } as never, options as never))
        } catch (error) {
          outcome = refusalOf(error)
        }
        lines.push(`${api} ${origin !== undefined} ${json(key)} ${given}: ${outcome}`)
      }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./conversations/settings.txt')
})

it('only requests that a rule names are forwarded', () => {
  const forwards = createForwardRules(['GET /v1/files/*/content', 'POST /v1/batches'])
  const asked = [
    'GET /v1/models/a',
    'GET /v1/models/',
    'GET /v1/models/..',
    'GET /v1/models/.b.',
    'GET /v1/models/a%2fb',
    'GET /v1/models',
    'POST /v1/models/a',
  ]
  const own = [
    'GET /v1/files/x/content',
    'GET /v1/files/x/contents',
    'GET /v1/files/x/content/',
    'POST /v1/batches',
    'GET /v1/batches',
  ]
  const all = [...asked, ...own].map((line) => forwards(...(line.split(' ') as [string, string])))
  expect(all).toEqual([true, false, false, true, false, false, false, true, false, false, true, false])
  for (const rule of [
    'GET /v2/x',
    '/v1/x',
    'GET v1/x',
    'get /v1/x',
    'GET /v1',
    'GET /v1/',
    'GET /v1/a*',
    'GET /v1/x y',
    'x GET /v1/x',
  ])
    expect(() => createForwardRules([rule])).toThrow(`forward: "${rule}"`)
})

it('a request is active until it is over, once', () => {
  const metrics = createMessagesMetrics()
  const [one, two] = [metrics.begin(), metrics.begin()]
  const active = () => /^toolshelf_active_requests\{gateway="messages"\} (\d)$/m.exec(metrics.text())?.[1]
  const counts = [active()]
  for (const over of [one, one, two]) {
    over()
    counts.push(active())
  }
  expect(counts).toEqual(['2', '1', '1', '0'])
})
