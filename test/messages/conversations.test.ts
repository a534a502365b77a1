// A conversation that continues: each request costs what is new in it, and is the one that a new gateway would send.
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/lib/json.ts'
import { createMessagesGateway } from '../../src/messages/gateway.ts'
import { createRequestReader } from '../../src/messages/server/read-request.ts'
import type { MessagesRequest, Upstream, UpstreamWire } from '../../src/messages/types.ts'
import { rankers } from '../../src/rankers/rankers.ts'

const TOOLS = Array.from({ length: 30 }, (_, number) => ({
  name: `mcp__files__tool_${number}`,
  description: `Reads file ${number}.`,
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
}))

const EVENTS = [
  { type: 'message_start', message: { role: 'assistant', content: [], usage: { input_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Done.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
]

/** A gateway that shelves, and what it sent to its upstream. */
function shelving(wire: UpstreamWire) {
  const sent: MessagesRequest[] = []
  const upstream: Upstream = {
    name: 'fake',
    api: 'messages',
    wireFor: () => ({ wire, why: 'of the test' }),
    async sample(request) {
      sent.push(request)
      return {
        headers: {},
        events: (async function* () {
          yield* EVENTS
        })(),
      }
    },
    countTokens: async () => undefined,
    models: async () => ({ status: 200, headers: {}, body: '{}' }),
  }
  const { hybrid: own, bm25, regex } = rankers
  const gateway = createMessagesGateway({ upstream, rankers: { own, bm25, regex } })
  const reader = createRequestReader()
  const slice = { isOver: () => false, next: async () => {} }
  const reply = async (request: MessagesRequest) => {
    const call = { headers: {}, signal: new AbortController().signal }
    const { sampled } = await gateway.reply(request, {
      setting: { mode: 'shelve', share: 10 },
      call,
      owner: 'me',
    })
    if (sampled && 'events' in sampled) for await (const _ of sampled.events);
    return sent.at(-1)
  }
  const read = async (body: object) =>
    (await reader.read(Buffer.from(JSON.stringify(body)), 'me', slice)) as MessagesRequest
  return { reply, post: async (body: object) => JSON.stringify(await reply(await read(body))), read }
}

const user = (content: unknown): Fields => ({ role: 'user', content })

/** A turn in which the model called a tool that is on the shelf. */
function turn(number: number, mark = ''): Fields[] {
  const id = `toolu_${number}`
  return [
    {
      role: 'assistant',
      content: [
        { type: 'text', text: `Step ${number}${mark}.` },
        { type: 'tool_use', id, name: `mcp__files__tool_${number % 30}`, input: { path: 'a' } },
      ],
    },
    user([{ type: 'tool_result', tool_use_id: id, content: 'ok' }]),
  ]
}

const conversation = (turns: number, mark = '') => [
  user('Look at the files.'),
  ...Array.from({ length: turns }, (_, number) => turn(number, number > 3 ? mark : '')).flat(),
]

const requestOf = (messages: readonly Fields[], more: object = {}) => ({
  model: 'any',
  max_tokens: 100,
  tools: TOOLS,
  messages,
  ...more,
})

describe.each(['native', 'append', 'bridge'] as const)('a conversation that continues, on %s', (wire) => {
  it('is sent as by a gateway that never saw it, also where it was answered anew or another model took over', async () => {
    const kept = shelving(wire)
    const bodies = [
      ...[1, 2, 3, 8, 5, 9].map((turns) => requestOf(conversation(turns))),
      ...[6, 7].map((turns) => requestOf(conversation(turns, ' again'))),
      requestOf(conversation(8, ' again'), { model: 'other' }),
      requestOf(conversation(8, ' again'), { tools: TOOLS.slice(0, 20) }),
      requestOf(conversation(10)),
    ]
    for (const body of bodies) expect(await kept.post(body)).toBe(await shelving(wire).post(body))
  })

  it('costs what is new: the content of old messages is read no oftener in a long one', async () => {
    const reads = async (turns: number) => {
      const { reply, read } = shelving(wire)
      let count = 0
      const counted = (message: Fields): Fields => {
        const { content, ...rest } = message
        const get = () => {
          count++
          return content
        }
        return Object.freeze(Object.defineProperty(rest, 'content', { get, enumerable: true }))
      }
      const { tools = [] } = await read(requestOf(conversation(0)))
      // All tools were called before the part that differs, so that nothing new is loaded in it.
      const old = conversation(turns).map(counted)
      const ask = (messages: readonly Fields[]) => reply({ ...requestOf(messages), tools })
      await ask(old)
      const before = count
      await ask([...old, ...(turn(turns).map(Object.freeze) as Fields[])])
      return count - before
    }
    expect(await reads(120)).toBe(await reads(40))
  })
})
