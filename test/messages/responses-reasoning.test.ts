// Encrypted reasoning returns to OpenAI's models in front of what it led to; effort and thinking are sent to them.
import Anthropic from '@anthropic-ai/sdk'
import { afterEach, describe, expect, test } from 'vitest'
import { createCollector, eventsOf } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { createHiddenThoughts } from '../../src/messages/hidden-thoughts.ts'
import type { MessagesRequest, StreamEvent } from '../../src/messages/index.ts'
import { toChatRequest } from '../../src/messages/upstream/chat-request.ts'
import { dialectOf } from '../../src/messages/upstream/dialects.ts'
import { createResponsesUpstream } from '../../src/messages/upstream/index.ts'
import { toResponses } from '../../src/messages/upstream/responses-request.ts'
import { thoughtsOf } from '../../src/messages/upstream/thoughts.ts'
import { closeAll, startGateway, tool } from './support/faults.ts'
import { reasoningIn, startResponses } from './support/openai-models.ts'

afterEach(closeAll)

const hosted = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
const toolsFor = (mode: string) => {
  const mail = ['mcp__mail__send', 'mcp__mail__list']
  const all =
    mode === 'emulate'
      ? mail.map((name) => tool(name, { defer_loading: true }))
      : mail.map((name) => tool(name))
  return [tool('Read'), ...(mode === 'emulate' ? [hosted] : []), ...all] as unknown as Anthropic.Tool[]
}

async function talk(model: string, mode: string, isThinking: boolean, isStream: boolean) {
  const { url, bodies } = await startResponses('mcp__mail__send', 'mail send', { thinks: true })
  const gateway = await startGateway(createResponsesUpstream({ url }), { mode })
  const client = new Anthropic({ baseURL: gateway.url, apiKey: 'x', maxRetries: 0 })
  const body = {
    ...{ model, max_tokens: 4000, tools: toolsFor(mode) },
    ...(isThinking ? { thinking: { type: 'enabled' as const, budget_tokens: 2000 } } : {}),
  }
  const ask = (...messages: Anthropic.MessageParam[]) => {
    const request = { ...body, messages: [{ role: 'user' as const, content: 'go' }, ...messages] }
    return isStream ? client.messages.stream(request).finalMessage() : client.messages.create(request)
  }
  const { content } = await ask()
  const calls = content.filter((block) => block.type === 'tool_use')
  const results = calls.map(({ id, name }) => ({
    ...{ type: 'tool_result' as const, tool_use_id: id, content: `${name} ran` },
  }))
  const last = await ask({ role: 'assistant', content }, { role: 'user', content: results })
  return { bodies, shown: [...content, ...last.content].map(({ type }) => type) }
}

const cases = ['gpt-5.4', 'gpt-5'].flatMap((model) =>
  ['shelve', 'emulate', 'off'].flatMap((mode) =>
    [true, false].flatMap((isThinking) =>
      [true, false].map((isStream) => ({ model, mode, isThinking, isStream })),
    ),
  ),
)

test.each(cases)(
  '$model takes back its reasoning: $mode, thinking $isThinking, stream $isStream',
  async ({ model, mode, isThinking, isStream }) => {
    const { bodies, shown } = await talk(model, mode, isThinking, isStream)
    const isHosted = mode === 'emulate' && model === 'gpt-5.4'
    const search = mode === 'off' ? [] : [`enc_1 ${isHosted ? 'tool_search_call' : 'function_call'}`]
    const call = `enc_${search.length + 1} function_call`
    expect(reasoningIn(bodies.at(-1)!)).toEqual([...search, call])
    expect(bodies[0]).toMatchObject({ include: ['reasoning.encrypted_content'], store: false })
    expect(shown.includes('thinking')).toBe(isThinking)
    expect(JSON.stringify(bodies)).not.toContain('toolshelf.')
  },
)

test('models that do not reason are not asked to', async () => {
  const { bodies } = await talk('gpt-4.1', 'off', true, false)
  for (const body of bodies) expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['include']))
})

