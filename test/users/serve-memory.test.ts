// `serve` remembers for its clients what their APIs cannot send back. Whoever repeats another user's conversation, word by
// word and with a key of their own, gets nothing of it.
import { expect, onTestFinished, test } from 'vitest'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import type { ConversationStart, Trace } from '../../packages/core/src/events.ts'
import { type Fields, fieldsOf, listOf } from '../../packages/core/src/lib/json.ts'
import { rankers } from '../../packages/core/src/rankers/rankers.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { parseModeSetting } from '../../packages/messages/src/plan.ts'
import type { MessagesRequest, StreamEvent, Upstream } from '../../packages/messages/src/types.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserStore } from '../../packages/server/src/users/directory.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { profileOf } from './support.ts'

const TOOLS = Array.from({ length: 12 }, (_, number) => ({
  name: `mcp__files__tool_${number}`,
  description: `Reads file ${number}.`,
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
}))

/** A reply with these blocks, as the events that an upstream would send. */
function* eventsOf(content: readonly Fields[]): Generator<StreamEvent> {
  const usage = { input_tokens: 1, output_tokens: 1 }
  yield { type: 'message_start', message: { role: 'assistant', content: [], usage } }
  for (const [index, block] of content.entries()) {
    const { input, ...start } = block
    const isCall = block.type === 'tool_use'
    yield { type: 'content_block_start', index, content_block: isCall ? { ...start, input: {} } : block }
    if (isCall) {
      const delta = { type: 'input_json_delta', partial_json: JSON.stringify(input) }
      yield { type: 'content_block_delta', index, delta }
    }
    yield { type: 'content_block_stop', index }
  }
  const stop_reason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
  yield { type: 'message_delta', delta: { stop_reason }, usage }
  yield { type: 'message_stop' }
}

