// What servers of many dialects stream, as the events of a Messages reply.
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { chunk, completion, talk } from './support/chat-server.ts'

const stream = (chunks: readonly unknown[], request: Partial<MessagesRequest> = {}) =>
  talk({ data: [...chunks, '[DONE]'] }, { stream: true, ...request })
const piece = (fields: Fields, name?: string, args?: unknown) => ({
  ...fields,
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
})
const calls = (...tool_calls: Fields[]) => chunk({ tool_calls })
const usage = (fields: Fields) => ({ model: 'small-1', choices: [], usage: fields })
const read = (id: unknown, path: string) => ({ type: 'tool_use', id, name: 'read', input: { path } })
const anId = expect.stringMatching(/^toolu_\w{24}$/)

describe('events', () => {
  it('streams text', async () => {
    const { events } = await stream([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({}, 'stop'),
      usage({ prompt_tokens: 50, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 40 } }),
    ])
    const none = {
      input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 0,
    }
    expect(events).toEqual([
      {
        type: 'message_start',
        message: {
          id: expect.stringMatching(/^msg_\w{24}$/),
          type: 'message',
          role: 'assistant',
          model: 'small-1',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: none,
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { ...none, input_tokens: 10, cache_read_input_tokens: 40, output_tokens: 7 },
      },
      { type: 'message_stop' },
    ])
  })

  it('wire 24: streams parallel calls, an empty fragment first, then each fragment as it comes', async () => {
    const { events, message } = await stream([
      chunk({ content: 'I read' }),
      calls(piece({ index: 0, id: 'call_a', type: 'function' }, 'read', '')),
      calls(piece({ index: 0 }, undefined, '{"path":')),
      calls(piece({ index: 0 }, undefined, '"a"}')),
      calls(piece({ index: 1, id: 'call_b', type: 'function' }, 'read', '')),
      calls(piece({ index: 1 }, undefined, '{"path":"b"}')),
      chunk({}, 'tool_calls'),
    ])
    const json = (index: number, partial_json: string) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json },
    })
    expect(events.slice(4, -2)).toEqual([
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'call_a', name: 'read', input: {} },
      },
      json(1, ''),
      json(1, '{"path":'),
      json(1, '"a"}'),
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'call_b', name: 'read', input: {} },
      },
      json(2, ''),
      json(2, '{"path":"b"}'),
      { type: 'content_block_stop', index: 2 },
    ])
    expect(message.stop_reason).toBe('tool_use')
  })
})

