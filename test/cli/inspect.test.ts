// `toolshelf inspect` as a person uses it, and the inspector of the two gateways.
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readInput } from '../../packages/cli/src/command.ts'
import { openGatewayInspector } from '../../packages/cli/src/gateway/inspector.ts'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { createInspect } from '../../packages/cli/src/inspect.ts'
import { runCli } from '../../packages/cli/src/main.ts'
import { endpoints } from '../../packages/inspector/src/api.ts'
import { createEventRing } from '../../packages/inspector/src/events/ring.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { createScriptUpstream } from '../../packages/messages/src/upstream/script.ts'
import { readScript } from '../../packages/messages/src/upstream/script-file.ts'
import { enter } from '../../packages/testkit/src/cli-here.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { browse, startAuthServer } from '../mcp/support/auth-server.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { openHttp } from '../mcp/support/gateway-http.ts'
import { scriptPath } from '../mcp/support/servers.ts'
import { newPlace } from '../terminal/support.ts'
import { madeUpMachine } from './support/made-up-machine.ts'

const line = (sequence: number) =>
  `${JSON.stringify({ version: 1, time: '2026-01-01T00:00:00.000Z', processId: 1, sequence, type: 'warning', message: 'x' })}\n`

/** Runs the command until the test is over; resolves when it has printed its URL. */
async function start(
  words: readonly string[],
  setUp: (machine: ReturnType<typeof madeUpMachine>) => string[] = () => [],
) {
  const place = madeUpMachine({ PATH: process.env.PATH ?? '' })
  const more = setUp(place)
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const opened: string[] = []
  const command = createInspect({
    machine: () => place.machine,
    ended: () => ended,
    openBrowser: async (url) => opened.push(url) > 0,
  })
  const told: string[] = []
  let done: Promise<number> = Promise.resolve(0)
  const printed = await new Promise<string>((resolve, reject) => {
    const terminal = { print: resolve, report: (text: string) => void told.push(text), isInteractive: true }
    done = command.run(readInput(command, [...words, ...more]), terminal)
    done.catch(reject)
  })
  onTestFinished(async () => {
    end()
    await done
  })
  const [, base = '', key = ''] = /(http:\S+\/)#key=(\S+)/.exec(printed) ?? []
  const get = async (path: string): Promise<Loose> =>
    (await fetch(base + path, { headers: { authorization: `Bearer ${key}` } })).json()
  return { base, key, get, told, opened, end, done: () => done, printed }
}

describe('inspect', () => {
  const healthy = { command: process.execPath, args: [scriptPath('healthy')] }

  it('shows a file and the user’s servers, opens a browser, and ends with its servers', async () => {
    const { base, get, key, opened, printed, told, end, done } = await start([], (place) => {
      const file = join(place.root, 'events.jsonl')
      writeFileSync(file, line(1) + line(2))
      mkdirSync(join(place.machine.home, '.config/toolshelf'), { recursive: true })
      writeFileSync(place.own, JSON.stringify({ mcpServers: { healthy } }))
      return [file]
    })
    expect(base).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    expect(key.length).toBeGreaterThan(30)
    expect(opened.map((url) => printed.includes(url))).toEqual([true])
    const about = await get('api/about')
    expect(about).toMatchObject({ source: 'inspect', can: { search: true, saveHints: true } })
    expect(about.recording.files).toHaveLength(1)
    const [server] = await get('api/servers')
    expect(server).toMatchObject({ name: 'healthy', state: expect.stringMatching(/pending|connected/) })
    const response = await fetch(`${base}api/events`, { headers: { authorization: `Bearer ${key}` } })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('caught-up')) text += (await reader.read()).value
    expect(text).toContain('"sequence":2')
    expect((await fetch(`${base}api/about`)).status).toBe(401)
    end()
    expect(await done()).toBe(0)
    await expect(fetch(`${base}api/about`)).rejects.toThrow()
    expect(told.join()).toContain('Ctrl-C')
  })

  it('H7: servers of an untrusted folder are shown and not started; without any file and server it starts, too', async () => {
    const { get, opened } = await start(['--no-open'], (place) => {
      writeFileSync(
        join(place.machine.folder, '.mcp.json'),
        JSON.stringify({ mcpServers: { theirs: healthy } }),
      )
      return []
    })
    expect(opened).toEqual([])
    expect(await get('api/servers')).toMatchObject([{ name: 'theirs', state: 'untrusted', actions: [] }])
    expect(await get('api/tools')).toEqual([])
  })

  it('a file that is not there is a mistake', async () => {
    await expect(start(['nothing.jsonl'])).rejects.toThrow(/there is no file .*nothing\.jsonl/)
    await expect(start(['.'])).rejects.toThrow('is not a file with events')
  })

  it('saves no hints in a file of another program, also not through a link', async () => {
    for (const [isLink, saveHints] of [
      [false, true],
      [true, false],
    ] as const) {
      const { get } = await start(['--no-open', '--config'], (place) => {
        const theirs = join(place.machine.home, '.cursor', isLink ? 'mcp.json' : 'own.json')
        mkdirSync(join(place.machine.home, '.cursor'), { recursive: true })
        writeFileSync(theirs, JSON.stringify({ mcpServers: {} }))
        const file = join(place.root, 'link.json')
        symlinkSync(theirs, file)
        return [file]
      })
      expect((await get('api/about')).can.saveHints).toBe(saveHints)
    }
  })
})

