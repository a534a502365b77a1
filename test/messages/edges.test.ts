// What each of the three upstreams gets of what each of the three client APIs can say: kept, said otherwise, or refused;
// never gone without a word (X3).
import { describe, expect, test } from 'vitest'
import { type Fields, fieldsOf } from '../../src/lib/index.ts'
import type { ApiName, HttpAnswer } from '../../src/messages/index.ts'
import {
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
} from '../../src/messages/upstream/index.ts'
import { record, start } from './support/gateways.ts'

const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' }
const MODELS = { messages: 'claude-sonnet-4-5', chat: 'gpt-4o', responses: 'gpt-5.4' }
const upstreams = {
  messages: createMessagesUpstream,
  chat: createChatUpstream,
  responses: createResponsesUpstream,
}

/** A reply in each API that says `ok`. */
const OK: { readonly [api in ApiName]: Fields } = {
  messages: {
    ...{
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'ok' }],
    },
    ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
  },
  chat: {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', model: 'm', usage: {} },
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  },
  responses: {
    ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'm', usage: {} },
    output: [
      { type: 'message', id: 'm_1', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] },
    ],
  },
}

type Asked = { readonly status: number; readonly answer: Fields; readonly sent: readonly Fields[] }

/** A gateway in front of an upstream that answers `reply`; what it answers a client, and what the upstream was sent. */
async function between(upstream: ApiName, { mode = 'auto', reply = OK[upstream] as unknown } = {}) {
  const isText = typeof reply === 'string'
  const answer: HttpAnswer = {
    status: 200,
    headers: { 'content-type': isText ? 'text/event-stream' : 'application/json' },
    body: isText ? reply : JSON.stringify(reply),
  }
  const { url, requests } = await record(answer)
  const gateway = await start(
    upstreams[upstream]({ url: new URL(upstream === 'messages' ? '/' : '/v1', url) }),
    { mode },
  )
  return async (client: ApiName, body: Fields): Promise<Asked> => {
    const before = requests.length
    const response = await fetch(gateway.url + PATHS[client], {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
      body: JSON.stringify({ ...basics(client, upstream), ...body }),
    })
    const sent = requests.slice(before).map((one) => JSON.parse(one.body) as Fields)
    const text = await response.text()
    return { status: response.status, answer: text.startsWith('{') ? JSON.parse(text) : { text }, sent }
  }
}

function basics(client: ApiName, upstream: ApiName): Fields {
  const said = client === 'responses' ? { input: 'hi' } : { messages: [{ role: 'user', content: 'hi' }] }
  return { model: MODELS[upstream], ...(client === 'messages' ? { max_tokens: 100 } : {}), ...said }
}

describe('settings fit the model, from every client', () => {
  const cases: [string, Fields, Fields][] = [
    // Since 4.7 Claude refuses temperature and top_p; which models may not stop thinking differs.
    ['claude-opus-5-5', { temperature: 0.2, top_p: 0.9 }, {}],
    ['claude-opus-4-8', { temperature: 0.2 }, {}],
    ['anthropic/claude-4.7-opus', { top_p: 0.9 }, {}],
    ['claude-haiku-5-5', { temperature: 0 }, {}],
    ['claude-opus-7', { temperature: 0 }, {}],
    ['claude-sonnet-4-6', { temperature: 0.2, top_p: 0.9 }, { temperature: 0.2 }],
    ['claude-sonnet-4-5', { temperature: 1.7 }, { temperature: 1 }],
    ['claude-opus-4-20250514', { top_p: 0.9 }, { top_p: 0.9 }],
    ['claude-opus-5-5', { effort: 'none' }, { output_config: { effort: 'low' } }],
    ['claude-fable-5-1', { effort: 'none' }, { output_config: { effort: 'low' } }],
    ['claude-opus-5', { effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-haiku-5-5', { effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-opus-4-8', { effort: 'none' }, {}],
    ['claude-sonnet-4-5-20250929', { effort: 'none' }, {}],
    ['claude-sonnet-4-5', { effort: 'high', temperature: 0.3 }, { temperature: 0.3 }],
    [
      'claude-sonnet-4-6',
      { effort: 'xhigh', temperature: 0.3 },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    [
      'claude-opus-5-5',
      { effort: 'xhigh' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
    ],
    // No model writes more than its limit, and a forced call excludes thinking that was asked for.
    ['claude-3-haiku-20240307', { max: 50_000 }, { max_tokens: 4096 }],
    ['claude-opus-4-1', { max: 50_000 }, { max_tokens: 32_000 }],
    ['claude-opus-5', { max: 50_000 }, { max_tokens: 50_000 }],
    ['claude-3-5-sonnet-20241022', {}, { max_tokens: 8192 }],
  ]
  const settings = ['temperature', 'top_p', 'thinking', 'output_config', 'max_tokens']
  test.each(cases)('%s with %j becomes %j', async (model, { effort, max, ...asked }, expected) => {
    const ask = await between('messages')
    const chat = await ask('chat', { model, ...asked, reasoning_effort: effort, max_completion_tokens: max })
    const reasoning = effort === undefined ? undefined : { effort }
    const responses = await ask('responses', { model, ...asked, reasoning, max_output_tokens: max })
    for (const { sent } of [chat, responses]) {
      const { max_tokens: limit, ...rest } = Object.fromEntries(
        Object.entries(sent[0] ?? {}).filter(([field]) => settings.includes(field)),
      )
      expect(rest).toEqual('max_tokens' in expected ? {} : expected)
      expect(limit).toBe(expected.max_tokens ?? (/3-|opus-4-[12]/.test(model) ? limit : 32_000))
    }
  })

  test('a forced call excludes thinking, but not the effort', async () => {
    const tools = [{ type: 'function', function: { name: 'a' } }]
    const ask = await between('messages')
    const asked = { model: 'claude-opus-5', tools, tool_choice: 'required', reasoning_effort: 'high' }
    const { sent } = await ask('chat', asked)
    expect(sent[0]).toMatchObject({ tool_choice: { type: 'any' }, output_config: { effort: 'high' } })
    expect(sent[0]).not.toHaveProperty('thinking')
  })

  test('a client of the Messages API is answered by its own API, whatever it asks for', async () => {
    const ask = await between('messages', { mode: 'off' })
    const asked = {
      model: 'claude-opus-5-5',
      temperature: 0.2,
      thinking: { type: 'disabled' },
      max_tokens: 1e6,
    }
    expect((await ask('messages', asked)).sent[0]).toMatchObject(asked)
  })

  test('models of OpenAI get a temperature up to 2 where they do not think, and no other', async () => {
    const asked = { temperature: 1.5, top_p: 0.5 }
    const chat = await between('chat', { mode: 'off' })
    const responses = await between('responses', { mode: 'off' })
    expect((await chat('responses', { model: 'gpt-4o', ...asked })).sent[0]).toMatchObject(asked)
    expect((await responses('chat', { model: 'gpt-4o', ...asked })).sent[0]).toMatchObject(asked)
    expect((await responses('messages', { model: 'gpt-5', ...asked })).sent[0]).not.toHaveProperty(
      'temperature',
    )
    const off = { ...asked, reasoning_effort: 'none' }
    expect((await responses('chat', { model: 'gpt-5.4', ...off })).sent[0]).toMatchObject({
      ...asked,
      reasoning: { effort: 'none' },
    })
    const high = { ...asked, reasoning_effort: 'high' }
    expect((await responses('chat', { model: 'gpt-5.4', ...high })).sent[0]).not.toHaveProperty('top_p')
  })
})

void fieldsOf
