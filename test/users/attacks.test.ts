// What someone with one valid key tries: to outlive its revocation, and to learn the names of hidden servers from errors.
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserStore } from '../../packages/server/src/users/directory.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { until } from '../mcp/support/processes.ts'
import { openWithUsers } from './with-users.ts'

const NEWER = '2026-07-28'

/** A request of the newer protocol that opens a stream of notifications. */
const listening = {
  jsonrpc: '2.0',
  id: 7,
  method: 'subscriptions/listen',
  params: {
    notifications: { toolsListChanged: true },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': NEWER,
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}

/** Opens the stream of a session; resolves when it has ended. */
async function openStream(url: string, headers: { readonly [name: string]: string }) {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const response = await fetch(url, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: controller.signal,
  })
  expect(response.status).toBe(200)
  const state = { isOver: false }
  void response.text().then(
    () => void Object.assign(state, { isOver: true }),
    () => {},
  )
  return state
}

/** Opens a session and returns its header. */
async function openSession(open: Awaited<ReturnType<typeof openWithUsers>>, user: string) {
  const opened = await open.send({ body: initialize, headers: open.bearer(user) })
  return { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
}

test('a revoked key ends its stream also in a session that another key of the user has opened', async () => {
  const open = await openWithUsers()
  const session = await openSession(open, 'ada')
  const second = createKey('ada')
  await open.directory.saveKey(second.id, second.record)
  const stream = await openStream(open.url, { ...session, authorization: `Bearer ${second.token}` })
  await open.directory.deleteKey(second.id)
  await until(() => stream.isOver, 'the stream of the revoked key has ended')
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }
  const others = await open.send({ body: list, headers: { ...open.bearer('ada'), ...session } })
  expect(others.status).toBe(200)
})

test('a key that is revoked while a body arrives opens no stream with it', async () => {
  const open = await openWithUsers()
  const [witness, body] = [await openSession(open, 'ada'), JSON.stringify(listening)]
  const stream = await openStream(open.url, { ...open.bearer('ada'), ...witness })
  const headers = {
    ...open.bearer('ada'),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': NEWER,
    'mcp-method': listening.method,
    expect: '100-continue',
  }
  const sent = request(open.url, { method: 'POST', headers, agent: false })
  const answered = new Promise<string>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', async (response) => resolve(`${response.statusCode} ${await text(response)}`))
  })
  // The request is admitted with its first bytes, before its body is whole.
  await new Promise<void>((resolve) =>
    sent.once('continue', () => sent.write(body.slice(0, 9), () => resolve())),
  )
  await open.send({ body: initialize, headers: open.bearer('ada') })
  await open.directory.deleteKey(open.keys.ada?.id ?? '')
  await until(() => stream.isOver, 'the revocation is known')
  sent.end(body.slice(9))
  expect(await answered).toMatch(/^503 .*send it again/)
})

test('a key that expires ends its stream', async () => {
  // Keys are checked by a clock that is slow: on a busy machine this one expires before its stream is open.
  const open = await openWithUsers({ now: () => Date.now() - 3_600_000 })
  const brief = createKey('ada', { expires: new Date(Date.now() + 1000) })
  await open.directory.saveKey(brief.id, brief.record)
  const session = await openSession(open, 'ada')
  const stream = await openStream(open.url, { ...session, authorization: `Bearer ${brief.token}` })
  const lasting = await openStream(open.url, { ...open.bearer('bob'), ...(await openSession(open, 'bob')) })
  await until(() => stream.isOver, 'the stream of the expired key has ended')
  expect(lasting.isOver).toBe(false)
})

test('a key that is revoked while it is looked up is refused', async () => {
  const store = createMemoryStore()
  onTestFinished(() => store.close())
  const directory = await openUserStore(store)
  const key = createKey('ada')
  await directory.saveProfile({
    ...{ name: 'all', limits: {} },
    ...{ servers: { allow: [], deny: [] }, tools: { allow: [], deny: [] } },
  })
  await directory.saveUser('ada', { profile: 'all' })
  await directory.saveKey(key.id, key.record)
  const users = createKeyAuthenticator({
    directory: {
      ...directory,
      async findProfile(name) {
        await directory.deleteKey(key.id)
        return directory.findProfile(name)
      },
    },
  })
  expect(await users.authenticate(key.token)).toMatchObject({ status: 401 })
})

test('a server that was removed is unknown, in words that name no hidden server', async () => {
  const open = await openWithUsers({ profiles: { ada: { servers: { allow: [], deny: ['payroll'] } } } })
  const { client } = await open.connect(open.key('ada'))
  await client.listResources()
  await open.host.configure(open.running.configs.filter(({ name }) => name !== 'github'))
  const uri = 'github+book://github_book'
  const asked = [
    client.readResource({ uri }),
    client.subscribeResource({ uri }),
    client.complete({ ref: { type: 'ref/resource', uri }, argument: { name: 'x', value: '' } }),
  ]
  const messages = await Promise.all(
    asked.map((one) =>
      one.then(
        () => 'no error',
        (error: Error) => error.message,
      ),
    ),
  )
  for (const message of messages)
    expect(message).toMatch(/unknown server "github"|cannot subscribe to resources of "github"/)
  expect(messages.join()).not.toContain('payroll')
})
