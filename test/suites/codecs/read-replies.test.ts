// What vendors stream, as the reply that a client of the Messages API gets: each server's own way with calls, thoughts and
// ends, errors, and the same reply in whatever pieces it arrives.
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { endOnFailure, runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { eventsOf } from './replies.ts'
import {
  type Answer,
  type Api,
  ask,
  openGateway,
  openModel,
  openVendor,
  type Reply,
  sample,
  serverSent,
  upstreamFor,
  type Vendor,
} from './servers.ts'

const TRIES = runs(40)
const SEED = seedOr(20261121)

const text = (said: string) => ({ type: 'text', text: said })
const call = (id: unknown, input: Loose, name = 'read') => ({ type: 'tool_use', id, name, input })
const anId = expect.stringMatching(/^toolu_\w{24}$/)
const kept = (thinking: string) => ({
  type: 'thinking',
  thinking,
  signature: expect.stringMatching(/^toolshelf\./),
})

const chunk = (delta: Loose, finish: string | null = null, more: Loose = {}) => ({
  model: 'small-1',
  choices: [{ delta, finish_reason: finish, ...more }],
})
const piece = (more: Loose, name?: string, args?: unknown) => ({
  ...more,
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
})
const calls = (...tool_calls: Loose[]) => chunk({ tool_calls })
const word = (content: string) => chunk({ content })
const at = (index: number, id?: string, name?: string, args?: unknown) =>
  calls(piece(id === undefined ? { index } : { index, id }, name, args))
const end = chunk({}, 'stop')
const A = '{"path":"a"}'
const B = '{"path":"b"}'
const both = (first: unknown, second: unknown) => ({
  content: [call(first, { path: 'a' }), call(second, { path: 'b' })],
  stop_reason: 'tool_use',
})

const created = { type: 'response.created', response: { id: 'resp_1', model: 'gpt-5.4-1' } }
const added = (output_index: number, item: Loose) => ({
  type: 'response.output_item.added',
  output_index,
  item,
})
const done = (output_index: number, item: Loose) => ({
  type: 'response.output_item.done',
  output_index,
  item,
})
const delta = (kind: string, output_index: number, said: string, content_index = 0) => ({
  type: `response.${kind}.delta`,
  output_index,
  content_index,
  delta: said,
})
const words = (index: number, said: string) => delta('output_text', index, said)
const args = (index: number, said: string) => delta('function_call_arguments', index, said)
const fn = (call_id: string, args: string, name = 'read', more: Loose = {}) => ({
  type: 'function_call',
  call_id,
  name,
  arguments: args,
  ...more,
})
const said = (...content: Loose[]) => ({ type: 'message', content })
const out = (words: string, more: Loose = {}) => ({ type: 'output_text', text: words, ...more })
const counted = { input_tokens: 65, input_tokens_details: { cached_tokens: 40 }, output_tokens: 31 }
const completed = {
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', usage: counted },
}
const over = (reason: string) => ({
  type: 'response.incomplete',
  response: { incomplete_details: { reason } },
})
const reasoning = {
  type: 'reasoning',
  id: 'rs',
  summary: [{ type: 'summary_text', text: 'Hm' }, { text: 'm' }],
  encrypted_content: 'e',
}
const cite = (start_index?: unknown, end_index?: unknown) => ({
  url: 'https://a.example',
  title: 'A',
  start_index,
  end_index,
})
const cited = (start: number, stop: number, words: string) => ({
  type: 'web_search_result_location',
  url: 'https://a.example',
  title: 'A',
  cited_text: words,
  encrypted_index: `toolshelf.cited.${start}-${stop}`,
})

type Row = readonly [name: string, api: Api, events: readonly unknown[], expected: Loose, request?: Loose]
const thinks = { thinking: { type: 'enabled' } }

/** Replies as servers of many kinds stream them. */
// biome-ignore format: a table, as few lines to a row as it takes
const rows: readonly Row[] = [
  [
    'text, and its usage',
    'chat',
    [
      chunk({ role: 'assistant', content: '' }),
      word('H€l'),
      word('l😀'),
      end,
      { choices: [], usage: { prompt_tokens: 50, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 40 } } },
    ],
    {
      model: 'small-1',
      content: [text('H€ll😀')],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 40, output_tokens: 7 },
    },
  ],
  [
    'wire 24: parallel calls in fragments',
    'chat',
    [
      word('I read'),
      at(0, 'x', 'read', ''),
      at(0, undefined, undefined, '{"path":'),
      at(0, undefined, undefined, '"a"}'),
      at(1, 'y', 'read', ''),
      at(1, undefined, undefined, B),
      chunk({}, 'tool_calls'),
    ],
    { content: [text('I read'), ...both('x', 'y').content] },
  ],
  ['one index for all, each call whole', 'chat', [at(0, 'x', 'read', A), at(0, 'y', 'read', B), end], both('x', 'y')],
  ['neither ids nor indices, input as an object', 'chat', [calls(piece({}, 'read', { path: 'a' }), piece({}, 'read', { path: 'b' })), end], both(anId, anId)],
  [
    'fragments of two calls mixed',
    'chat',
    [
      calls(piece({ index: 0, id: 'x' }, 'read', '{"pa'), piece({ index: 1, id: 'y' }, 'read', '{"path"')),
      calls(piece({ index: 1 }, undefined, ':"b"}'), piece({ index: 0 }, undefined, 'th":"a"}')),
      end,
    ],
    both('x', 'y'),
  ],
  [
    'the name with every fragment, no ids',
    'chat',
    [at(0, undefined, 'read', '{"path":'), at(0, undefined, 'read', '"a"}'), at(1, undefined, 'read', '{"path":'), at(1, undefined, 'read', '"b"}'), end],
    both(anId, anId),
  ],
  [
    'another id with every fragment',
    'chat',
    [at(0, 'x', 'read', ''), at(0, 'x2', undefined, A), at(1, 'y', 'read', ''), at(1, 'y2', undefined, B), end],
    both('x', 'y'),
  ],
  [
    'the calls once more at the end',
    'chat',
    [at(0, 'x', 'read', A), at(1, 'y', 'read', B), calls(piece({ index: 0, id: 'x' }, 'read', A), piece({ index: 1, id: 'y' }, 'read', B)), end],
    both('x', 'y'),
  ],
  [
    'ids that the API would not take, or that are there already',
    'chat',
    [calls(piece({ index: 0, id: 'functions.read:0' }, 'read', A)), at(1, 'used', 'read', B), end],
    both(anId, anId),
  ],
  ['the name after the id', 'chat', [at(0, 'x'), at(0, undefined, 'read', A), at(1, 'y', 'read', B), end], both('x', 'y')],
  [
    'a call by the old name',
    'chat',
    [chunk({ function_call: { name: 'read', arguments: '{"path":' } }), chunk({ function_call: { arguments: '"a"}' } }), end],
    { content: [call(anId, { path: 'a' })], stop_reason: 'tool_use' },
  ],
  ['a call without input', 'chat', [at(0, 'x', 'now'), end], { content: [call('x', {}, 'now')] }],
  [
    'text between the fragments of a call',
    'chat',
    [at(0, 'x', 'read', '{"path":'), word('Well'), at(0, undefined, undefined, '"a"}'), end],
    { content: [call('x', { path: 'a' }), text('Well')] },
  ],
  ['blank text before a call', 'chat', [word('\n\n'), at(0, 'x', 'read', A), end], { content: [call('x', { path: 'a' })] }],
  [
    'a call that is cut off',
    'chat',
    [at(0, 'x', 'read', '{"pa'), chunk({}, 'length')],
    { content: [call('x', { broken: '{"pa' })], stop_reason: 'max_tokens' },
  ],
  [
    'thoughts by either name',
    'chat',
    [chunk({ reasoning_content: 'Hm' }), chunk({ reasoning: 'm', reasoning_content: 'm' }), chunk({ reasoning: '.' }), word('Yes'), end],
    { content: [kept('Hmm.'), text('Yes')] },
    thinks,
  ],
  ['thoughts that nobody asked for', 'chat', [chunk({ reasoning_content: 'Hm' }), word('Yes'), end], { content: [text('Yes')] }],
  [
    'thoughts that the server wants back',
    'chat',
    [chunk({ reasoning_content: 'Hm' }), word('Yes'), end],
    { content: [kept('Hm'), text('Yes')] },
    { model: 'deepseek-v4' },
  ],
  [
    'the signature of a call',
    'chat',
    [calls({ ...piece({ index: 0, id: 'x' }, 'read', A), extra_content: { google: { thought_signature: 's' } } }), end],
    { content: [kept(''), call(anId, { path: 'a' })] },
    { model: 'gemini-3-pro' },
  ],
  [
    'a refusal',
    'chat',
    [chunk({ refusal: 'I will' }), chunk({ refusal: ' not' }), end],
    { content: [{ ...text('I will not'), refusal: true }], stop_reason: 'refusal', stop_details: { type: 'refusal', category: null, explanation: null } },
  ],
  ['content in parts', 'chat', [chunk({ content: [{ type: 'thinking', thinking: [] }, text('Yes')] }), end], { content: [text('Yes')] }],
  [
    'what a text cites',
    'chat',
    [
      word('Hello'),
      chunk({ annotations: [{ type: 'url_citation', url_citation: cite(1, 3) }, { type: 'file' }, { type: 'url_citation', url_citation: {} }] }),
      chunk({ annotations: [{ type: 'url_citation', url_citation: cite('x', 99) }] }),
      end,
    ],
    { content: [{ ...text('Hello'), citations: [cited(1, 3, 'el'), cited(0, 5, 'Hello')] }] },
  ],
  [
    'a stop sequence',
    'chat',
    [word('x'), chunk({}, 'stop', { stop_reason: 'END' })],
    { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    { stop_sequences: ['END'] },
  ],
  ...[
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['tool_calls', 'end_turn'],
    ['eos', 'end_turn'],
  ].map(([finish, stop_reason]): Row => [`the end ${finish}`, 'chat', [word('x'), chunk({}, finish)], { stop_reason }]),
  ...[
    [{ prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: null }, 9, 0, 2],
    [{ prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 4 }, 5, 4, 2],
    [{ prompt_tokens: 9, completion_tokens: 2, cached_tokens: 20 }, 0, 9, 2],
    [{ prompt_tokens: 'many', completion_tokens: null }, 0, 0, 0],
  ].map(
    ([usage, input_tokens, cache_read_input_tokens, output_tokens]): Row => [
      `the usage ${JSON.stringify(usage)}`,
      'chat',
      [word('x'), chunk({}, 'stop', { usage })],
      { usage: { input_tokens, cache_creation_input_tokens: 0, cache_read_input_tokens, output_tokens } },
    ],
  ),
  ...[
    { choices: [null] },
    { choices: [{ message: null }], usage: 3, model: 7 },
    { choices: [{ message: { content: 5, tool_calls: {} }, finish_reason: {} }] },
  ].map((odd): Row => [`nothing in ${JSON.stringify(odd)}`, 'chat', [odd], { content: [], stop_reason: 'end_turn' }]),

  [
    'text, and its usage',
    'responses',
    [
      created,
      { type: 'response.in_progress' },
      added(0, said()),
      words(0, 'H€l'),
      words(0, ''),
      words(0, 'l😀'),
      { type: 'response.content_part.done', output_index: 0, content_index: 0, part: out('H€ll😀') },
      done(0, said(out('H€ll😀'))),
      completed,
    ],
    {
      id: 'msg_1',
      model: 'gpt-5.4-1',
      content: [text('H€ll😀')],
      stop_reason: 'end_turn',
      usage: { input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 40, output_tokens: 31 },
    },
  ],
  [
    'wire 24: parallel calls in fragments',
    'responses',
    [
      created,
      added(0, fn('x', '')),
      args(0, '{"path":'),
      args(0, '"a"}'),
      done(0, fn('x', A)),
      added(1, fn('y', '')),
      args(1, B),
      done(1, fn('y', B)),
      completed,
    ],
    both('x', 'y'),
  ],
  [
    'items whose events are mixed',
    'responses',
    [
      created,
      added(0, fn('x', '')),
      added(1, fn('y', '')),
      args(1, B),
      args(0, '{"path":'),
      done(1, fn('y', B)),
      args(0, '"a"}'),
      done(0, fn('x', A)),
      completed,
    ],
    both('x', 'y'),
  ],
  [
    'one index for all items',
    'responses',
    [created, added(0, fn('x', '')), done(0, fn('x', A)), added(0, fn('y', '')), done(0, fn('y', B)), completed],
    both('x', 'y'),
  ],
  [
    'items that never end',
    'responses',
    [created, added(0, said()), words(0, 'x'), added(1, fn('y', '')), done(1, fn('y', B)), completed],
    { content: [text('x'), call('y', { path: 'b' })] },
  ],
  [
    'a call by its item’s id, a namespace, and a short name',
    'responses',
    [added(0, { ...fn('', ''), id: 'fc' }), done(0, { ...fn('', '{}', 'ns.read'), id: 'fc' }), completed],
    { content: [call('fc', {})] },
  ],
  [
    'reasoning, and only its text',
    'responses',
    [
      done(0, reasoning),
      done(1, { type: 'reasoning', summary: [], content: [{ text: 'open' }] }),
      done(2, { type: 'reasoning', summary: [] }),
      done(3, said(out('So'))),
      completed,
    ],
    { content: [kept('Hm\n\nm'), kept('open'), text('So')] },
  ],
  [
    'wire 41: a search that the client runs',
    'responses',
    [
      added(0, { type: 'tool_search_call', status: 'in_progress' }),
      done(0, { type: 'tool_search_call', call_id: 'ts', status: 'completed', arguments: { query: 'x' } }),
      done(1, { type: 'tool_search_call', execution: 'server', status: 'completed' }),
      completed,
    ],
    { content: [call('ts', { query: 'x' }, 'tool_search')], stop_reason: 'tool_use' },
  ],
  [
    'a shell call, and items of hosted tools',
    'responses',
    [
      done(0, { type: 'local_shell_call', call_id: 'l', action: { type: 'exec', command: ['ls'] } }),
      done(1, { type: 'shell_call_output' }),
      done(2, { type: 'web_search_call' }),
      completed,
    ],
    { content: [call('l', { command: ['ls'] }, 'local_shell')] },
  ],
  [
    'what a text cites',
    'responses',
    [
      done(
        0,
        said(
          out('Hello', {
            annotations: [
              { type: 'url_citation', ...cite(1, 3) },
              { type: 'url_citation', ...cite() },
            ],
          }),
        ),
      ),
      completed,
    ],
    { content: [{ ...text('Hello'), citations: [cited(1, 3, 'el'), cited(0, 5, 'Hello')] }] },
  ],
  [
    'a refusal in a stream',
    'responses',
    [created, delta('refusal', 0, 'No'), delta('refusal', 0, '.'), done(0, said({ type: 'refusal', refusal: 'No.' })), completed],
    { content: [{ ...text('No.'), refusal: true }], stop_reason: 'refusal' },
  ],
  ['a refusal without words', 'responses', [created, delta('refusal', 0, ''), completed], { content: [], stop_reason: 'refusal' }],
  [
    'nothing but the end',
    'responses',
    [{ type: 'response.completed', response: { output: [said(out('a'), { type: 'refusal', refusal: 'b' }), fn('x', '{}')] } }],
    { content: [text('a'), { ...text('b'), refusal: true }, call('x', {})], stop_reason: 'refusal' },
  ],
  ['an end for want of tokens', 'responses', [created, words(0, 'x'), over('max_output_tokens')], { content: [text('x')], stop_reason: 'max_tokens' }],
  ['an end by a filter', 'responses', [created, over('content_filter')], { content: [], stop_reason: 'refusal' }],
  ['what comes after the end', 'responses', [created, completed, { type: 'error', message: 'late' }], { stop_reason: 'end_turn' }],
  [
    'a stop sequence, which the API does not know',
    'responses',
    [created, words(0, 'one E'), words(0, 'Nx E'), words(0, 'ND two'), added(1, fn('x', '')), completed],
    { content: [text('one ENx ')], stop_reason: 'stop_sequence', stop_sequence: 'END' },
    { stop_sequences: ['END'] },
  ],
  [
    'the start of a stop sequence at the end',
    'responses',
    [created, words(0, 'one E'), done(0, said(out('one E'))), completed],
    { content: [text('one E')], stop_reason: 'end_turn' },
    { stop_sequences: ['END'] },
  ],

  [
    'any reply',
    'messages',
    eventsOf({
      blocks: [{ type: 'thinking', thinking: 'Hm', signature: 's' }, { ...text('H€ll😀'), citations: [{ url: 'u' }] }, call('x', { n: 1 }) as never],
    }),
    {
      content: [{ type: 'thinking', thinking: 'Hm', signature: 's' }, { ...text('H€ll😀'), citations: [{ url: 'u' }] }, call('x', { n: 1 })],
      stop_reason: 'tool_use',
    },
  ],
]

