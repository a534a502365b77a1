// `toolshelf mcp` in this process, on pipes and over HTTP, with servers of this process: what it wires together.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, onTestFinished, test } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'
import { version } from '../../packages/cli/src/version.ts'
import { enter } from '../../packages/testkit/src/cli-here.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { connectWith, type Desk, everyCapability, textOf } from '../mcp/support/gateway.ts'
import { startMcpHere } from '../mcp/support/mcp-here.ts'
import { until } from '../mcp/support/processes.ts'
import { initialized, serveHere, text } from '../mcp/support/server-here.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { newPlace, type Place } from '../terminal/support.ts'

/** Who connected to a server last. */
let client = ''
const SECRET = 'k7Qp2mZx9Lw4Tn8v'
const schema = { type: 'object', properties: { lines: { type: 'number' } }, required: ['lines'] }

/** The address of a server that recites, and asks its client for a name. */
const poems = () =>
  serveHere(({ ask }) => ({
    initialize: (params) => {
      client = `${params.clientInfo.name} ${params.clientInfo.version}`
      return initialized(params)
    },
    'tools/list': () => ({ tools: [tool('recite', { inputSchema: schema }), tool('greet')] }),
    async 'tools/call'({ name, arguments: input }) {
      if (name === 'recite') return text('a line of a poem\n'.repeat(input.lines))
      const asked = await ask('elicitation/create', {
        message: 'name?',
        requestedSchema: { type: 'object', properties: {} },
      })
      return text(`Hello ${asked.result?.content?.name}`)
    },
  }))

function placeWith(
  gateway: object,
  servers: object = { poems: { url: poems(), headers: { 'x-token': SECRET } } },
) {
  const place = newPlace()
  place.file('toolshelf.json', { mcpServers: servers, gateway })
  return place
}

