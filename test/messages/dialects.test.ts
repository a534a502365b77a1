// Each server's own rules, through the gateway and the official SDK: what a model thought comes back to it, whether the
// client wants to see it or not, and what it was never given is made up for.
import Anthropic from '@anthropic-ai/sdk'
import { afterEach, describe, expect, test } from 'vitest'
import { type Fields, fieldsOf, listOf } from '../../src/lib/index.ts'
import { dialectOf } from '../../src/messages/upstream/dialects.ts'
import { createChatUpstream } from '../../src/messages/upstream/index.ts'
import { isThorough } from '../support/runs.ts'
import { type DialectModel, given, startDialect } from './support/dialect-models.ts'
import { closeAll, startGateway, tool } from './support/faults.ts'

afterEach(closeAll)

type Message = Anthropic.MessageParam
type Asking = { readonly mode: string; readonly isThinking: boolean; readonly isStream: boolean }

const MODELS: { readonly [dialect: string]: string } = {
  deepseek: 'deepseek-v4-pro',
  kimi: 'kimi-k2.6',
  gemini: 'gemini-3-pro',
  mistral: 'devstral-medium',
}
const NAMES = ['mail_send', 'mail_list', 'file_open']
const hosted = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
const toolsFor = (mode: string): Fields[] =>
  mode === 'emulate'
    ? [hosted, tool('Read'), ...NAMES.map((name) => tool(name, { defer_loading: true }))]
    : [tool('Read'), ...NAMES.map((name) => tool(name))]

async function start(model: DialectModel, mode: string) {
  const gateway = await startGateway(createChatUpstream({ url: model.url }), { mode })
  return new Anthropic({ baseURL: gateway.url, apiKey: 'x', maxRetries: 0 })
}

async function ask(
  client: Anthropic,
  name: string,
  messages: Message[],
  { mode, isThinking, isStream }: Asking,
) {
  const body = {
    ...{ model: name, max_tokens: 4000, messages, tools: toolsFor(mode) as unknown as Anthropic.Tool[] },
    ...(isThinking ? { thinking: { type: 'enabled' as const, budget_tokens: 2000 } } : {}),
  }
  return isStream ? client.messages.stream(body).finalMessage() : client.messages.create(body)
}

const result = (content: Anthropic.ContentBlock[], ...more: Anthropic.TextBlockParam[]): Message => ({
  role: 'user',
  content: [
    ...content
      .filter((block) => block.type === 'tool_use')
      .map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'it ran' })),
    ...more,
  ],
})

/** Two rounds of the client: each asks, gets a call, runs it, and gets the answer. */
async function talk(
  client: Anthropic,
  name: string,
  asking: Asking,
  keep = (content: Anthropic.ContentBlock[]) => content,
) {
  const messages: Message[] = []
  const shown: string[] = []
  for (let round = 0; round < 2; round++) {
    messages.push({ role: 'user', content: `go ${round}` })
    for (;;) {
      const reply = await ask(client, name, messages, asking)
      shown.push(...reply.content.map(({ type }) => type))
      messages.push({ role: 'assistant', content: keep(reply.content) })
      if (reply.stop_reason !== 'tool_use') break
      messages.push(result(reply.content, { type: 'text', text: 'a reminder' }))
    }
  }
  return { messages, shown }
}

/** Every pair of mode, thinking and streaming; with TEST_EFFORT=2 every three. */
const askings = ['shelve', 'emulate', 'off'].flatMap((mode, index) =>
  [true, false].flatMap((isThinking) =>
    [true, false]
      .filter((isStream) => isThorough || (isStream === isThinking) === (index % 2 === 0))
      .map((isStream) => ({ mode, isThinking, isStream })),
  ),
)

describe.each(Object.entries(MODELS))('%s (%s)', (dialect, name) => {
  test.each(askings)(
    'takes back what it gave: $mode, thinking $isThinking, stream $isStream',
    async (asking) => {
      const model = await startDialect(dialect, 'mail_send', 'mail send')
      const { messages, shown } = await talk(await start(model, asking.mode), name, asking)
      expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(4)
      expect(shown.includes('thinking')).toBe(asking.isThinking && dialect !== 'mistral')
      const last = model.bodies.at(-1)!
      const expected = dialect === 'mistral' ? model.thoughts.map(() => undefined) : model.thoughts
      expect(given(last)).toEqual(expected)
      expect(JSON.stringify(model.bodies)).not.toContain('toolshelf.')
    },
  )

  test('takes a history whose thoughts are lost', async () => {
    const model = await startDialect(dialect, 'mail_send', 'mail send')
    const asking = { mode: 'shelve', isThinking: true, isStream: false }
    const isKept = ({ type }: Anthropic.ContentBlock) => type !== 'thinking'
    const client = await start(model, 'shelve')
    const { messages } = await talk(client, name, asking, (content) => content.filter(isKept))
    // Another process, which has seen nothing of it.
    const again = await start(model, 'shelve')
    await ask(again, name, [...messages, { role: 'user', content: 'go on' }], {
      ...asking,
      isThinking: false,
    })
  })
})