describe('effort and thinking', () => {
  const asked = (more: Fields): MessagesRequest => ({ model: 'm', messages: [], ...more })
  const budget = (tokens: number) => ({ thinking: { type: 'enabled', budget_tokens: tokens } })

  test.each<[string, string, Fields, Fields]>([
    [
      'api.deepseek.com',
      'deepseek-v4-pro',
      { thinking: { type: 'disabled' } },
      { thinking: { type: 'disabled' } },
    ],
    [
      ...(['api.deepseek.com', 'deepseek-v4-pro'] as const),
      { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      { thinking: { type: 'enabled' }, reasoning_effort: 'max' },
    ],
    ['api.moonshot.ai', 'kimi-k2.6', budget(1024), { thinking: { type: 'enabled' } }],
    ['api.moonshot.ai', 'kimi-k2.6', {}, {}],
    ['generativelanguage.googleapis.com', 'gemini-3-pro', budget(20_000), { reasoning_effort: 'high' }],
    ['127.0.0.1', 'gpt-oss', budget(5000), { reasoning_effort: 'medium' }],
    ['api.openai.com', 'gpt-5.4', { thinking: { type: 'disabled' } }, { reasoning_effort: 'none' }],
    ['127.0.0.1', 'qwen3', { ...budget(5000), output_config: { effort: 'low' } }, {}],
  ])('Chat Completions at %s with %s: %j', (host, model, given, expected) => {
    const url = new URL(`https://${host}/v1`)
    const body = toChatRequest(asked(given), dialectOf(url, model), thoughtsOf('chat', model))
    const { thinking, reasoning_effort } = JSON.parse(JSON.stringify(body))
    expect(JSON.parse(JSON.stringify({ thinking, reasoning_effort }))).toEqual(expected)
  })

  test.each<[string, Fields, Fields | undefined]>([
    ['gpt-5', {}, undefined],
    ['gpt-5', { output_config: { effort: 'max' } }, { effort: 'high' }],
    ['gpt-5.4', { output_config: { effort: 'max' } }, { effort: 'xhigh' }],
    ['gpt-5.4', { thinking: { type: 'disabled' } }, { effort: 'none' }],
    ['gpt-5.4', budget(4095), { effort: 'low', summary: 'auto' }],
    ['gpt-5.4', budget(4096), { effort: 'medium', summary: 'auto' }],
    ['gpt-5.4', budget(16_383), { effort: 'medium', summary: 'auto' }],
    ['gpt-5.4', budget(16_384), { effort: 'high', summary: 'auto' }],
    ['gpt-5.4', { thinking: { type: 'adaptive' } }, { summary: 'auto' }],
    ['gpt-4.1', budget(1024), undefined],
  ])('Responses with %s: %j', (model, given, expected) => {
    const dialect = dialectOf(new URL('https://api.openai.com'), model)
    const { body } = toResponses(asked(given), dialect, thoughtsOf('responses', model))
    expect(JSON.parse(JSON.stringify(body)).reasoning).toEqual(expected)
  })
})

test('thoughts that nobody sees are bounded: the oldest are forgotten, too long ones never kept', async () => {
  const thoughts = createHiddenThoughts(10_000)
  const { sign } = thoughtsOf('chat', 'm')
  const replyWith = async (id: string, thinking: string) => {
    const content = [
      { type: 'thinking', thinking, signature: sign({}) },
      { type: 'tool_use', id, name: 'a', input: {} },
    ]
    async function* events(): AsyncGenerator<StreamEvent> {
      yield* eventsOf({ role: 'assistant', content, stop_reason: 'tool_use' })
    }
    const collector = createCollector()
    for await (const event of thoughts.hide(events(), 'me')) collector.add(event)
    return collector.message()
  }
  const seenAgain = (content: unknown, owner = 'me') => {
    const request = { model: 'm', messages: [{ role: 'assistant', content }] }
    return JSON.stringify(thoughts.restore(request, owner)).includes('thinking')
  }
  const replies = []
  for (const number of [1, 2, 3, 4]) replies.push(await replyWith(`toolu_${number}`, 'x'.repeat(3000)))
  const tooLong = await replyWith('toolu_5', 'x'.repeat(20_000))
  expect(replies.map(({ content }) => seenAgain(content))).toEqual([false, true, true, true])
  expect(seenAgain(tooLong.content)).toBe(false)
  expect(seenAgain(replies[3]?.content, 'another')).toBe(false)
  expect(replies[0]?.content).toEqual([{ type: 'tool_use', id: 'toolu_1', name: 'a', input: {} }])
})

test('a forged thought that is nested too deeply is dropped', async () => {
  const { url, bodies } = await startResponses('none', 'none')
  const gateway = await startGateway(createResponsesUpstream({ url }), { mode: 'off' })
  const client = new Anthropic({ baseURL: gateway.url, apiKey: 'x', maxRetries: 0 })
  const item = `{"type":"reasoning","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const signature = `toolshelf.item.${Buffer.from(item).toString('base64url')}`
  const content = [
    { type: 'thinking' as const, thinking: '', signature },
    { type: 'text' as const, text: 'yes' },
  ]
  const user = { role: 'user' as const, content: 'go' }
  const messages = [user, { role: 'assistant' as const, content }, user]
  await client.messages.create({ model: 'gpt-5.4', max_tokens: 9, messages })
  expect(reasoningIn(bodies.at(-1) ?? {})).toEqual([])
})