describe('dialects of calls', () => {
  const dialects: [string, Fields[], string[]][] = [
    [
      'one index for all, each call whole',
      [
        calls(piece({ index: 0, id: 'x' }, 'read', '{"path":"a"}')),
        calls(piece({ index: 0, id: 'y' }, 'read', '{"path":"b"}')),
      ],
      ['x', 'y'],
    ],
    [
      'neither ids nor indices, input as an object',
      [calls(piece({}, 'read', { path: 'a' }), piece({}, 'read', { path: 'b' }))],
      ['', ''],
    ],
    [
      'fragments of two calls mixed',
      [
        calls(piece({ index: 0, id: 'x' }, 'read', '{"pa'), piece({ index: 1, id: 'y' }, 'read', '{"path"')),
        calls(piece({ index: 1 }, undefined, ':"b"}'), piece({ index: 0 }, undefined, 'th":"a"}')),
      ],
      ['x', 'y'],
    ],
    [
      'the name with every fragment, no ids',
      [
        calls(piece({ index: 0 }, 'read', '{"path":')),
        calls(piece({ index: 0 }, 'read', '"a"}')),
        calls(piece({ index: 1 }, 'read', '{"path":')),
        calls(piece({ index: 1 }, 'read', '"b"}')),
      ],
      ['', ''],
    ],
    [
      'another id with every fragment',
      [
        calls(piece({ index: 0, id: 'x' }, 'read', '')),
        calls(piece({ index: 0, id: 'x2' }, undefined, '{"path":"a"}')),
        calls(piece({ index: 1, id: 'y' }, 'read', '')),
        calls(piece({ index: 1, id: 'y2' }, undefined, '{"path":"b"}')),
      ],
      ['x', 'y'],
    ],
    [
      'the calls once more at the end',
      [
        calls(piece({ index: 0, id: 'x' }, 'read', '{"path":"a"}')),
        calls(piece({ index: 1, id: 'y' }, 'read', '{"path":"b"}')),
        calls(
          piece({ index: 0, id: 'x' }, 'read', '{"path":"a"}'),
          piece({ index: 1, id: 'y' }, 'read', '{"path":"b"}'),
        ),
      ],
      ['x', 'y'],
    ],
    [
      'ids that the API would not take, or that are there twice',
      [
        calls(piece({ index: 0, id: 'functions.read:0' }, 'read', '{"path":"a"}')),
        calls(piece({ index: 1, id: 'used' }, 'read', '{"path":"b"}')),
      ],
      ['', ''],
    ],
    [
      'the name after the id',
      [
        calls(piece({ index: 0, id: 'x' })),
        calls(piece({ index: 0 }, 'read', '{"path":"a"}')),
        calls(piece({ index: 1, id: 'y' }, 'read', '{"path":"b"}')),
      ],
      ['x', 'y'],
    ],
  ]
  const messages = [
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'used', name: 'read', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'used', content: 'ok' }] },
  ]

  it.each(dialects)('%s', async (_, chunks, [first, second]) => {
    const { message } = await stream([...chunks, chunk({}, 'stop')], { messages })
    expect(message.content).toEqual([read(first || anId, 'a'), read(second || anId, 'b')])
    expect(message.stop_reason).toBe('tool_use')
    const [one, two] = message.content as Fields[]
    expect(one!.id).not.toBe(two!.id)
  })

  it('takes a call by the old name', async () => {
    const { message } = await stream([
      chunk({ function_call: { name: 'read', arguments: '{"path":' } }),
      chunk({ function_call: { arguments: '"a"}' } }),
      chunk({}, 'function_call'),
    ])
    expect(message).toMatchObject({ stop_reason: 'tool_use', content: [read(anId, 'a')] })
  })

  it('takes a call without input', async () => {
    const { message } = await stream([calls(piece({ index: 0, id: 'x' }, 'now')), chunk({}, 'tool_calls')])
    expect(message.content).toEqual([{ type: 'tool_use', id: 'x', name: 'now', input: {} }])
  })

  it('keeps text that comes between the fragments of a call', async () => {
    const { message, events } = await stream([
      calls(piece({ index: 0, id: 'x' }, 'read', '{"path":')),
      chunk({ content: 'Well' }),
      calls(piece({ index: 0 }, undefined, '"a"}')),
      chunk({}, 'tool_calls'),
    ])
    expect(message.content).toEqual([read('x', 'a'), { type: 'text', text: 'Well' }])
    const open = events
      .filter(({ type }) => /content_block_(start|stop)/.test(type))
      .map(({ index }) => index)
    expect(open).toEqual([0, 0, 1, 1])
  })

  it('drops blank text before a call', async () => {
    const { message } = await stream([
      chunk({ content: '\n\n' }),
      calls(piece({ index: 0, id: 'x' }, 'read', '{"path":"a"}')),
      chunk({}, 'tool_calls'),
    ])
    expect(message.content).toEqual([read('x', 'a')])
  })

  it('says so when a call has no name', async () => {
    const nameless = stream([calls(piece({ index: 0, id: 'x' }, undefined, '{}')), chunk({}, 'tool_calls')])
    await expect(nameless).rejects.toThrow(/tool call without a name/)
  })
})

describe('other content', () => {
  const thoughtful = [
    chunk({ reasoning_content: 'Hm' }),
    chunk({ reasoning: 'm', reasoning_content: 'm' }),
    chunk({ reasoning: '.' }),
    chunk({ content: 'Yes' }),
    chunk({}, 'stop'),
  ]

  it('shows thinking to a client that asked for it', async () => {
    const { message } = await stream(thoughtful, { thinking: { type: 'enabled', budget_tokens: 1024 } })
    expect(message.content).toEqual([
      { type: 'thinking', thinking: 'Hmm.', signature: expect.stringMatching(/^toolshelf\./) },
      { type: 'text', text: 'Yes' },
    ])
  })

  it('keeps thinking from others', async () => {
    expect((await stream(thoughtful)).message.content).toEqual([{ type: 'text', text: 'Yes' }])
  })

  it('passes on a refusal', async () => {
    const { message } = await stream([
      chunk({ refusal: 'I will' }),
      chunk({ refusal: ' not' }),
      chunk({}, 'stop'),
    ])
    expect(message).toMatchObject({ stop_reason: 'refusal', content: [{ type: 'text', text: 'I will not' }] })
  })

  it('reads content in parts', async () => {
    const content = [
      { type: 'thinking', thinking: [] },
      { type: 'text', text: 'Yes' },
    ]
    expect((await stream([chunk({ content }), chunk({}, 'stop')])).message.content).toEqual([
      { type: 'text', text: 'Yes' },
    ])
  })
})

