// The offline model as an upstream: its steps, its stream, its refusals.
import { describe, expect, test } from 'vitest'
import { UpstreamError } from '../../packages/messages/src/upstream/http.ts'
import { OFFLINE_NOTE } from '../../packages/messages/src/upstream/script-model.ts'
import { assistant, reference, result, text, tool, use, user } from '../oracle/requests.ts'
import {
  always,
  answered,
  ask,
  call,
  eventsFrom,
  finding,
  lines,
  messageFrom,
  play,
  recorder,
  talk,
} from './script-talk.ts'

const read = tool('Read')

describe('rules', () => {
  const greeter = play({
    rules: [
      { when: '^hello (\\w+)', do: [{ say: 'Hello yourself, {{1}}.' }] },
      { when: 'hello', do: [{ say: 'You said: {{user}}' }] },
    ],
    otherwise: 'What?',
  })
  const reply = async (content: unknown) => lines((await messageFrom(greeter, ask(content))).content)

  test('the first that fits is played, and the turn ends with a note that this is no model', async () => {
    expect(await reply('HELLO Ann')).toEqual([`Hello yourself, Ann.\n${OFFLINE_NOTE}`])
    expect(await reply('oh, hello')).toEqual([`You said: oh, hello\n${OFFLINE_NOTE}`])
    expect(await reply('bye')).toEqual([`What?\n${OFFLINE_NOTE}`])
  })

  test('words in JSON quotes, as opencode run sends them, count without the quotes', async () => {
    expect(await reply('"hello Ann"')).toEqual([`Hello yourself, Ann.\n${OFFLINE_NOTE}`])
    expect(await reply('"oh \\"hello\\""')).toEqual([`You said: oh "hello"\n${OFFLINE_NOTE}`])
    expect(await reply('"hello" "Ann"')).toEqual([`You said: "hello" "Ann"\n${OFFLINE_NOTE}`])
  })

  test('words of the host are not the user’s', async () => {
    const reminder = text('<system-reminder>\nhello Bob\n</system-reminder>')
    expect(await reply([reminder, text('hello Ann')])).toEqual([`Hello yourself, Ann.\n${OFFLINE_NOTE}`])
    expect(await reply([reminder])).toEqual([`What?\n${OFFLINE_NOTE}`])
  })

  test('an input that is a text becomes JSON, or the call is not made', async () => {
    const upstream = play({ rules: [{ when: 'with (.*)', do: [{ call: 'Read', input: '{{1}}' }] }] })
    const deeds = async (words: string) => lines((await messageFrom(upstream, ask(words, [read]))).content)
    expect(await deeds('with {"path": "a"}')).toEqual(['Read {"path":"a"}'])
    for (const wrong of ['with {"path":', 'with [1]', 'with no'])
      expect(await deeds(wrong)).toEqual([
        `What to give Read is not a JSON object, so I do not call it.\n${OFFLINE_NOTE}`,
      ])
  })

  test('words beside a result start a new turn; our own notes beside it do not', async () => {
    const upstream = play({
      rules: [
        { when: 'stop', do: [{ say: 'I stop.' }] },
        { do: [{ call: 'Read' }, { call: 'Read', input: { path: 'b' } }] },
      ],
    })
    const request = (note: string) => ({
      ...ask('go', [read]),
      messages: [user(text('go')), assistant(use('a', 'Read')), user(result('a'), text(note))],
    })
    expect(lines((await messageFrom(upstream, request('stop!'))).content)).toEqual([
      `I stop.\n${OFFLINE_NOTE}`,
    ])
    expect(lines((await messageFrom(upstream, request('Tool loaded.'))).content)).toEqual([
      'Read {"path":"b"}',
    ])
  })
})