const TOOLS = ['read', 'now'].map((name) => ({ name, input_schema: { type: 'object' } }))
const ASKED = {
  ...{ model: 'm', max_tokens: 9, tools: TOOLS, stream: true },
  messages: [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [call('used', {})] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'used' }] },
  ],
}

const ended = (api: Api, events: readonly unknown[]) => (api === 'chat' ? [...events, '[DONE]'] : events)

async function replyTo(api: Api, answer: Answer, request: Loose = {}, open?: Vendor): Promise<Reply> {
  const vendor = open ?? (await openVendor())
  vendor.answer = answer
  return sample(upstreamFor(api, vendor.url), { ...ASKED, ...request })
}

/** Ids that are made up differ from one reply to the next. */
const steady = (reply: Reply) =>
  JSON.parse(JSON.stringify(reply).replace(/"(msg|toolu)_[\da-f]{24}"/g, '"$1"'))

describe('a server streams', () => {
  it.each(rows)('%s, in %s', async (_, api, events, expected, request) => {
    const vendor = await openVendor()
    const reply = await replyTo(api, { events: ended(api, events) }, request, vendor)
    expect(reply).toMatchObject(expected)
    // Every byte apart: characters, lines and events are cut wherever they can be.
    const apart = await replyTo(api, { events: ended(api, events), sizes: [1] }, request, vendor)
    expect(steady(apart)).toEqual(steady(reply))
  })

  it('in whatever pieces, also with the line ends of other systems, comments and fields of no use', {
    timeout: 60_000 + TRIES * 500,
  }, async () => {
    const vendor = await openVendor()
    const longest = rows.filter(([name]) => /wire 24|mixed|cites|any reply/.test(name))
    for (const [, api, events, , request] of longest) {
      const upstream = upstreamFor(api, vendor.url)
      vendor.answer = { events: ended(api, events) }
      const whole = steady(await sample(upstream, { ...ASKED, ...request }))
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 9 }),
          fc.constantFrom('\n', '\r\n', '\r'),
          async (sizes, line) => {
            const stream = `: hello\nid: 5\n\n${ended(api, events).map(serverSent).join('')}`.replaceAll(
              '\n',
              line,
            )
            vendor.answer = { body: stream, headers: { 'content-type': 'text/event-stream' }, sizes }
            expect(steady(await sample(upstream, { ...ASKED, ...request }))).toEqual(whole)
          },
        ),
        { numRuns: Math.ceil(TRIES / 4), seed: SEED, endOnFailure },
      )
    }
  })

  it('a part of its reply: it is an error that says so, unless it had come to its end', async () => {
    const vendor = await openVendor()
    const reply: readonly Row[] = rows.filter(([name]) => /wire 24|any reply/.test(name))
    for (const [, api, events, , request] of reply)
      for (let count = 0; count < events.length; count++)
        for (const isCut of [false, true]) {
          vendor.answer = { events: events.slice(0, count), isCut }
          await expect(sample(upstreamFor(api, vendor.url), { ...ASKED, ...request })).rejects.toThrow(
            /broke off|before it was complete|cut its reply off|no end|cannot be reached/,
          )
        }
  })

  it('blocks one after the other, whatever it says: anything else is an error with words', {
    timeout: 60_000 + TRIES * 300,
  }, async () => {
    const vendor = await openVendor()
    const events = {
      chat: rows.filter(([, api]) => api === 'chat'),
      responses: rows.filter(([, api]) => api === 'responses'),
    }
    for (const api of ['chat', 'responses'] as const) {
      const all = events[api].flatMap(([, , one]) => one)
      const upstream = upstreamFor(api, vendor.url)
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.oneof(
              { weight: 9, arbitrary: fc.constantFrom(...all) },
              { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
            ),
            { maxLength: 12 },
          ),
          async (some) => {
            vendor.answer = { events: ended(api, some) }
            const reply = await sample(upstream, ASKED).catch((error: Error) => error.message)
            if (typeof reply === 'string') expect(reply).toMatch(/\w+ \w+ \w+/)
          },
        ),
        { numRuns: TRIES, seed: SEED, endOnFailure },
      )
    }
  })
})