/** A gateway whose model says what the script says, and the users ada and bob. */
async function open(mode: string, replies: readonly (readonly Fields[])[]) {
  const sent: MessagesRequest[] = []
  const upstream: Upstream = {
    name: 'fake',
    api: 'messages',
    wireFor: () => ({ wire: 'native', why: 'of the test' }),
    async sample(request) {
      const content = replies[sent.push(request) - 1] ?? [{ type: 'text', text: 'ok' }]
      return {
        headers: {},
        events: (async function* () {
          yield* eventsOf(content)
        })(),
      }
    },
    countTokens: async () => undefined,
    models: async () => ({ status: 200, headers: {}, body: '{}' }),
  }
  const store = createMemoryStore()
  const directory = await openUserStore(store)
  await directory.saveProfile(profileOf({ name: 'all' }))
  const tokens: { [user: string]: string } = {}
  for (const id of ['ada', 'bob']) {
    const { token, record, id: keyId } = createKey(id)
    await directory.saveUser(id, { profile: 'all' })
    await directory.saveKey(keyId, record)
    tokens[id] = token
  }
  const conversations: { readonly start: ConversationStart; readonly events: Trace[] }[] = []
  const openTrace = (start: ConversationStart) => {
    const one = { start, events: [] as Trace[] }
    conversations.push(one)
    return (event: Trace) => void one.events.push(event)
  }
  const { lexical: own, bm25, regex } = rankers
  const served = await serveMessagesGateway({
    gateway: createMessagesGateway({ upstream, rankers: { own, bm25, regex }, openTrace }),
    setting: parseModeSetting(mode)!,
    port: 0,
    users: createKeyAuthenticator({ directory }),
  })
  onTestFinished(async () => {
    await served.close()
    await store.close()
  })
  /** What the upstream got, and what the client did. */
  const ask = async (user: string, path: string, body: object) => {
    const response = await fetch(served.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens[user]}` },
      body: JSON.stringify({ model: 'any', ...body }),
    })
    const reply = fieldsOf(await response.json())
    return { status: response.status, reply, upstream: JSON.stringify(sent.at(-1)) }
  }
  return { ask, conversations, sent, tokens, url: served.url }
}

test('hidden searches are put back for the user who made them alone, and events stay apart', async () => {
  const name = 'mcp__files__tool_7'
  const search = { type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: { query: `select:${name}` } }
  const { ask, conversations, sent } = await open('shelve', [[search], [{ type: 'text', text: 'Ready.' }]])
  const first = [{ role: 'user', content: 'Look at the files.' }]
  const post = (user: string, messages: readonly Fields[]) =>
    ask(user, '/v1/messages', { max_tokens: 9, tools: TOOLS, messages })
  const { reply } = await post('ada', first)
  expect([sent.length, listOf(reply.content)]).toEqual([2, [{ type: 'text', text: 'Ready.' }]])
  const next = [...first, { role: 'assistant', content: reply.content }, { role: 'user', content: 'Go on.' }]
  const isRestored = async (user: string) => (await post(user, next)).upstream.includes(`select:${name}`)
  expect(await isRestored('bob')).toBe(false)
  expect(await isRestored('ada')).toBe(true)
  expect(await isRestored('bob')).toBe(false)
  expect(conversations.map(({ start }) => start.user)).toEqual(['ada', 'bob'])
  const loaded = conversations.map(({ events }) => events.filter(({ type }) => type === 'loaded').length)
  expect(loaded).toEqual([1, 0])
})

test('thinking that a client’s API cannot send back is put back for its user alone', async () => {
  const thinking = { type: 'thinking', thinking: 'What ada wants is secret.', signature: 'signed-for-ada' }
  const call = { type: 'tool_use', id: 'toolu_2', name: 'add', input: { a: 1 } }
  const { ask } = await open('off', [[thinking, { type: 'text', text: 'I add.' }, call]])
  const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }]
  const user = { role: 'user', content: 'Add one.' }
  const post = (who: string, messages: readonly unknown[]) =>
    ask(who, '/v1/chat/completions', { tools, messages })
  const { reply } = await post('ada', [user])
  const { message } = fieldsOf(listOf(reply.choices)[0])
  expect(JSON.stringify(message)).not.toContain('signed-for-ada')
  const [{ id }] = listOf(fieldsOf(message).tool_calls).map(fieldsOf) as [Fields]
  const next = [user, message, { role: 'tool', tool_call_id: id, content: '2' }]
  const isRestored = async (who: string) => (await post(who, next)).upstream.includes('signed-for-ada')
  expect(await isRestored('bob')).toBe(false)
  expect(await isRestored('ada')).toBe(true)
  expect(await isRestored('bob')).toBe(false)
})

test('items of a reply are found by their ids by their user alone', async () => {
  const { ask } = await open('off', [[{ type: 'text', text: 'A secret of ada.' }]])
  const user = { type: 'message', role: 'user', content: 'Say it.' }
  const { reply } = await ask('ada', '/v1/responses', { input: [user] })
  const [{ id }] = listOf(reply.output).map(fieldsOf) as [Fields]
  const input = [user, { type: 'item_reference', id }, { ...user, content: 'Again.' }]
  const stolen = await ask('bob', '/v1/responses', { input })
  expect(stolen.status).toBe(400)
  expect(JSON.stringify(stolen.reply)).not.toContain('secret')
  const own = await ask('ada', '/v1/responses', { input })
  expect([own.status, own.upstream.includes('A secret of ada.')]).toEqual([200, true])
})

test('who is not an operator sees no metrics, however the key is sent', async () => {
  const { url, tokens } = await open('off', [])
  const ways: readonly { readonly [name: string]: string }[] = [
    { authorization: `Bearer ${tokens.bob}` },
    { 'x-api-key': ` ${tokens.bob} ` },
    { 'x-toolshelf-key': tokens.bob ?? '' },
  ]
  for (const headers of ways) expect((await fetch(`${url}/metrics`, { headers })).status).toBe(403)
})
