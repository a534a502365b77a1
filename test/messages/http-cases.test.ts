// Requests of every kind over HTTP, to a gateway with keys in front of a server and to one in front of a script: status,
// headers and body of each answer, and what the server behind was sent.
import { request as send } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createMessagesMetrics, type MessagesMetrics, parseModeSetting } from '../../src/messages/index.ts'
import { createChatUpstream, createMessagesUpstream } from '../../src/messages/upstream/index.ts'
import { always, play } from './script-talk.ts'
import { record, start } from './support/gateways.ts'

type Sent = {
  readonly line: string
  readonly headers?: { [name: string]: string }
  readonly body?: string | Buffer
}

const SHOWN =
  /^(?:content-type|x-toolshelf-(?!tokens|dollars|extra).*|retry-after|allow|connection|x-kept|cache-control|x-ratelimit.*|anthropic-.*|x-should-retry)$/
const steady = (line: string) =>
  line
    .replace(/\b((?:req|msg|resp|chatcmpl|toolu|rs)[_-])(?:toolshelf_)?[0-9A-Za-z]{12,}/g, '$1…')
    .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
    .replace(/127\.0\.0\.1:\d+/g, '<gateway>')
    .replace(/^\w+_seconds_bucket.*\n/gm, '')
    .replace(/(_seconds_sum\{[^}]*\}) [\d.e-]+/g, '$1 0')