test('thoughts of one model are not given to another, nor to another upstream', async () => {
  const asking = { mode: 'off', isThinking: true, isStream: false }
  const model = await startDialect('deepseek', 'mail_send', 'mail send')
  const { messages } = await talk(await start(model, 'off'), 'deepseek-v4-pro', asking)
  const other = await startDialect('kimi', 'mail_send', 'mail send')
  await ask(await start(other, 'off'), 'kimi-k2.6', [...messages, { role: 'user', content: 'go on' }], asking)
  expect(given(other.bodies.at(-1)!)).toEqual(['.', '.'])
})

test('a thought that nobody asked to see is kept for its own client only', async () => {
  const asking = { mode: 'off', isThinking: false, isStream: false }
  const model = await startDialect('deepseek', 'mail_send', 'mail send')
  const gateway = await startGateway(createChatUpstream({ url: model.url, key: 'up' }), { mode: 'off' })
  const client = (apiKey: string) => new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 })
  const { messages } = await talk(client('one'), 'deepseek-v4-pro', asking)
  await ask(client('two'), 'deepseek-v4-pro', messages.slice(0, 3), asking)
  expect(given(model.bodies.at(-1)!)).toEqual(['.'])
})

describe('OpenAI takes 128 tools', () => {
  const many = (count: number): Fields[] =>
    Array.from({ length: count }, (_, index) => tool(`mcp__box__act_${index}`))

  test('150 of few tokens are shelved in auto', async () => {
    const model = await startDialect('openai', 'mcp__box__act_7', 'act_7')
    const gateway = await startGateway(createChatUpstream({ url: model.url }), { mode: 'auto' })
    const client = new Anthropic({ baseURL: gateway.url, apiKey: 'x', maxRetries: 0 })
    const tools = many(150) as unknown as Anthropic.Tool[]
    const reply = await client.messages.create({
      ...{ model: 'gpt-4o', max_tokens: 100, tools, messages: [{ role: 'user', content: 'go' }] },
    })
    expect(reply.stop_reason).toBe('tool_use')
    expect(listOf(model.bodies[0]?.tools).length).toBeLessThan(10)
  })

  test('a conversation that has used 140 tools stays below it', async () => {
    const model = await startDialect('openai', 'none', 'none')
    const gateway = await startGateway(createChatUpstream({ url: model.url }), { mode: 'shelve' })
    const used = many(140).flatMap(({ name }, index): Fields[] => [
      { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${index}`, name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${index}`, content: 'it ran' }] },
    ])
    const client = new Anthropic({ baseURL: gateway.url, apiKey: 'x', maxRetries: 0 })
    await client.messages.create({
      ...{ model: 'gpt-4o', max_tokens: 100, tools: many(150) as unknown as Anthropic.Tool[] },
      messages: [{ role: 'user', content: 'go' }, ...(used as unknown as Message[])],
    })
    const names = listOf(model.bodies[0]?.tools).map((one) => fieldsOf(fieldsOf(one).function).name)
    expect(names).toHaveLength(128)
    expect(names.at(-1)).toBe('CallTool')
  })
})

test.each([
  ['https://api.deepseek.com/v1', 'deepseek-v4-pro', { takesThinking: true, wantsReasoning: true }],
  ['https://api.moonshot.ai/v1', 'kimi-k2.6', { takesThinking: true, wantsReasoning: true }],
  ['http://127.0.0.1:8000/v1', 'moonshotai/Kimi-K2.5', { takesThinking: false, wantsReasoning: true }],
  ['https://api.z.ai/api/paas/v4', 'glm-5', { takesThinking: true, wantsReasoning: true }],
  ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini-3-pro', { wantsExtraContent: true }],
  ['https://api.mistral.ai/v1', 'devstral-2', { callIds: 'nine', wantsAssistantAfterTool: true }],
  ['https://api.openai.com/v1', 'gpt-4o', { maxTools: 128, encryptsReasoning: false }],
  ['https://x.openai.azure.com/openai/v1', 'my-deployment', { maxTools: 128 }],
  ['https://gateway.example/v1', 'openai/gpt-5.4', { maxTools: 128, encryptsReasoning: true }],
  ['http://127.0.0.1:11434/v1', 'gpt-oss:20b', { maxTools: undefined, wantsReasoning: false }],
  ['http://127.0.0.1:11434/v1', 'qwen3', { maxTools: undefined, callIds: 'short', wantsReasoning: false }],
])('%s with %s', (url, model, has) => {
  expect(dialectOf(new URL(url), model)).toMatchObject(has)
})
