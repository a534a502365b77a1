// Clients whose tools are shelved, in front of a model that binds its thinking to all that came before it.
import type Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import type { Upstream } from '../../src/messages/index.ts'
import type { ObservedRequest } from '../../src/messages/upstream/index.ts'
import { start, upstreamOf } from './support/gateways.ts'

const names = ['issue', 'label', 'branch', 'commit', 'release', 'review', 'comment', 'milestone']
const tools = names.map((name) => ({
  name: `github_create_${name}`,
  description: `Creates a ${name} on GitHub`,
  input_schema: { type: 'object' as const, properties: {} },
}))

const script = {
  boundThinking: true,
  rules: [
    {
      when: 'in vain',
      do: [{ think: 'A.' }, { search: 'zzqqxxyy' }, { think: 'B.' }, { say: 'Nothing.' }],
    },
    {
      when: 'look',
      do: [{ think: 'A.' }, { search: 'github create' }, { think: 'B.' }, { say: 'Found {{result}}' }],
    },
  ],
  otherwise: 'Hello.',
}

const BOUND = 'claude-opus-5-5'
const thinking: Anthropic.ThinkingConfigParam = { type: 'enabled', budget_tokens: 1024 }
type Settings = { readonly model: string; readonly thinking?: Anthropic.ThinkingConfigParam }

async function talk(upstream: Upstream, settings: Settings, ...texts: readonly string[]) {
  const messages: Anthropic.MessageParam[] = []
  const answers: Anthropic.Message[] = []
  for (const text of texts) {
    const { client } = await start(upstream, { mode: 'shelve' })
    messages.push({ role: 'user', content: text })
    const answer = await client.messages.create({ ...settings, max_tokens: 2048, tools, messages })
    messages.push({ role: 'assistant', content: answer.content })
    answers.push(answer)
  }
  return answers.map(({ content }) =>
    content.map((block) => (block.type === 'text' ? block.text : block.type)),
  )
}

test('wire 44: thinking after a hidden search that found nothing does not end the conversation', async () => {
  const answers = await talk(upstreamOf('native', script), { model: BOUND, thinking }, 'in vain', 'hello')
  expect(answers).toMatchObject([
    ['thinking', 'thinking', expect.stringContaining('Nothing.')],
    ['thinking', expect.stringContaining('Hello.')],
  ])
})

test('wire 44: nor does a new gateway that knows nothing of the searches before it', async () => {
  const answers = await talk(upstreamOf('native', script), { model: BOUND, thinking }, 'look', 'hello')
  expect(answers).toMatchObject([
    ['thinking', 'thinking', expect.stringContaining('Found github_create_')],
    ['thinking', expect.stringContaining('Hello.')],
  ])
})

test.each([{ model: 'claude-opus-4-8', thinking }, { model: BOUND }])(
  'nothing is asked for where no thinking is bound: $model',
  async (settings) => {
    const seen: ObservedRequest[] = []
    await talk(
      upstreamOf('native', { ...script, boundThinking: false }, (one) => seen.push(one)),
      settings,
      'hello',
    )
    expect(seen.map(({ request }) => request.thinking)).toEqual([settings.thinking])
  },
)

test('the remark that more tools matched is not taken for the words of the user', async () => {
  const seen: ObservedRequest[] = []
  const upstream = upstreamOf('native', { ...script, boundThinking: false }, (one) => seen.push(one))
  const [answer] = await talk(upstream, { model: BOUND }, 'look')
  expect(JSON.stringify(seen.at(-1)?.request.messages)).toContain('more tools matched')
  expect(answer?.join('\n')).toContain('Found github_create_')
})

test("N4 the user's words after a call stay there, though a hidden search is restored beside the call", async () => {
  const seen: ObservedRequest[] = []
  const upstream = upstreamOf('native', { ...script, boundThinking: false }, (one) => seen.push(one))
  const { client } = await start(upstream, { mode: 'shelve' })
  const call = (id: string, name: string): Anthropic.MessageParam[] => [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 's' },
        { type: 'tool_use', id, name, input: {} },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
  ]
  const stop: Anthropic.MessageParam = { role: 'user', content: 'STOP. Run the tests instead.' }
  const begin: Anthropic.MessageParam = { role: 'user', content: 'go' }
  const messages = [begin, ...call('1', 'github_create_issue'), stop, ...call('2', 'bash')]
  const bash = { name: 'bash', input_schema: { type: 'object' as const } }
  const settings = { model: 'claude-opus-4-8', max_tokens: 2048, thinking }
  await client.messages.create({ ...settings, tools: [...tools, bash], messages })
  expect(JSON.stringify(seen[0]?.request.messages)).toContain('tool_reference')
  expect(seen[0]?.request.messages.slice(-3)).toEqual([stop, ...call('2', 'bash')])
})

test('N5 a client that edits a message or adds a tool that is always sent is answered', async () => {
  const { client } = await start(upstreamOf('native', script), { mode: 'shelve' })
  const settings = { model: BOUND, thinking, max_tokens: 2048 }
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'look' }]
  const first = await client.messages.create({ ...settings, tools, messages })
  messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: 'hello' })
  const bash = { name: 'bash', input_schema: { type: 'object' as const } }
  const second = await client.messages.create({ ...settings, tools: [...tools, bash], messages })
  messages[0] = { role: 'user', content: 'look elsewhere' }
  messages.push({ role: 'assistant', content: second.content }, { role: 'user', content: 'hello again' })
  const third = await client.messages.create({ ...settings, tools: [...tools, bash], messages })
  expect([second, third].map(({ stop_reason }) => stop_reason)).toEqual(['end_turn', 'end_turn'])
})