async function answerTo(url: string, { line, headers = {}, body }: Sent): Promise<string[]> {
  const [method = 'GET', path = '/'] = line.split(' ')
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const outgoing = send(
      { hostname, port, method, path, headers: { host: `127.0.0.1:${port}`, ...headers } },
      async (incoming) => {
        const said = Object.entries(incoming.headers).filter(([name]) => SHOWN.test(name))
        const answer = await text(incoming).catch(() => 'cut off')
        resolve(
          [
            `${incoming.statusCode} ${JSON.stringify(Object.fromEntries(said.sort()))}`,
            ...answer
              .trimEnd()
              .split('\n')
              .filter((one) => one !== ''),
          ].map(steady),
        )
      },
    )
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

const key = { 'x-toolshelf-key': 'secret-key-of-client-no-1' }
const hello = { model: 'claude-x', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }
const json = (value: unknown) => JSON.stringify(value)
const post = (path: string, value: unknown, headers: { [name: string]: string } = {}): Sent => ({
  ...{ line: `POST ${path}`, headers: { ...key, ...headers } },
  body: typeof value === 'string' || Buffer.isBuffer(value) ? value : json(value),
})
const tools = ['mail_send', 'mail_list', 'fax'].map((name) => ({
  name,
  description: name,
  input_schema: { type: 'object' },
}))
const chatTools = tools.map(({ name, input_schema: parameters }) => ({
  type: 'function',
  function: { name, parameters },
}))

const requests: readonly Sent[] = [
  ...[
    'GET /health',
    'GET /ready',
    'GET /api/hello',
    'HEAD /api/hello',
    'POST /health',
    'GET /metrics',
    'GET /nothing',
  ].map((line) => ({ line })),
  ...[
    'GET /v1/models',
    'GET /models',
    'GET /v1/models/claude-x',
    'GET /v1/models/none',
    'GET /v1/files/1',
    'DELETE /v1/files/1',
    'GET //',
    'PUT /v1/messages',
  ].map((line) => ({ line, headers: key })),
  { line: 'GET /v1/models', headers: { ...key, 'anthropic-version': '2023-06-01' } },
  { line: 'GET /v1/models/claude-x', headers: { ...key, authorization: 'Bearer other' } },
  { line: 'GET /metrics', headers: { ...key, host: 'evil.example' } },
  { line: 'GET /metrics', headers: { ...key, host: 'ALSO.example:99' } },
  { line: 'GET /health', headers: { ...key, host: 'evil.example', origin: 'https://evil.example' } },
  { line: 'GET /v1/nothing', headers: { ...key, origin: 'https://evil.example' } },
  { line: 'GET /v1/nothing', headers: { ...key, origin: 'http://localhost:3000' } },
  { line: 'GET /v1/nothing', headers: { authorization: 'Bearer secret-key-of-client-no-1' } },
  { line: 'GET /v1/nothing', headers: { 'x-api-key': 'secret-key-of-client-no-2' } },
  {
    line: 'GET /v1/nothing',
    headers: { 'x-api-key': 'wrong', 'x-toolshelf-key': 'secret-key-of-client-no-2' },
  },
  { line: 'GET /v1/nothing', headers: { 'x-api-key': 'wrong' } },
  { line: 'GET /v1/messages', headers: { ...key, connection: 'Upgrade', upgrade: 'websocket' } },
  post('/v1/messages', hello),
  post('/messages', { ...hello, stream: true }),
  post('/v1/messages', { ...hello, tools }, { 'x-toolshelf-mode': 'shelve' }),
  post('/v1/messages', { ...hello, tools }, { 'x-toolshelf-mode': 'auto:100' }),
  post('/v1/messages', hello, {
    'x-toolshelf-mode': 'pass',
    cookie: 'a=b',
    'x-kept': 'yes',
    'x-original-url': '/x',
    te: 'trailers',
  }),
  post('/v1/messages', hello, { 'x-toolshelf-mode': 'nonsense' }),
  post('/v1/messages', hello, { 'x-toolshelf-key': 'secret-key-of-client-no-2', 'x-toolshelf-mode': 'off' }),
  post('/v1/messages', hello, {
    'x-toolshelf-key': 'secret-key-of-client-no-2',
    'x-toolshelf-mode': 'emulate',
  }),
  post('/v1/messages', hello, { 'x-toolshelf-key': 'secret-key-of-client-no-2' }),
  post('/v1/messages', { ...hello, messages: [] }),
  post('/v1/messages', { ...hello, model: 5 }),
  post('/v1/messages', { ...hello, messages: 'x' }),
  ...['', '{', '[]', 'null', '{"a":1}'].map((body) => post('/v1/messages', body)),
  post('/v1/messages', Buffer.from([0x7b, 0xff, 0x7d])),
  post('/v1/messages', json({ ...hello, system: 'x'.repeat(3000) })),
  post('/v1/messages', hello, { 'content-encoding': 'gzip' }),
  post('/v1/messages/count_tokens', { model: 'claude-x', messages: hello.messages, tools }),
  post('/v1/messages/count_tokens', '{'),
  post('/v1/chat/completions', { model: 'claude-x', messages: hello.messages }),
  post(
    '/chat/completions',
    { model: 'claude-x', messages: hello.messages, tools: chatTools, stream: true },
    { 'x-toolshelf-mode': 'shelve' },
  ),
  post('/v1/chat/completions', { model: 'claude-x', messages: 'x' }),
  post('/v1/chat/completions', { model: 'claude-x', messages: hello.messages, n: 2 }),
  post('/v1/chat/completions', '{'),
  post('/v1/responses', { model: 'claude-x', input: 'hi' }),
  post('/responses', { model: 'claude-x', input: 'hi', stream: true }),
  post('/v1/responses', { model: 'claude-x', input: 5 }),
  post('/v1/responses', hello, { 'x-toolshelf-mode': 'pass' }),
]

const options = () => ({
  keys: [
    { secret: 'secret-key-of-client-no-1', mayChoose: true },
    { secret: 'secret-key-of-client-no-2', setting: parseModeSetting('off')! },
  ],
  hosts: ['also.example'],
  forward: ['GET /v1/files/*'],
  maxBodyBytes: 2_000,
  metrics: createMessagesMetrics(),
})

/** A request is counted when its connection is done with it, which may be after its answer has arrived. */
async function countedBy(metrics: MessagesMetrics, requests: number): Promise<string> {
  const counts = () =>
    [...metrics.text().matchAll(/^toolshelf_requests_total.* (\d+)$/gm)].map(([, count]) => Number(count))
  while (counts().reduce((sum, count) => sum + count, 0) < requests) await setImmediate()
  return metrics.text()
}

async function conversation(url: string, metrics: MessagesMetrics, behind: () => string[]): Promise<string> {
  const lines: string[] = []
  for (const one of requests) {
    const shown = one.body === undefined ? '' : ` ${String(one.body).slice(0, 90)}`
    const headers = Object.entries(one.headers ?? {}).filter(
      ([name, value]) => name !== 'x-toolshelf-key' || value !== 'secret-key-of-client-no-1',
    )
    lines.push(`${one.line}${headers.length > 0 ? ` ${json(Object.fromEntries(headers))}` : ''}${shown}`)
    const answer = (await answerTo(url, one)).filter((line) => !/^(?:# |toolshelf_|process_)/.test(line))
    lines.push(...answer.map((line) => `  ${line.slice(0, 400)}`), ...behind().map((line) => `  → ${line}`))
  }
  lines.push(steady(await countedBy(metrics, requests.length)))
  return lines.join('\n')
}

it('wire 31 33 to a script', async () => {
  const given = options()
  const { url } = await start(play(always({ say: 'Hi.' })), given)
  await expect(await conversation(url, given.metrics, () => [])).toMatchFileSnapshot(
    './conversations/http-script.txt',
  )
})

it('wire 31 33 to a server that refuses everything', async () => {
  const body = json({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } })
  const server = await record({
    status: 529,
    headers: { 'content-type': 'application/json', 'x-kept': 'own', 'retry-after': '0' },
    body,
  })
  const given = options()
  const { url } = await start(createMessagesUpstream({ url: server.url, key: 'upstream-key' }), given)
  const behind = () =>
    server.requests.splice(0).map(({ line, headers, body: sent }) => {
      const named = [
        'x-api-key',
        'authorization',
        'cookie',
        'x-kept',
        'x-original-url',
        'te',
        'anthropic-version',
        'anthropic-beta',
        'x-toolshelf-mode',
      ]
      const said = named.flatMap((name) => (headers[name] === undefined ? [] : [`${name}: ${headers[name]}`]))
      return `${line} ${said.join(', ')} ${sent.slice(0, 200)}`
    })
  await expect(await conversation(url, given.metrics, behind)).toMatchFileSnapshot(
    './conversations/http-server.txt',
  )
})

it('wire 31 33 to a server of Chat Completions', async () => {
  const body = json({
    object: 'list',
    data: [{ id: 'claude-x', object: 'model', created: 1 }],
    choices: [{ message: { content: 'Hi.' }, finish_reason: 'stop' }],
  })
  const server = await record({ status: 200, headers: { 'content-type': 'application/json' }, body })
  const given = options()
  const { url } = await start(createChatUpstream({ url: server.url, key: 'upstream-key' }), given)
  const behind = () =>
    server.requests.splice(0).map(({ line, headers }) => `${line} ${headers.authorization}`)
  await expect(await conversation(url, given.metrics, behind)).toMatchFileSnapshot(
    './conversations/http-chat.txt',
  )
})
