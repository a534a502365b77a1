// The official client, unchanged, against each mode and each kind of upstream.
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { Upstream } from '../../src/messages/index.ts'
import {
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
} from '../../src/messages/upstream/index.ts'
import { deferred, tool } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, blockLine, emulate, expose, hosted, start, upstreamOf } from './support/gateways.ts'
import { startChat, startResponses } from './support/openai-models.ts'

const TARGET = 'find_zebra'
const script = always(
  { call: TARGET, input: { stripes: 3 }, search: 'find zebra' },
  { say: 'Done: {{result}}' },
)

/** Every kind of upstream, with a model that wants to call the tool; the ways in which it can be asked. */
const upstreams: { readonly [kind: string]: { model: string; open: () => Promise<Upstream> } } = {
  'script, native': { model: 'any', open: async () => upstreamOf('native', script) },
  'script, append': { model: 'any', open: async () => upstreamOf('append', script) },
  'script, bridge': { model: 'any', open: async () => upstreamOf('bridge', script) },
  'Messages over HTTP, native': {
    model: 'claude-opus-5-5',
    open: async () => overHttp((await emulate('native', script)).url, 'native'),
  },
  'Messages over HTTP, from before tool search': {
    model: 'claude-3-opus',
    open: async () => overHttp((await expose(upstreamOf('append', script))).url),
  },
  'Messages over HTTP, from before tool search, bridge': {
    model: 'claude-3-opus',
    open: async () => overHttp((await expose(upstreamOf('bridge', script))).url, 'bridge'),
  },
  'Chat Completions': {
    model: 'small-1',
    open: async () => createChatUpstream({ url: (await startChat(TARGET)).url }),
  },
  'Responses with tool_search': {
    model: 'gpt-5.4',
    open: async () => createResponsesUpstream({ url: (await startResponses(TARGET)).url }),
  },
  'Responses without': {
    model: 'gpt-4.1',
    open: async () => createResponsesUpstream({ url: (await startResponses(TARGET)).url }),
  },
}

function overHttp(url: string, wire?: 'native' | 'bridge'): Upstream {
  return createMessagesUpstream({ url: new URL(url), ...(wire ? { wire } : {}) })
}

const others = Array.from({ length: 6 }, (_, index) => `send_mail_${index}`)
const zebra = { input_schema: { type: 'object', properties: { stripes: { type: 'integer' } } } }
const plain = [tool('Read'), ...others.map((name) => tool(name)), tool(TARGET, zebra)]
const waiting = [
  ...[hosted('bm25'), tool('Read')],
  ...others.map((name) => deferred(name)),
  deferred(TARGET, zebra),
]

/** What a client sends in each mode, and whether it sees the search. */
const modes = {
  pass: { tools: plain, searches: false },
  emulate: { tools: waiting, searches: true },
  shelve: { tools: plain, searches: false },
  off: { tools: waiting, searches: false },
}
type Mode = keyof typeof modes

const cases = Object.keys(upstreams).flatMap((kind) =>
  (Object.keys(modes) as Mode[])
    .filter((mode) => mode !== 'pass' || kind.startsWith('Messages'))
    .map((mode) => [mode, kind] as const),
)

async function opened(mode: Mode, kind: string) {
  const { model, open } = upstreams[kind]!
  const { client, url } = await start(await open(), { mode })
  return { client, url, request: { ...ask(modes[mode].tools), model } as never }
}

const expected = (mode: Mode) => [
  ...(modes[mode].searches
    ? [expect.stringMatching(/^server_tool_use tool_search_tool_bm25 /), `result [${TARGET}]`]
    : []),
  `tool_use ${TARGET} {"stripes":3}`,
]
const blocksIn = ({ content }: { content: readonly unknown[] }) =>
  content.map((block) => blockLine(block as Fields))

describe.each(cases)('%s before %s', (mode, kind) => {
  test('wire 29 create, stream and countTokens', async () => {
    const { client, request } = await opened(mode, kind)
    const created = await client.messages.create(request).withResponse()
    expect(blocksIn(created.data)).toEqual(expected(mode))
    expect(created.data.stop_reason).toBe('tool_use')
    expect(created.data.usage.input_tokens).toBeGreaterThan(0)
    expect(created.response.headers.get('x-toolshelf-mode')).toBe(mode)

    const events: string[] = []
    const stream = client.messages.stream(request).on('streamEvent', ({ type }) => events.push(type))
    const message = await stream.finalMessage()
    expect(blocksIn(message)).toEqual(expected(mode))
    expect(message.stop_reason).toBe('tool_use')
    expect(events[0]).toBe('message_start')
    expect(events.slice(-2)).toEqual(['message_delta', 'message_stop'])

    const { max_tokens: _, ...counted } = request as Fields
    const { data, response } = await client.messages.countTokens(counted as never).withResponse()
    expect(data.input_tokens).toBeGreaterThan(0)
    const isOpenAi = /^(Chat|Responses)/.test(kind)
    expect(response.headers.has('x-toolshelf-estimate')).toBe(isOpenAi)
  })

  // Passed on to an API that does not know them, the runner's threads are refused by that API.
  const hasThreads = mode !== 'pass' || kind.endsWith('native')
  const testRunner = hasThreads ? test : () => {}
  testRunner('wire 29, 37 the tool runner', async () => {
    const { client, request } = await opened(mode, kind)
    const ran: unknown[] = []
    const runnable = betaTool({
      name: TARGET,
      description: 'does find_zebra',
      inputSchema: { type: 'object', properties: { stripes: { type: 'integer' } } },
      run: (input) => {
        ran.push(input)
        return `${TARGET} ran`
      },
    })
    const tools = modes[mode].tools.map((one) =>
      one.name === TARGET ? { ...runnable, ...('defer_loading' in one ? { defer_loading: true } : {}) } : one,
    )
    const runner = client.beta.messages.toolRunner({ ...(request as Fields), tools } as never)
    const last = await runner.runUntilDone()
    expect(ran).toEqual([{ stripes: 3 }])
    expect(last.stop_reason).toBe('end_turn')
    expect(blocksIn(last)).toEqual([expect.stringMatching(/^text Done: find_zebra ran/)])
  })
})

describe('the client’s other doors', () => {
  test.each(Object.keys(upstreams))('models of %s', async (kind) => {
    const { client } = await start(await upstreams[kind]!.open())
    const { data } = await client.models.list({ limit: 1000 })
    expect(data.map(({ type, id }) => ({ type, id }))).toEqual([{ type: 'model', id: expect.any(String) }])
  })

  test('errors are the client’s own', async () => {
    const { client } = await emulate('append', always({ fail: { status: 429, message: 'Slow down.' } }))
    const { RateLimitError } = await import('@anthropic-ai/sdk')
    const asked = client.messages.create(ask([tool('Read')]) as never)
    await expect(asked).rejects.toThrow(RateLimitError)
    await expect(asked).rejects.toThrow('Slow down.')
  })

  test('a stream that breaks off is an error, not an end', async () => {
    const { client } = await emulate('append', always({ say: 'One two three four.' }, { cut: true }))
    await expect(client.messages.stream(ask([tool('Read')]) as never).finalMessage()).rejects.toThrow(
      'breaks this reply off',
    )
  })
})
