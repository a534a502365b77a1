// `--audit` as a user runs it: a file with what happened, for each command that takes the option.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { connectWith, textOf } from '../mcp/support/gateway.ts'
import { until } from '../mcp/support/processes.ts'
import { scriptPath } from '../mcp/support/servers.ts'
import { binary, newPlace, type Place } from '../terminal/support.ts'

const KEY = 'k7Qp2mZx9Lw4Tn8vR3yB6dHs'

const read = (file: string): Loose[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

const typesIn = (file: string) => read(file).map(({ type }) => type)

describe('run', () => {
  const rules = [
    { when: 'shout', do: [{ call: 'Bash', input: { command: `echo ${KEY}` } }, { say: 'Heard.' }] },
    {
      when: 'move',
      do: [{ call: 'Move', input: { from: 'a', to: 'b' }, search: 'move file' }, { say: 'Over.' }],
    },
  ]
  const ran = (place: Place, ...words: string[]) =>
    runHere(place, ['run', '--script', place.file('script.json', { rules }), ...words])

  it('writes permission, call and result, without what they say', async () => {
    const place = newPlace()
    const file = join(place.folder, 'audit.jsonl')
    const { code, told } = await ran(place, 'shout', '--allow', 'Bash', '--audit', 'audit.jsonl')
    expect([code, told]).toEqual([0, ''])
    expect(typesIn(file)).toEqual(
      expect.arrayContaining(['decision', 'permission', 'call', 'result', 'prefix']),
    )
    expect(readFileSync(file, 'utf8')).not.toMatch(/echo|shout/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const records = read(file)
    expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_, index) => index + 1))
    const own = records.filter(({ type }) => type !== 'tools' && type !== 'pool')
    expect(new Set(own.map(({ conversation }) => conversation)).size).toBe(1)
    expect(own[0]).toMatchObject({ type: 'opened', kind: 'run' })
  })

  it('--audit-content adds arguments and results, without secrets', async () => {
    const place = newPlace({ SOME_API_KEY: KEY })
    const file = join(place.folder, 'audit.jsonl')
    const { code } = await ran(place, 'shout', '--allow', 'Bash', '--audit', file, '--audit-content')
    expect(code).toBe(0)
    const [call] = read(file).filter(({ type }) => type === 'call')
    expect(call.content).toEqual({ command: 'echo [hidden]' })
    expect(readFileSync(file, 'utf8')).not.toContain(KEY)
  })

  it('writes a search, what it loaded, and a refusal', async () => {
    const place = newPlace()
    const file = join(place.folder, 'audit.jsonl')
    await ran(place, 'move it', '--audit', file)
    const records = read(file)
    expect(records.find(({ type }) => type === 'searched')).toMatchObject({ query: 'move file' })
    expect(records.find(({ type }) => type === 'loaded')?.names).toContain('Move')
    expect(records.find(({ type }) => type === 'permission')).toMatchObject({
      name: 'Move',
      isAllowed: false,
    })
    expect(records.find(({ type }) => type === 'result')).toMatchObject({ name: 'Move', outcome: 'refused' })
  })

  it('works although the file cannot be written, and says so once', async () => {
    const place = newPlace()
    mkdirSync(join(place.folder, 'audit.jsonl'))
    const { code, told } = await ran(place, 'shout', '--allow', 'Bash', '--audit', 'audit.jsonl')
    expect(code).toBe(0)
    expect(told.match(/events are not being written/g)).toHaveLength(1)
  })

  it('--audit-content alone is a mistake', async () => {
    const { code, told } = await ran(newPlace(), 'hello', '--audit-content')
    expect(code).toBe(2)
    expect(told).toContain('--audit-content requires --audit')
  })
})

it('mcp writes servers, searches and calls; a server’s secrets stay out', async () => {
  const place = newPlace()
  const file = join(place.folder, 'audit.jsonl')
  const server = { command: process.execPath, args: [scriptPath('healthy')], env: { ITS_KEY: KEY } }
  const config = place.file('toolshelf.json', { mcpServers: { healthy: server } })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...binary, 'mcp', '--config', config, '--audit', file, '--audit-content'],
    env: { ...place.environment },
    stderr: 'ignore',
  })
  const desk = await connectWith(transport)
  await desk.search('echo')
  expect(textOf(await desk.run('healthy__echo', { text: `it is ${KEY}` }))).toContain(KEY)
  await until(() => existsSync(file) && typesIn(file).includes('result'), 'the result is written')
  expect(typesIn(file)).toEqual(expect.arrayContaining(['server', 'searched', 'loaded', 'call', 'result']))
  expect(readFileSync(file, 'utf8')).not.toContain(KEY)
  expect(read(file).find(({ type }) => type === 'call').content).toEqual({ text: 'it is [hidden]' })
})

it('serve writes each request under the trace id that it came with', async () => {
  const place = newPlace({ TOOLSHELF_KEY: KEY })
  const file = join(place.folder, 'audit.jsonl')
  const script = place.file('script.json', { rules: [{ when: 'x', do: [{ say: 'y' }] }], otherwise: 'hi' })
  const words = ['serve', '--port', '0', '--upstream', `script:${script}`, '--audit', file]
  const child: ChildProcess = spawn(process.execPath, [...binary, ...words], {
    env: { ...place.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const heard = heardFrom(child)
  await until(() => heard.told().includes('Ctrl-C'), 'it is ready')
  const url = /ready at (\S+)/.exec(heard.told())?.[1] ?? ''
  const id = '0af7651916cd43dd8448eb211c80319c'
  const send = (key: string) =>
    fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, traceparent: `00-${id}-00f067aa0ba902b7-01` },
      body: JSON.stringify({ model: KEY, max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }),
    })
  expect((await send('wrong')).status).toBe(401)
  expect((await send(KEY)).status).toBe(200)
  await until(() => existsSync(file) && typesIn(file).includes('answered'), 'the request is written')
  expect(read(file).at(-1)).toMatchObject({
    type: 'answered',
    status: 200,
    conversation: id,
    model: '[hidden]',
  })
  child.kill('SIGTERM')
  await once(child, 'exit')
})