describe.runIf(process.platform === 'linux')('inspect on this machine', () => {
  /** Runs the command with a program in place of the browser, which writes down what it is to open. */
  async function startHere(environment: { readonly [name: string]: string }, mcpServers = {}) {
    const temporary = temporaryFolder()
    const place = newPlace({ TMPDIR: temporary, ...environment })
    const programs = newPlace()
    const program = '#!/bin/sh\necho "$1" >> "$HOME/opened"\n'
    writeFileSync(join(programs.folder, 'xdg-open'), program, { mode: 0o755 })
    const words = ['inspect', '--config', place.file('servers.json', { mcpServers })]
    const leave = enter(place.folder, {
      ...place.environment,
      PATH: `${programs.folder}:${place.environment.PATH}`,
    })
    const [out, told]: [string[], string[]] = [[], []]
    let isRunning = true
    const code = runCli(words, {
      print: (text) => void out.push(text),
      report: (text) => void told.push(text),
      isInteractive: true,
    }).finally(() => {
      isRunning = false
      leave()
    })
    // A signal that only signal-exit hears, which comes with the chat, would end the process of the tests.
    const end = (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => {
      if (isRunning) process.emit(signal, signal)
      return code
    }
    onTestFinished(async () => void (await end('SIGINT')))
    const until = <Value>(check: () => Value) => vi.waitUntil(check, { timeout: 60_000 })
    await until(() => told.join().includes('Ctrl-C'))
    const [, url = '', key = ''] = /is at (http:\S+\/)#key=(\S+)/.exec(out.join()) ?? []
    const send = async (path: string, body?: object): Promise<Loose> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const content = body && { method: 'POST', body: JSON.stringify(body) }
      return (await fetch(new URL(path, url), { headers, ...content })).json()
    }
    const opened = join(place.folder, 'home/opened')
    /** The last address that the browser was to open. */
    const address = () =>
      until(() => statSync(opened, { throwIfNoEntry: false }) && readFileSync(opened, 'utf8').trim())
    return { url, key, told, end, send, address, temporary }
  }

  it('opens a private file that leads to the page, since others can read the arguments of programs', async () => {
    const listeners = () =>
      (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).flatMap((signal) => process.listeners(signal))
    const before = listeners()
    const { url, key, told, end, address, temporary } = await startHere({ DISPLAY: ':0' })
    const file = fileURLToPath(`${await address()}`)
    expect(file.startsWith(temporary)).toBe(true)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).toBe(
      `<!doctype html><meta http-equiv="refresh" content="0;url=${url}#key=${key}">`,
    )
    expect(told.at(-1)).toBe('It opens in your browser. Ctrl-C ends it.')
    expect(await end('SIGHUP')).toBe(0)
    expect(before).toEqual(expect.arrayContaining(listeners()))
  })

  it.each<{ [name: string]: string }>([{}, { DISPLAY: ':0', SSH_CONNECTION: 'from afar' }])(
    'opens nothing with %j',
    async (variables) => {
      const { told, end, temporary } = await startHere(variables)
      expect(told.at(-1)).toBe('Open it in a browser. Ctrl-C ends it.')
      expect(readdirSync(temporary)).toEqual([])
      expect(await end('SIGTERM')).toBe(0)
    },
  )

  it('logs in to a server in the browser', async () => {
    const server = await startAuthServer()
    const { send, address } = await startHere({}, { notes: { url: server.url } })
    const done = send(endpoints.serverAction, { server: 'notes', action: 'login' })
    await browse(`${await address()}`)
    expect(await done).toMatchObject({ name: 'notes', state: 'connected', tools: 2 })
    expect(server.asked('/authorize')).toHaveLength(1)
  })
})

describe('the inspector of a gateway', () => {
  const ring = () => createEventRing({ redact: (text) => text })
  const audit = () => ({ feed: ring(), redact: (text: string) => text })
  const of = (options: object = {}) =>
    openGatewayInspector({ source: 'serve', audit: audit(), address: '127.0.0.1', ...options })!

  it('has a new key each time, wherever it listens', () => {
    for (const address of ['127.0.0.1', '0.0.0.0'])
      expect(of({ address }).place).toMatch(/^\/inspect\/#key=[\w-]{32}$/)
    expect(of().place).not.toBe(of().place)
  })

  const CLIENT_KEY = 'the-key-of-all-the-clients'

  it('is served by mcp --http below /inspect; the key of one does not open the other', async () => {
    const inspector = of()
    const key = inspector.place.split('=')[1] ?? ''
    const { send } = await openHttp([], { http: { key: CLIENT_KEY, inspector: inspector.handle } })
    const about = (authorization: string) =>
      send({ method: 'GET', path: '/inspect/api/about', headers: { authorization } })
    expect((await about(`Bearer ${key}`)).status).toBe(200)
    expect((await about(`Bearer ${CLIENT_KEY}`)).status).toBe(401)
    expect((await send({ method: 'GET', path: '/inspect' })).headers.location).toBe('/inspect/')
    expect(
      (await send({ method: 'GET', path: '/inspected', headers: { authorization: `Bearer ${key}` } })).status,
    ).toBe(401)
  })

  it('is served by serve, without being counted as a request of the API', async () => {
    const inspector = of()
    const done: unknown[] = []
    const gateway = createMessagesGateway({
      upstream: createScriptUpstream({ script: readScript({ rules: [{ when: 'x', do: [{ say: 'y' }] }] }) }),
    })
    const { url, close } = await serveMessagesGateway({
      gateway,
      port: 0,
      inspector: inspector.handle,
      onDone: (one) => void done.push(one),
    })
    onTestFinished(close)
    const headers = { authorization: `Bearer ${inspector.place.split('=')[1]}` }
    expect(await (await fetch(`${url}/inspect/api/about`, { headers })).json()).toMatchObject({
      source: 'serve',
    })
    expect((await fetch(`${url}/inspect/api/about`)).status).toBe(401)
    expect(await (await fetch(`${url}/inspect/`)).text()).toContain('<div id="app">')
    expect(done).toEqual([])
  })
})
