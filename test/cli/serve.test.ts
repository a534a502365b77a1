// `toolshelf serve` as a person meets it: what it says, what it logs, what it refuses, and how it ends.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import {
  ask,
  begin,
  closeAll,
  deadAddress,
  type Json,
  opening,
  requestFor,
  send,
  startFake,
  textReply,
  until,
  wireEvents,
} from '../messages/support/faults.ts'

const FIRST = 'the-first-of-three-keys-1'
/** Secrets may end in `=`. */
const SECOND = 'the-second-of-three-keys='
const THIRD = 'the-third-of-three-keys-3'

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-serve-'))
const file = (name: string, value: unknown) => {
  const path = join(folder, name)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}
const script = file('script.json', {
  rules: [{ when: 'find (.+)', do: [{ search: '{{1}}' }] }],
  otherwise: 'hi',
})

const users = file('users.json', { profiles: { all: {} }, users: {}, keys: {} })

type Running = {
  readonly child: ChildProcess
  readonly url: string
  readonly out: () => string
  readonly told: () => string
  readonly exit: Promise<unknown[]>
}

const running: ChildProcess[] = []

/** The command itself, until it is ready. */
async function start(
  words: readonly string[],
  environment: { [name: string]: string } = {},
): Promise<Running> {
  const child = spawn(process.execPath, [...binary, 'serve', '--port', '0', ...words], {
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(child)
  const exit = once(child, 'exit')
  const heard = heardFrom(child)
  await until(() => heard.told().includes('Ctrl-C') || child.exitCode !== null)
  return { child, url: /ready at (\S+)/.exec(heard.told())?.[1] ?? '', ...heard, exit }
}

const linesOf = (text: string) => text.split('\n').slice(0, -1)

afterEach(closeAll)
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

describe('a gateway that runs', () => {
  const evil = 'evil\r\n200 GET /forged 1 ms\u001b[2J\u009b31m\u2028'
  let plain: Running
  let json: Running
  let unreachable: Running

  beforeAll(async () => {
    const dead = await deadAddress()
    ;[plain, json, unreachable] = await Promise.all([
      start(['--upstream', `script:${script}`, '--users', users, '--store', 'memory:'], {
        TOOLSHELF_KEY: `${FIRST}=shelve,${SECOND}=off+header,${THIRD}`,
      }),
      start(['--upstream', `script:${script}`, '--json', '--wire', 'append', '--mode', 'shelve']),
      start(['--upstream', dead.href, '--wire', 'append'], { TOOLSHELF_UPSTREAM_KEY: 'upstream-key' }),
    ])
  })

  it('says what it does and how to point a client at it', () => {
    const told = plain.told()
    expect(told).toMatch(/ready at http:\/\/127\.0\.0\.1:\d+/)
    expect(told).toContain(`script:${script}`)
    expect(told).toMatch(/wire +native/)
    expect(told).toMatch(/mode +auto/)
    expect(told).toContain(`ANTHROPIC_BASE_URL=${plain.url}`)
    expect(json.told()).toMatch(/wire +append/)
    expect(json.told()).toMatch(/mode +shelve/)
  })

  it('TOOLSHELF_KEY gives each key its mode', async () => {
    const modeOf = async (key: string, asked: { [name: string]: string } = {}) => {
      const { status, headers } = await ask(plain, requestFor('shelve'), { 'x-api-key': key, ...asked })
      return status === 200 ? headers['x-toolshelf-mode'] : status
    }
    expect(await modeOf(FIRST)).toBe('shelve')
    expect(await modeOf(SECOND)).toBe('off')
    expect(await modeOf(SECOND.slice(0, -1))).toBe(401)
    expect(await modeOf(THIRD)).toBe('off')
    expect(await modeOf('')).toBe(401)
    expect(await modeOf(FIRST, { 'x-toolshelf-mode': 'off' })).toBe(403)
    expect(await modeOf(SECOND, { 'x-toolshelf-mode': 'shelve' })).toBe('shelve')
    await until(() => linesOf(plain.out()).length === 7)
    expect(plain.told() + plain.out()).not.toMatch(/first|second|third/)
  })

  it('logs one line a request, which no name of a client can forge', async () => {
    const before = linesOf(plain.out()).length
    const key = { 'x-api-key': FIRST }
    await ask(
      plain,
      requestFor('shelve', { messages: [{ role: 'user', content: 'find send message' }] }),
      key,
    )
    await ask(plain, { ...requestFor('shelve', {}, [evil, 'other']), model: evil }, key)
    await send(`${plain.url}/v1/nothing%0aforged`, { method: 'GET', headers: key })
    await until(() => linesOf(plain.out()).length >= before + 3)
    const lines = linesOf(plain.out()).slice(before)
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(
      /^200 m shelve\/native tools \d+\/3 searches 1 loaded \S*send_message\S* cost ~\d+ tokens more extra round trips 1 \d+ ms \(/,
    )
    expect(lines[1]).toMatch(/^\d{3} evil /)
    expect(lines[2]).toMatch(
      /^404 GET \/v1\/nothing%0aforged \d+ ms failed: no such endpoint: GET \/v1\/nothing%0aforged$/,
    )
    expect(plain.out()).not.toMatch(/[^\n\P{Cc}]|[\u2028\u2029]/u)
  })

  it('--json logs one object a request', async () => {
    const question = { messages: [{ role: 'user', content: 'find send message' }] }
    await ask(json, { ...requestFor('shelve', question), model: evil })
    await send(`${json.url}/health`, { method: 'GET' })
    await until(() => linesOf(json.out()).length === 2)
    const [first, second] = linesOf(json.out()).map((line) => JSON.parse(line) as Json)
    expect(first).toMatchObject({
      method: 'POST',
      path: '/v1/messages',
      status: 200,
      model: evil,
      mode: 'shelve',
      wire: 'append',
      searches: 1,
      rounds: 2,
      toolsGiven: 3,
      loaded: expect.arrayContaining(['send_message']),
      milliseconds: expect.any(Number),
    })
    expect(second).toMatchObject({ method: 'GET', path: '/health', status: 200 })
    expect(json.out()).not.toMatch(/[^\n\P{Cc}]|[\u2028\u2029]/u)
  })

  it('an upstream that cannot be reached is named at the start and in the answer', async () => {
    await until(() => unreachable.told().includes('does not answer yet'))
    expect(unreachable.told()).toContain('cannot be reached (ECONNREFUSED)')
    const { status, text } = await ask(unreachable, requestFor('emulate'))
    expect(status).toBe(502)
    expect(text).toContain('cannot be reached (ECONNREFUSED)')
    expect(unreachable.told() + unreachable.out() + text).not.toContain('upstream-key')
  })

  it('/ready asks the store, whose operations are in /metrics', async () => {
    const get = (path: string) =>
      send(`${plain.url}${path}`, { method: 'GET', headers: { 'x-api-key': FIRST } })
    expect((await get('/ready')).text).toBe('{"status":"ready","reasons":[]}')
    expect((await get('/metrics')).text).toMatch(
      /^toolshelf_store_operations_total\{store="memory",operation="ping",outcome="ok"\} [1-9]/m,
    )
  })

  it('SIGHUP reads users again, whether their file has changed or not', async () => {
    const reports = () => plain.told().split('last good content stays in use').length - 1
    writeFileSync(users, '{')
    await until(() => reports() === 1)
    plain.child.kill('SIGHUP')
    await until(() => reports() === 2)
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('%s ends it, SIGHUP reads files again', async (signal) => {
    const gateway = { SIGINT: plain, SIGTERM: json }[signal]
    gateway.child.kill('SIGHUP')
    await until(() => gateway.told().includes('reading certificates and users again'))
    expect((await send(`${gateway.url}/ready`, { method: 'GET' })).status).toBe(200)
    gateway.child.kill(signal)
    expect(await gateway.exit).toEqual([0, null])
    expect(gateway.told()).not.toMatch(/^\s+at /m)
  })
})

describe('the end', () => {
  /** A gateway with a stream open in each mode; the upstream ends them with `finish`. */
  async function streaming() {
    const answers: ServerResponse[] = []
    const fake = await startFake((outgoing, { url }) => {
      if (url !== '/v1/messages') return
      answers.push(outgoing)
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write(wireEvents(opening))
    })
    const gateway = await start(['--upstream', fake.url.href, '--wire', 'append'])
    const bodies = ['pass', 'emulate', 'shelve'].map((mode) => ({
      headers: { 'x-toolshelf-mode': mode },
      body: JSON.stringify(requestFor(mode, { stream: true })),
    }))
    const streams = await Promise.all(bodies.map((body) => begin(`${gateway.url}/v1/messages`, body)))
    const finish = () => {
      for (const answer of answers) answer.end(textReply('hi').slice(wireEvents(opening).length))
    }
    return { fake, gateway, streams, finish }
  }

  it('waits for the streams that are open', async () => {
    const { gateway, streams, finish } = await streaming()
    const texts = streams.map((one) => text(one))
    gateway.child.kill('SIGTERM')
    await until(() => gateway.told().includes('finishing requests (3)'))
    finish()
    for (const one of texts) expect(await one).toContain('message_stop')
    expect(await gateway.exit).toEqual([0, null])
    expect(linesOf(gateway.out())).toHaveLength(3)
  })

  it('comes at once with a second signal, with streams open and an upstream that never answered', async () => {
    const { fake, gateway, streams } = await streaming()
    const cut = streams.map((one) => new Promise((resolve) => one.on('error', resolve).resume()))
    expect(fake.underWay()).toBe(4)
    gateway.child.kill('SIGTERM')
    await until(() => gateway.told().includes('another signal to stop now'))
    gateway.child.kill('SIGTERM')
    expect(await gateway.exit).toEqual([0, null])
    await Promise.all(cut)
    await until(() => fake.underWay() === 0)
    expect(linesOf(gateway.out())).toHaveLength(3)
  })
})

describe('what it refuses', () => {
  async function cli(...words: string[]) {
    const told: string[] = []
    const out: string[] = []
    const code = await runCli(['serve', ...words], {
      print: (text) => void out.push(text),
      report: (text) => void told.push(text),
      isInteractive: false,
    })
    return { code, told: told.join('\n'), out: out.join('\n') }
  }
  const offline = ['--upstream', `script:${script}`]

  it.each([
    'http://user:hidden@127.0.0.1:1',
    'http://hidden@127.0.0.1:1',
    'openai:http://u:hidden@127.0.0.1:1/v1',
    'http://127.0.0.1:1/?api_key=hidden',
    'responses:http://127.0.0.1:1/v1?access_token=hidden',
    'anthropic:https://127.0.0.1:1/?x=1&KEY=hidden',
  ])('a key in %s, which it does not repeat', async (upstream) => {
    const { code, told } = await cli('--upstream', upstream)
    expect(code).toBe(2)
    expect(told).toContain('TOOLSHELF_UPSTREAM_KEY')
    expect(told).not.toContain('hidden')
  })

  it('a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { code, told } = await cli(...offline, '--port', String(port))
    other.close()
    expect(code).toBe(1)
    expect(told).toContain(`port ${port} is in use; choose another with --port`)
    expect(told).not.toMatch(/^\s+at /m)
  })
})