describe('ends', () => {
  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['tool_calls', 'end_turn'],
    ['eos', 'end_turn'],
  ])('finish_reason %s without calls is %s', async (finish, reason) => {
    expect((await stream([chunk({ content: 'x' }), chunk({}, finish)])).message.stop_reason).toBe(reason)
  })

  it('is max_tokens when a call was cut off', async () => {
    const cut = [calls(piece({ index: 0, id: 'x' }, 'read', '{"pa')), chunk({}, 'length')]
    expect((await stream(cut)).message.stop_reason).toBe('max_tokens')
  })

  it('names the stop sequence where the server does', async () => {
    const end = { choices: [{ delta: {}, finish_reason: 'stop', stop_reason: 'END' }] }
    const { message } = await stream([chunk({ content: 'x' }), end], { stop_sequences: ['END'] })
    expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
  })

  it('needs no [DONE] after a finish, and no finish before [DONE]', async () => {
    const undone = await talk({ data: [chunk({ content: 'x' }), chunk({}, 'stop')] }, { stream: true })
    expect(undone.message.stop_reason).toBe('end_turn')
    expect((await stream([chunk({ content: 'x' })])).message.stop_reason).toBe('end_turn')
  })

  it.each([
    ['ends', undefined],
    ['is cut', true],
  ] as const)('fails when the stream %s before the reply does', async (_, cut) => {
    const broken = talk({ data: [chunk({ content: 'x' })], ...(cut ? { cut } : {}) }, { stream: true })
    await expect(broken).rejects.toThrow(/broke off/)
  })

  it.each([
    [{ error: { message: 'out of memory' } }, 'out of memory'],
    [{ error: 'out of memory' }, 'out of memory'],
    [
      { choices: [{ error: { code: 502, message: 'provider gone' }, finish_reason: 'error' }] },
      'provider gone',
    ],
    [chunk({}, 'error'), 'no reason'],
    ['{"half', 'not valid JSON'],
  ])('passes on the error in a stream: %j', async (error, message) => {
    await expect(stream([chunk({ content: 'x' }), error])).rejects.toThrow(message)
  })
})

describe('usage', () => {
  it.each([
    [{ prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: null }, 9, 0, 2],
    [{ prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 4 }, 5, 4, 2],
    [{ prompt_tokens: 9, completion_tokens: 2, cached_tokens: 20 }, 0, 9, 2],
    [{ prompt_tokens: 'many', completion_tokens: null }, 0, 0, 0],
  ])('%j', async (given, input_tokens, cache_read_input_tokens, output_tokens) => {
    const { message } = await stream([chunk({ content: 'x' }), chunk({}, 'stop'), usage(given)])
    expect(message.usage).toMatchObject({ input_tokens, cache_read_input_tokens, output_tokens })
  })
})

describe('a whole completion', () => {
  it('gives the same reply as a stream', async () => {
    const tool_calls = [piece({ id: 'x', type: 'function' }, 'read', '{"path":"a"}')]
    const { message } = await talk({
      body: completion({ content: 'I read', tool_calls }, 'stop', { prompt_tokens: 3, completion_tokens: 2 }),
    })
    expect(message).toMatchObject({
      model: 'small-1',
      stop_reason: 'tool_use',
      content: [{ type: 'text', text: 'I read' }, read('x', 'a')],
      usage: { input_tokens: 3, output_tokens: 2 },
    })
  })

  it('is taken for a stream, too', async () => {
    const { message } = await talk({ body: completion({ content: 'Hi' }) }, { stream: true })
    expect(message.content).toEqual([{ type: 'text', text: 'Hi' }])
  })

  it.each([
    [{ choices: [null] }],
    [{ choices: [{ message: null }], usage: 3, model: 7 }],
    [{ choices: [{ message: { content: 5, tool_calls: [] } }] }],
    [{ choices: [{ message: { tool_calls: {} }, finish_reason: {} }] }],
  ])('does not fall over %j', async (body) => {
    expect((await talk({ body })).message).toMatchObject({ content: [], stop_reason: 'end_turn' })
  })
})