const tool_calls = [{ type: 'function', ...piece({ id: 'x' }, 'read', A) }]
// biome-ignore format: a table, as few lines to a row as it takes
it.each<[Api, Loose, boolean]>([
  [
    'chat',
    { model: 'small-1', choices: [{ message: { content: 'I read', tool_calls }, finish_reason: 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 2 } },
    false,
  ],
  ['chat', { model: 'small-1', choices: [{ message: { content: 'I read', tool_calls } }], usage: { prompt_tokens: 3, completion_tokens: 2 } }, true],
  ['responses', { status: 'completed', output: [said(out('I read')), fn('x', A)], usage: { input_tokens: 3, output_tokens: 2 } }, true],
  ['messages', { content: [text('I read'), call('x', { path: 'a' })], stop_reason: 'tool_use', usage: { input_tokens: 3, output_tokens: 2 } }, false],
])('a document of %s is the reply, also where a stream was asked for: %j', async (api, body, stream) => {
  expect(await replyTo(api, { body }, { stream })).toMatchObject({
    content: [text('I read'), call('x', { path: 'a' })],
    stop_reason: 'tool_use',
    usage: { input_tokens: 3, output_tokens: 2 },
  })
})

const first = word('x')
// biome-ignore format: a table, as few lines to a row as it takes
it.each<[Api, Answer, RegExp]>([
  ['chat', { events: [first, { error: { message: 'out of memory' } }] }, /out of memory/],
  ['chat', { events: [first, { error: 'out of memory' }] }, /out of memory/],
  ['chat', { events: [first, { choices: [{ error: { code: 502, message: 'provider gone' } }] }] }, /provider gone/],
  ['chat', { events: [first, chunk({}, 'error')] }, /no reason/],
  ['chat', { events: [first, '{"half'] }, /not valid JSON/],
  ['chat', { events: [at(0, 'x', undefined, '{}'), end] }, /tool call without a name/],
  ['chat', { body: { error: { message: 'busy', code: 429 } } }, /^429 busy/],
  ['chat', { body: { error: { message: 'busy', code: {} } } }, /^502 busy/],
  ['chat', { body: { error: 'odd', code: 'x' } }, /^502 odd/],
  ['chat', { body: '<html>' }, /did not answer with a completion/],
  ['responses', { events: [created, { type: 'error', message: 'busy' }] }, /with an error: busy/],
  ['responses', { events: [{ type: 'response.failed', response: { error: { message: 'broken' } } }] }, /with an error: broken/],
  ['responses', { events: [{ type: 'response.failed' }] }, /with an error$/],
  ['responses', { events: ['5'] }, /did not answer with a JSON object/],
  ['responses', { events: [done(0, fn('', '{}'))] }, /without a name or an id/],
  ['responses', { body: { error: { message: 'bad' } } }, /with an error: bad/],
  ['responses', { body: {} }, /before it was complete/],
  ['messages', { body: { content: 5 } }, /JSON that is not a message/],
  ['messages', { body: '5', headers: { 'content-type': 'application/json' } }, /did not answer with a JSON object/],
  ['messages', { events: ['{"a'] }, /did not answer with a JSON object/],
])('an error in a reply of %s: %j', async (api, answer, reason) => {
  await expect(replyTo(api, answer)).rejects.toThrow(reason)
})

describe('refusals', () => {
  // biome-ignore format: a table, as few lines to a row as it takes
  it.each([301, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503, 504, 529])('%i has Anthropic’s type', async (status) => {
    const vendor = await openVendor({ status, body: '', headers: { location: '/x', 'x-request-id': 'req_1' } })
    const { refused }: Loose = await upstreamFor('chat', vendor.url).sample(ASKED, { headers: {}, signal: new AbortController().signal })
    const types: Loose = {
      401: 'authentication',
      402: 'billing',
      403: 'permission',
      404: 'not_found',
      408: 'timeout',
      429: 'rate_limit',
      503: 'overloaded',
      504: 'timeout',
      529: 'overloaded',
      301: 'api',
      500: 'api',
    }
    const { error, request_id } = JSON.parse(refused.body)
    expect([refused.status, error.type, request_id, refused.headers.location]).toEqual([
      Math.max(status, status < 400 ? 502 : 0),
      status === 413 ? 'request_too_large' : `${types[status] ?? 'invalid_request'}_error`,
      'req_1',
      undefined,
    ])
    expect(error.message).toBe(`the upstream answered with status ${status} and gave no reason`)
  })

  it.each<[unknown, string]>([
    [{ error: { message: 'm', code: 1 } }, 'm'],
    [{ error: 'e' }, 'e'],
    [{ message: 'm', detail: 'd' }, 'm'],
    [{ detail: [1] }, '[1]'],
    [{ error: { code: 5 } }, '{"code":5}'],
    [{ error: null, message: 'later' }, 'later'],
    [[{ error: { message: 'first' } }], 'first'],
    [{ error: { error: { message: 'deep' } } }, 'deep'],
    [' <p>no</p> ', '<p>no</p>'],
    ['x'.repeat(501), 'x'.repeat(500)],
  ])('%j', async (body, message) => {
    const error = await replyTo('responses', { status: 400, body }).catch((one: Error) => one.message)
    expect(error).toBe(`400 ${message}`)
  })

  it('nobody answers, a server redirects, and keys of the operator are masked wherever they come back', async () => {
    const nobody = upstreamFor('chat', new URL('http://127.0.0.1:9/v1'))
    await expect(sample(nobody, ASKED)).rejects.toThrow(
      /cannot be reached \(ECONNREFUSED\)\. Check that it is running/,
    )
    const vendor = await openVendor(({ headers }) => ({
      status: 400,
      headers: { 'x-echo': String(headers.authorization) },
      body: { error: { message: `no ${headers.authorization}` } },
    }))
    for (const [key, shown] of [
      ['short', 'short'],
      ['longer-key', '[redacted]'],
    ] as const) {
      const upstream = upstreamFor('chat', vendor.url, { key })
      await expect(sample(upstream, ASKED)).rejects.toThrow(`400 no Bearer ${shown}`)
      const { headers, body } = await upstream.models({ headers: {}, signal: new AbortController().signal })
      expect([headers['x-echo'], JSON.parse(body).error.message]).toEqual([
        `Bearer ${shown}`,
        `no Bearer ${shown}`,
      ])
      expect(upstream.origin?.secrets).toEqual(key === 'short' ? undefined : [key])
    }
    const own = await openGateway(upstreamFor('chat', vendor.url, { key: 'longer-key' }), 'auto')
    expect(
      (await ask(own, 'chat', { model: 'm', messages: [{ role: 'user', content: 'x' }], n: 2 })).text,
    ).toContain('no Bearer [redacted]')
    const events = ['longer', '-key', ' longer-key'].map((content) => chunk({ content }))
    vendor.answer = { events: [...events, { error: 'no longer-key' }] }
    await expect(sample(upstreamFor('chat', vendor.url, { key: 'longer-key' }), ASKED)).rejects.toThrow(
      'no [redacted]',
    )
  })
})

it('models are listed in the words of each API', async () => {
  const vendor = await openVendor()
  const listed = async (api: Api, body: unknown) => {
    vendor.answer = { body }
    const answer = await upstreamFor(api, vendor.url).models({
      headers: {},
      signal: new AbortController().signal,
    })
    return [answer.status, JSON.parse(answer.body)]
  }
  const model = (id: string, name = id, created_at = '1970-01-01T00:00:00.000Z') => ({
    type: 'model',
    id,
    display_name: name,
    created_at,
  })
  expect(
    await listed('chat', {
      data: [{ id: 'a', created: 1 }, { id: 'b', name: 'B', created: 1e300 }, { id: '' }, 5],
    }),
  ).toEqual([
    200,
    {
      data: [model('a', 'a', '1970-01-01T00:00:01.000Z'), model('b', 'B')],
      has_more: false,
      first_id: 'a',
      last_id: 'b',
    },
  ])
  expect(await listed('responses', [{ id: 'c' }])).toMatchObject([200, { data: [model('c')] }])
  expect(await listed('chat', [])).toMatchObject([200, { data: [], first_id: null }])
  expect(await listed('chat', { data: {} })).toMatchObject([
    502,
    { error: { message: expect.stringMatching(/list of models/) } },
  ])
  const { url } = await openModel()
  const get = async (path: string, headers: Loose) => {
    const got = await fetch(new URL(path, url), { headers })
    return [got.status, await got.json()]
  }
  const openai = { authorization: 'Bearer x' }
  const inOpenai = (id: string, created: number) => ({ id, object: 'model', created, owned_by: 'toolshelf' })
  expect(await get('/v1/models', openai)).toEqual([
    200,
    {
      object: 'list',
      data: [
        inOpenai('a', 1_767_225_601),
        inOpenai('b', 0),
        { object: 'model', created: 0, owned_by: 'toolshelf' },
      ],
    },
  ])
  expect(await get('/v1/models/b', openai)).toEqual([200, inOpenai('b', 0)])
  expect(await get('/v1/models/gone', openai)).toMatchObject([404, { error: { code: 'not_found' } }])
  expect(await get('/v1/models', { 'x-api-key': 'k' })).toMatchObject([200, { has_more: false }])
})

/** A reply with a thought, and what the same or another server gets in the next request. */
async function nextOf(
  api: Api,
  first: Loose,
  { model, next = model, host }: { model: string; next?: string; host?: string },
): Promise<Loose> {
  const vendor = await openVendor({ body: first })
  if (host) vi.stubEnv('http_proxy', vendor.url.origin)
  const upstream = upstreamFor(api, host ? new URL(`http://${host}/v1`) : vendor.url)
  const { content } = await sample(upstream, {
    ...ASKED,
    ...thinks,
    model,
    messages: ASKED.messages.slice(0, 1),
    stream: false,
  })
  const id = content.find(({ type }) => type === 'tool_use')?.id
  await sample(upstream, {
    ...ASKED,
    model: next,
    stream: false,
    messages: [
      ...ASKED.messages.slice(0, 1),
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
    ],
  })
  vi.unstubAllEnvs()
  expect(JSON.stringify(vendor.last())).not.toContain('toolshelf.')
  return api === 'chat' ? vendor.last().messages[1] : vendor.last().input
}

it('what a model thought comes back to it, and to no other', async () => {
  const said = (message: Loose, more: Loose = {}) => ({
    choices: [{ message: { ...message, tool_calls: [{ ...tool_calls[0], ...more }] } }],
  })
  const thoughtful = said({ reasoning_content: 'Hm' })
  const signed = said({}, { extra_content: { google: { thought_signature: 's' } } })
  expect(await nextOf('chat', thoughtful, { model: 'deepseek-v4' })).toMatchObject({
    reasoning_content: 'Hm',
  })
  expect(await nextOf('chat', thoughtful, { model: 'kimi-k2', next: 'kimi-k3' })).toMatchObject({
    reasoning_content: '.',
  })
  expect(await nextOf('chat', thoughtful, { model: 'm', host: 'api.z.ai' })).toMatchObject({
    reasoning_content: 'Hm',
  })
  expect(await nextOf('chat', thoughtful, { model: 'qwen3' })).not.toHaveProperty('reasoning_content')
  expect((await nextOf('chat', signed, { model: 'gemini-2.5' })).tool_calls[0]).toMatchObject({
    extra_content: { google: { thought_signature: 's' } },
  })
  expect(
    (await nextOf('chat', signed, { model: 'gemini-2.5', next: 'gemini-3' })).tool_calls[0].extra_content
      .google.thought_signature,
  ).toMatch(/^skip/)
  expect(
    (await nextOf('chat', signed, { model: 'm', host: 'generativelanguage.googleapis.com' })).tool_calls[0],
  ).toHaveProperty('extra_content')
  const output = { status: 'completed', output: [reasoning, fn('x', A)] }
  expect((await nextOf('responses', output, { model: 'gpt-5.4' })).slice(1, 3)).toMatchObject([
    { type: 'reasoning', id: 'rs', summary: [{ text: 'Hm' }, { text: 'm' }], encrypted_content: 'e' },
    { type: 'function_call' },
  ])
  expect((await nextOf('responses', output, { model: 'gpt-5.4', next: 'o3' }))[1]).toMatchObject({
    type: 'function_call',
  })
})

it('a thought of OpenAI’s models, and what they cite, is not sent to Anthropic', async () => {
  const vendor = await openVendor({ body: { content: [], usage: {} } })
  const signature = `toolshelf.${'x'.repeat(11)}.e30`
  const own = { url: 'u', encrypted_index: 'own' }
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'b', signature: 's' },
        { ...text('c'), citations: [cited(0, 1, 'c'), own] },
        { ...text('d'), citations: [cited(0, 1, 'd')] },
      ],
    },
    { role: 'user', content: 'y' },
  ]
  await sample(upstreamFor('messages', vendor.url), { model: 'm', messages })
  expect(vendor.last().messages.slice(1, -1)).toEqual([
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'b', signature: 's' },
        { ...text('c'), citations: [own] },
        text('d'),
      ],
    },
  ])
})
