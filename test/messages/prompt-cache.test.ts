// Clients of OpenAI's APIs get the prompt cache of Anthropic's without asking, as they do at OpenAI.
import { expect, test } from 'vitest'
import type { Fields } from '../../src/lib/json.ts'
import type { MessagesRequest } from '../../src/messages/types.ts'
import { ANTHROPIC, withPromptCache } from '../../src/messages/upstream/messages.ts'

const tool = { name: 'read', input_schema: { type: 'object' } }
const mark = { cache_control: { type: 'ephemeral' } }
const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]
const request = { model: 'claude-opus-5-5', tools: [tool], messages }
const terms = { api: 'responses' as const, settings: {}, tools: new Map<string, Fields>() }
const call = { headers: {}, signal: new AbortController().signal }
const cached = (given: MessagesRequest) => withPromptCache(given, { ...call, terms }, ANTHROPIC)

test('an agent of OpenAI gets a breakpoint at the end of its request', () => {
  expect(cached(request)).toEqual({ ...request, ...mark })
})

test.each<[string, MessagesRequest]>([
  ['that sets breakpoints itself, on a tool', { ...request, tools: [{ ...tool, ...mark }] }],
  ['in the system prompt', { ...request, system: [{ type: 'text', text: 'Be kind.', ...mark }] }],
  [
    'in a message',
    { ...request, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...mark }] }] },
  ],
  ['without tools, which is asked once', { model: 'claude-opus-5-5', messages }],
])('a client %s, gets none', (_, given) => {
  expect(cached(given)).toBe(given)
})

test('neither do clients of the Messages API, nor other servers', () => {
  expect(withPromptCache(request, call, ANTHROPIC)).toBe(request)
  expect(withPromptCache(request, { ...call, terms }, new URL('http://127.0.0.1:1'))).toBe(request)
})