const words = ['--config', 'toolshelf.json']
const eventsIn = (place: Place): Loose[] =>
  readFileSync(join(place.folder, 'events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

/** What a client sees, without what differs each time. */
async function shownTo(desk: Pick<Desk, 'call' | 'run' | 'search' | 'names'>) {
  const shown = {
    search: await desk.search('recite'),
    long: textOf(await desk.run('poems__recite', { lines: 500 })).slice(0, 150),
    asked: textOf(await desk.run('poems__greet')),
    names: (await desk.names()).join(' '),
  }
  const handle = /handle="(\w+)"/.exec(shown.long)?.[1] ?? ''
  return { shown: JSON.parse(JSON.stringify(shown).replaceAll(handle || ' none', 'HANDLE')), handle }
}

const untilListed = (desk: Pick<Desk, 'search'>) =>
  until(async () => (await desk.search('recite')).includes('poems__recite'), 'the server is there')

async function startHttp(place: Place, more: readonly string[] = []) {
  let told = ''
  const leave = enter(place.folder, place.environment)
  const code = runCli(['mcp', '--http', '--port', '0', ...words, ...more], {
    print: () => {},
    report: (line) => {
      told += `${line}\n`
    },
    isInteractive: false,
  }).finally(leave)
  let isEnded = false
  const end = async () => {
    if (!isEnded) process.emit('SIGTERM', 'SIGTERM')
    isEnded = true
    return code
  }
  onTestFinished(async () => void (await end()))
  await until(() => told.includes('ready at'), 'it is ready')
  const url = /ready at (\S+)/.exec(told)?.[1] ?? ''
  const [, page, key] = /inspector at (\S+?)#key=(\S+)/.exec(told) ?? []
  const inspect = async (endpoint: string, input?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = input === undefined ? {} : { method: 'POST', body: JSON.stringify(input) }
    return (await fetch(`${page}${endpoint}`, { headers, ...sent })).text()
  }
  return { url, page, inspect, told: () => told, end }
}

test('a gateway without clients shows itself to its operator, and ends at a signal', async () => {
  const served = await startHttp(placeWith({}), ['--store', 'memory:'])
  expect(await served.inspect('api/servers')).toContain('poems')
  expect(await served.end()).toBe(0)
  const hidden = await startHttp(placeWith({}), ['--no-inspect'])
  expect([hidden.page, await hidden.end()]).toEqual([undefined, 0])
})

test('without options there are no scripts, kept results and events', async () => {
  const place = placeWith({ resultBudget: 0 })
  const desk = await startMcpHere(place, words)
  await untilListed(desk)
  const { shown } = await shownTo(desk)
  expect(shown).toMatchInlineSnapshot(`
    {
      "asked": "Hello undefined",
      "long": "a line of a poem
    a line of a poem
    a line of a poem
    a line of a poem
    a line of a poem
    a line of a poem
    a line of a poem
    a line of a poem
    a line of a po",
      "names": "ToolSearch poems__recite",
      "search": "In your tool list now; call them by name:
    - poems__recite: The tool recite",
    }
  `)
  expect([await desk.close(), existsSync(join(place.folder, 'data'))]).toEqual([0, false])
})

test('a client on pipes gets searches, questions, kept results and events', async () => {
  const place = placeWith({ resultBudget: 1000 })
  const more = ['--scripts', '--ranker', 'lexical']
  const start = () =>
    startMcpHere(place, [...words, ...more, '--audit', 'events.jsonl', '--audit-content'], {
      capabilities: everyCapability,
    })
  const first = await start()
  await untilListed(first)
  const { shown, handle } = await shownTo(first)
  expect(shown).toMatchInlineSnapshot(`
    {
      "asked": "Hello Ada",
      "long": "<shelved-result handle="HANDLE">
    The result is a text of 8,500 characters, too long to show here; all of it is kept. A preview follow",
      "names": "ToolSearch RunScript ReadResult poems__recite",
      "search": "In your tool list now; call them by name:
    - poems__recite: The tool recite",
    }
  `)
  expect([await first.close(), first.told(), client]).toEqual([0, '', `toolshelf ${version()}`])
  const events = eventsIn(place)
  expect([...new Set(events.map(({ type }) => type))].sort().join(' ')).toMatchInlineSnapshot(
    `"call listed loaded opened pool result searched server shelved tools"`,
  )
  expect(events.find(({ type }) => type === 'opened')).toMatchObject({
    kind: 'mcp',
    client: { name: 'opencode' },
  })
  expect(JSON.stringify(events)).not.toContain(SECRET)
  expect(existsSync(join(place.folder, 'home/.local/state/toolshelf/pins'))).toBe(true)
  const again = await start()
  expect(textOf(await again.call('ReadResult', { handle, page: 1 }))).toContain('a line of a poem')
  expect(await again.close()).toBe(0)
})

test('clients over HTTP share servers and a store, and the operator inspects them', async () => {
  const place = placeWith({ resultBudget: 1000 })
  const served = await startHttp(place, [
    ...['--store', 'memory:', '--mode', 'bridge', '--audit', 'events.jsonl'],
  ])
  const connect = () =>
    connectWith(new StreamableHTTPClientTransport(new URL(served.url)), {
      ...{ capabilities: everyCapability, era: 'modern' },
    })
  const [desk, other] = [await connect(), await connect()]
  await untilListed(desk)
  const { shown, handle } = await shownTo(desk)
  expect(shown).toMatchInlineSnapshot(`
    {
      "asked": "Hello Ada",
      "long": "<shelved-result handle="HANDLE">
    The result is a text of 8,500 characters, too long to show here; all of it is kept. A preview follow",
      "names": "ToolSearch CallTool",
      "search": "Call these with CallTool, by their full name. Their definitions ("?" marks what may be left out; "select:<name>" gives one whole):
    poems__recite: The tool recite
      lines: number",
    }
  `)
  expect(textOf(await desk.run('poems__recite', { lines: 'many' }))).toMatchInlineSnapshot(`
    "The input of "poems__recite" does not fit its schema:
    - lines must be a number, not the string "many": write it without quotes
    Here is its whole definition; call it again with arguments that fit.
    {"name":"poems__recite","description":"The tool recite","input_schema":{"type":"object","properties":{"lines":{"type":"number"}},"required":["lines"]}}"
  `)
  expect([
    textOf(await desk.call('ReadResult', { handle, page: 1 })).includes('a line'),
    textOf(await other.call('ReadResult', { handle, page: 1 })).includes('a line'),
    existsSync(join(place.folder, 'data')),
  ]).toMatchInlineSnapshot(`
    [
      true,
      true,
      false,
    ]
  `)
  expect(JSON.parse(await served.inspect('api/about'))).toMatchObject({
    source: 'mcp',
    can: { search: true, manageServers: true, saveHints: true },
    recording: { isLive: true },
  })
  const [server] = JSON.parse(await served.inspect('api/servers'))
  expect(server).toMatchObject({ name: 'poems', state: 'connected', tools: 2, changes: [] })
  expect(await served.inspect('api/tools')).toContain('poems__greet')
  const metrics = await (await fetch(new URL('/metrics', served.url))).text()
  expect(metrics).toContain('toolshelf_store_operations_total{store="memory"')
  await desk.client.close()
  await other.client.close()
  expect(await served.end()).toBe(0)
  const people = eventsIn(place).flatMap(({ type, client: by }) => (type === 'opened' ? [by?.name] : []))
  expect(new Set(people)).toEqual(new Set(['opencode']))
  expect(served.told().replaceAll(/:\d+|=\S+/g, '')).toMatchInlineSnapshot(`
    "toolshelf mcp: ready at http://127.0.0.1/mcp
    toolshelf mcp: inspector at http://127.0.0.1/inspect/#key
    "
  `)
})
