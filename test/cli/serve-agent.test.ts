// `toolshelf serve -- <agent>` from outside: an agent as a process of its own, its variables, its signals and its exit code.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { agentArguments, agentEnvironment, upstreamFor } from '../../packages/cli/src/serve-agent.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-agent-'))
const file = (name: string, content: string) => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const script = file(
  'script.json',
  JSON.stringify({ rules: [{ when: 'hello', do: [{ say: 'hi' }] }], otherwise: '?' }),
)

/** Asks the model once, with many tools, and prints its reply and the environment that it was given. */
const agent = file(
  'agent.mjs',
  `const { ANTHROPIC_BASE_URL: url, OPENAI_BASE_URL, OPENAI_API_BASE } = process.env
const tools = Array.from({ length: 40 }, (_, index) => ({
  name: 'mcp__many__tool_' + index,
  description: 'Does something that takes many words to describe, number ' + index + '. '.repeat(200),
  input_schema: { type: 'object', properties: { a: { type: 'string' } } },
}))
const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 100, tools, messages: [{ role: 'user', content: 'hello' }] })
const reply = await fetch(url + '/v1/messages', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
const { content } = await reply.json()
console.log(JSON.stringify({ url, OPENAI_BASE_URL, OPENAI_API_BASE, said: content, words: process.argv.slice(2) }))
process.stdin.pipe(process.stderr)
process.stdin.on('end', () => process.exit(Number(process.argv[2])))
`,
)

function serve(words: readonly string[], environment: { [name: string]: string } = {}) {
  const child = spawn(process.execPath, [...binary, 'serve', ...words], {
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const done = Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((end) => child.once('exit', end)),
  ])
  return { child, done: done.then(([out, told, code]) => ({ out, told, code })) }
}

/** In this process: the agent is one of its own all the same. */
const here = (...words: string[]) =>
  runHere({ folder, environment: { PATH: process.env.PATH ?? '', HOME: folder } }, ['serve', ...words])