describe('steps', () => {
  test('are played across requests, each once', async () => {
    const upstream = play(
      always(
        { think: 'Hm.' },
        { say: 'First.' },
        { call: 'Read', input: { path: '{{user}}', deep: [{ also: '{{user}}' }], count: 1 } },
        { say: 'Then.' },
        { call: '/^Rea/', input: { path: '{{result}}' } },
        { say: 'Got {{result}}.' },
      ),
    )
    const replies = await talk(upstream, ask('a.txt', [read]), (_, input) => `<${input.path}>`)
    expect(replies).toEqual([
      ['(Hm.)', 'First.', 'Read {"path":"a.txt","deep":[{"also":"a.txt"}],"count":1}'],
      ['Then.', 'Read {"path":"<a.txt>"}'],
      [`Got <<a.txt>>.\n${OFFLINE_NOTE}`],
    ])
  })

  test('a template that stands for nothing leaves no empty block, which the API would refuse', async () => {
    const upstream = play(always({ say: '{{result}}' }, { think: '{{result}}' }, { call: 'Read' }))
    const { content } = await messageFrom(upstream, ask('go', [read]))
    expect(lines(content)).toEqual(['Read {}'])
  })

  test.each(['end_turn', 'max_tokens', 'refusal'])('stop ends the turn with %s', async (stop) => {
    const upstream = play(always({ say: 'No.' }, { stop }, { say: 'never' }))
    const message = await messageFrom(upstream, ask('go'))
    expect(message.stop_reason).toBe(stop)
    expect(lines(message.content)).toEqual([`No.\n${OFFLINE_NOTE}`])
  })

  test('fail refuses so many times, and again when the same request comes later', async () => {
    const upstream = play(always({ fail: { status: 529, message: 'Busy.', times: 2 } }, { say: 'Here.' }))
    const sample = async () => {
      const sampled = await upstream.sample(ask('go'), call())
      return 'refused' in sampled ? sampled.refused : 'taken'
    }
    const refused = await sample()
    expect(refused).toMatchObject({ status: 529, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse((refused as { body: string }).body)).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Busy.' },
    })
    expect(await sample()).toMatchObject({ status: 529 })
    expect(await sample()).toBe('taken')
    expect(await sample()).toMatchObject({ status: 529 })
  })

  test('fail without a number refuses whenever it is reached, also in the middle of a turn', async () => {
    const upstream = play(always({ call: 'Read' }, { fail: { status: 429 } }))
    await expect(talk(upstream, ask('go', [read]))).rejects.toThrow('rate_limit_error')
    await expect(talk(upstream, ask('go', [read]))).rejects.toThrow('rate_limit_error')
  })

  test('cut breaks the reply off in the middle of a call', async () => {
    const sampled = await play(always({ cut: true }, { call: 'Read', input: { path: 'a b' } })).sample(
      ask('go', [read]),
      call(),
    )
    if ('refused' in sampled) throw new Error(sampled.refused.body)
    const types: string[] = []
    const reading = async () => {
      for await (const event of sampled.events) types.push(event.type)
    }
    await expect(reading()).rejects.toThrow(UpstreamError)
    expect(types).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
    ])
  })
})

describe('stream', () => {
  test('wire 24, 25: text comes in pieces, a call’s input starts with an empty one, the caller is named', async () => {
    const request = ask('go', [read])
    const events = await eventsFrom(
      play(always({ say: 'Two words.' }, { call: 'Read', input: { path: 'a' } })),
      request,
    )
    const id = expect.stringMatching(/^toolu_script_\w+$/)
    const usage = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const tokens = expect.any(Number)
    expect(events).toEqual([
      {
        type: 'message_start',
        message: {
          id: expect.stringMatching(/^msg_script_\w+$/),
          type: 'message',
          role: 'assistant',
          model: 'any',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...usage, input_tokens: tokens, output_tokens: 1 },
        },
      },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: text('') },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Two ' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'words.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id, name: 'Read', input: {}, caller: { type: 'direct' } },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '' } },
      {
        type: 'content_block_delta',
        index: 1,
        delta: { type: 'input_json_delta', partial_json: '{"path":' },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '"a"}' } },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { ...usage, input_tokens: tokens, output_tokens: tokens },
      },
      { type: 'message_stop' },
    ])
  })

  test('it waits between events, and ends when the client goes away', async () => {
    const leaving = new AbortController()
    const upstream = play({ ...always({ say: 'one two' }), delay: 60_000 })
    const sampled = await upstream.sample(ask('go'), { headers: {}, signal: leaving.signal })
    if ('refused' in sampled) throw new Error(sampled.refused.body)
    const events = sampled.events[Symbol.asyncIterator]()
    expect(await events.next()).toMatchObject({ value: { type: 'message_start' } })
    const next = events.next()
    leaving.abort()
    await expect(next).rejects.toThrow(/abort/i)
    await expect(upstream.sample(ask('go'), { headers: {}, signal: leaving.signal })).rejects.toThrow(
      /abort/i,
    )
  })
})

describe('as the API', () => {
  test('wire 4, 11: a request that the API would not take is refused with its error', async () => {
    const { seen, onRequest } = recorder()
    const upstream = play(always({ say: 'hi' }), { onRequest })
    const request = {
      ...ask('go', [read]),
      messages: [user(text('go')), assistant(use('a')), user(result('a', [reference('gone')]))],
    }
    const fault = "Tool reference 'gone' not found in available tools"
    expect(await upstream.sample(request, call())).toMatchObject({
      refused: { status: 400, body: expect.stringContaining(fault) },
    })
    expect(await upstream.countTokens(request, call())).toMatchObject({
      status: 400,
      body: expect.stringContaining(fault),
    })
    expect(seen).toMatchObject([{ request, action: 'refuses the request', refused: fault }])
  })

  test('wire 44: bound thinking is taken back unchanged and refused elsewhere', async () => {
    const upstream = play({
      ...always({ think: 'Hm.' }, { call: 'Read' }, { think: 'So.' }),
      boundThinking: true,
    })
    const request = ask('go', [read])
    const { content } = await messageFrom(upstream, request)
    const next = answered(request, content as [], finding())
    expect(lines((await messageFrom(upstream, next)).content)).toEqual(['(So.)', OFFLINE_NOTE])
    const elsewhere = await upstream.sample({ ...next, system: 'other' }, call())
    expect(elsewhere).toMatchObject({
      refused: { body: expect.stringContaining('bound to a different conversation') },
    })
  })
})