describe('toolshelf serve with an agent', () => {
  it('tells Codex in its arguments where its model is, because Codex reads no variable for that', async () => {
    const path = file('codex', '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    chmodSync(path, 0o755)
    const { out, code } = await serve(['--upstream', `script:${script}`, '--', path, 'exec', '-m', 'x']).done
    const port = /127\.0\.0\.1:(\d+)/.exec(out)?.[1] ?? ''
    expect({ code, words: out.replaceAll(port, 'PORT').trim().split('\n') }).toEqual({
      code: 0,
      words: [
        ...['-c', 'model_provider="toolshelf"', '-c', 'model_providers.toolshelf.name="Toolshelf"'],
        ...['-c', 'model_providers.toolshelf.base_url="http://127.0.0.1:PORT/v1"'],
        ...['-c', 'model_providers.toolshelf.wire_api="responses"'],
        ...['-c', 'model_providers.toolshelf.env_http_headers.x-toolshelf-key="SHELF_AGENT_KEY"'],
        ...['exec', '-m', 'x'],
      ],
    })
    const last = (environment: { OPENAI_API_KEY?: string }) =>
      agentArguments('/bin/codex', 'http://x', 'responses', environment).at(-1)
    expect(last({})).toBe('model_providers.toolshelf.requires_openai_auth=true')
    expect(last({ OPENAI_API_KEY: 'k' })).toBe('model_providers.toolshelf.env_key="OPENAI_API_KEY"')
    expect(agentArguments('claude', 'http://x', 'anthropic', {})).toEqual([])
  })

  it('points the agent at the gateway, passes everything through, and says what was saved', async () => {
    const { child, done } = serve([
      '--upstream',
      `script:${script}`,
      '--mode',
      'shelve',
      '--',
      process.execPath,
      agent,
      '7',
      '--flag',
    ])
    child.stdin.end('typed\n')
    const { out, told, code } = await done
    expect(code).toBe(7)
    const { url, OPENAI_BASE_URL, OPENAI_API_BASE, said, words } = JSON.parse(out)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}$/)
    expect([OPENAI_BASE_URL, OPENAI_API_BASE]).toEqual([`${url}/v1`, `${url}/v1`])
    expect(said).toMatchObject([{ type: 'text', text: expect.stringMatching(/^hi/) }])
    expect(words).toEqual(['7', '--flag'])
    expect(told).toMatch(/^typed\n/)
    expect(told).toMatch(
      /toolshelf serve: 1 request: [\d,]+ input tokens instead of [\d,]+, [\d,]+ saved \(\d+\.\d %\)/,
    )
    await expect(fetch(url)).rejects.toThrow()
  })

  it('answers nobody but its agent, and hands on none of our own variables', async () => {
    const intruder = file(
      'intruder.mjs',
      `const own = new URL(process.env.ANTHROPIC_BASE_URL)
const headers = { 'content-type': 'application/json' }
const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] })
const post = (base) => fetch(base + '/v1/messages', { method: 'POST', headers, body }).then(({ status }) => status)
const statuses = []
for (const base of [own.origin, own.origin + '/' + 'x'.repeat(32), own.origin + '/v1', own.href]) statuses.push(await post(base))
const listed = await fetch(own.origin + '/v1/models')
const names = Object.keys(process.env).filter((name) => name.startsWith('TOOLSHELF_'))
console.log(JSON.stringify({ statuses, models: listed.status, names }))`,
    )
    const ours = { TOOLSHELF_STORE: 'redis://:s@h', TOOLSHELF_SECRET_KEY: 's', TOOLSHELF_KEY: 'k'.repeat(32) }
    const { out, told, code } = await serve(
      ['--upstream', `script:${script}`, '--', process.execPath, intruder],
      ours,
    ).done
    expect({ code, ...JSON.parse(out) }).toEqual({
      code: 0,
      statuses: [401, 401, 401, 200],
      models: 401,
      names: [],
    })
    expect(told).toContain('1 request, nothing was put on the shelf')
  })

  it('keeps the key out of the arguments, which all users of the machine can read', () => {
    const args = agentArguments('codex', 'http://127.0.0.1:1', 'responses', {})
    expect(args.join(' ')).toContain('base_url="http://127.0.0.1:1/v1"')
    const place = { url: 'http://127.0.0.1:1', secret: 's' }
    expect(agentEnvironment('codex', place, {}).SHELF_AGENT_KEY).toBe('s')
    expect(agentEnvironment('claude', place, {}).SHELF_AGENT_KEY).toBeUndefined()
  })

  it('says what failed if no request was for the model', async () => {
    const lost = file(
      'lost.mjs',
      "await fetch(process.env.OPENAI_BASE_URL + '/embeddings', { method: 'POST' })",
    )
    const { told, code } = await here('--', process.execPath, lost)
    expect(code).toBe(0)
    expect(told).toMatch(
      /no request for the model came[^\n]*\n[^\n]*1 request failed, the last one: no such endpoint: POST \/v1\/embeddings/,
    )
  })

  it('gives the gateway its options', async () => {
    const asking = file(
      'asking.mjs',
      `const tools = Array.from({ length: 40 }, (_, index) => ({
  name: 'tool_' + index,
  description: 'Does one thing of forty. '.repeat(20),
  input_schema: { type: 'object' },
}))
const messages = [{ role: 'user', content: 'hello' }]
const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 100, tools, messages })
const headers = { 'content-type': 'application/json' }
await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', headers, body })`,
    )
    const models = [{ match: 'claude-sonnet-5-5', input: 1000, output: 0 }]
    const prices = file('prices.json', JSON.stringify({ date: '2026-11-06', source: 'test', models }))
    const told: string[] = []
    for (const options of [
      ['--mode', 'auto:50', '--window', '1000', '--wire', 'bridge'],
      ['--mode', 'shelve', '--keep', 'tool_1*', '--keep', 'tool_2', '--prices', prices],
    ]) {
      const ran = await here('--upstream', `script:${script}`, ...options, '--', process.execPath, asking)
      told.push(`${ran.code} ${ran.told}`)
    }
    expect(told).toMatchInlineSnapshot(`
      [
        "0 toolshelf serve: 1 request: 534 input tokens instead of 8,136, 7,602 saved (93.4 %), $0.015 at list prices
      ",
        "0 toolshelf serve: 1 request: 2,893 input tokens instead of 8,124, 5,231 saved (64.4 %), $5.23 at list prices
      ",
      ]
    `)
  })

  it.each([
    ['SIGTERM', false, 3],
    ['SIGHUP', false, 4],
    ['SIGINT', false, 5],
    ['SIGQUIT', false, 6],
    // Keys of a terminal reach the agent without us.
    ['SIGINT', true, 3],
    ['SIGQUIT', true, 3],
    ['SIGHUP', true, 4],
  ] as const)('passes %s on, at a terminal: %s', async (signal, isTerminal, code) => {
    const up = join(mkdtempSync(join(folder, 'signals-')), 'up')
    const traps = Object.entries({ TERM: 3, HUP: 4, INT: 5, QUIT: 6 })
      .map(([name, code]) => `trap 'exit ${code}' ${name}`)
      .join('\n')
    const before = Object.getOwnPropertyDescriptor(process.stdin, 'isTTY')
    onTestFinished(() => {
      if (before) Object.defineProperty(process.stdin, 'isTTY', before)
      else Reflect.deleteProperty(process.stdin, 'isTTY')
    })
    Object.defineProperty(process.stdin, 'isTTY', { value: isTerminal, configurable: true })
    const others = process.listeners(signal)
    const ran = here('-q', '--', 'sh', '-c', `${traps}\ntouch '${up}'\nwhile :; do sleep 0.02; done`)
    await vi.waitUntil(() => existsSync(up), { timeout: 60_000 })
    const [own] = process.listeners(signal).filter((listener) => !others.includes(listener))
    expect(own).toBeDefined()
    process.emit(signal, signal)
    process.emit('SIGTERM', 'SIGTERM')
    expect(await ran).toEqual({ out: '', told: '', code })
    expect(process.listeners(signal)).not.toContain(own)
  })

  it('passes signals on, and ends as the agent does', async () => {
    const waiting = file(
      'waiting.mjs',
      "process.on('SIGTERM', () => { console.log('asked to end'); process.exit(3) })\nconsole.log('up')\nsetInterval(() => {}, 1000)",
    )
    const { child, done } = serve(['--', process.execPath, waiting])
    await new Promise((up) => child.stdout.once('data', up))
    child.kill('SIGTERM')
    const { out, told, code } = await done
    expect({ out, code }).toEqual({ out: 'up\nasked to end\n', code: 3 })
    expect(told).toContain('no request for the model came to http://127.0.0.1:')
  })

  it('returns 128 and the signal that ended the agent', async () => {
    expect(await here('-q', '--', 'sh', '-c', 'kill -9 $$')).toEqual({ out: '', told: '', code: 137 })
  })

  it('says what is wrong, and nothing else', async () => {
    const missing = await here('--', 'no-such-agent-anywhere')
    expect(missing).toEqual({
      out: '',
      told: 'toolshelf serve: no-such-agent-anywhere: there is no such program.\n',
      code: 127,
    })
    expect(await here('--')).toMatchObject({
      code: 2,
      told: expect.stringContaining('name the agent after "--"'),
    })
    expect(await here('--port', '0', '--', 'sh')).toMatchObject({
      code: 2,
      told: expect.stringContaining('--port is for clients of a gateway that stays'),
    })
  })
})

describe('which model an agent would speak to', () => {
  it.each([
    ['claude', {}, 'anthropic'],
    ['agent', { ANTHROPIC_BASE_URL: 'http://proxy.test' }, 'http://proxy.test'],
    ['agent', { OPENAI_BASE_URL: 'http://local.test/v1' }, 'openai:http://local.test/v1'],
    ['agent', { OPENAI_API_KEY: 'k' }, 'openai'],
    ['/usr/bin/codex', { OPENAI_API_KEY: 'k' }, 'responses'],
    ['agent', { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }, 'anthropic'],
    ['claude', { OPENAI_API_KEY: 'k' }, 'anthropic'],
  ])('%s with %j: %s', (command, environment, expected) => {
    expect(upstreamFor(command, environment)).toBe(expected)
  })

  it('uses no proxy between the agent and the gateway', () => {
    const { NO_PROXY, no_proxy } = agentEnvironment(
      'agent',
      { url: 'http://127.0.0.1:1', secret: 's' },
      { https_proxy: 'http://proxy.test', NO_PROXY: 'example.com' },
    )
    expect([NO_PROXY, no_proxy]).toEqual(['example.com,127.0.0.1', 'example.com,127.0.0.1'])
  })
})
