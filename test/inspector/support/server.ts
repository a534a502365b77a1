// A small process behind the page for its tests: it keeps the contract of inspector/src/api.ts with given data, searches
// with the real rankers, and can be cut off.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Tool } from '../../../packages/core/src/types.ts'
import {
  type About,
  type ExportInput,
  type ExportView,
  endpoints,
  type HintInput,
  type HintView,
  type PinInput,
  type ServerActionInput,
  type ServerView,
  type ToolView,
} from '../../../packages/inspector/src/api.ts'
import type { EventRecord } from '../../../packages/inspector/src/model/records.ts'
import { searchTools } from './search.ts'

export type FixtureData = {
  about: About
  servers: ServerView[]
  tools: ToolView[]
  events: EventRecord[]
}

export type Fixture = {
  readonly url: string
  readonly data: FixtureData
  /** Requests with a body, as they arrived. */
  readonly posts: { readonly path: string; readonly body: unknown }[]
  /** Sends a new event to every open page. */
  emit(event: EventRecord): void
  /** Ends all connections and refuses new ones until `resume`. */
  cutOff(): void
  resume(): void
  close(): Promise<void>
}

export const KEY = 'fixture-key'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"

const HTML = `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Toolshelf</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="page.css"></head>
<body><div id="app"></div><script src="page.js"></script></body></html>`

type Page = { readonly script: string; readonly style: string }

export async function startFixture(page: Page, data: FixtureData): Promise<Fixture> {
  const streams = new Set<ServerResponse>()
  const posts: Fixture['posts'] = []
  let isCut = false
  const files = new Map([
    ['/', ['text/html', HTML]],
    ['/page.js', ['text/javascript', page.script]],
    ['/page.css', ['text/css', page.style]],
  ])
  const server = createServer(async (request, response) => {
    if (isCut) return void request.socket.destroy()
    response.setHeader('content-security-policy', POLICY)
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fixture')
    const file = files.get(pathname)
    if (file) return send(response, 200, file[1] ?? '', `${file[0]}; charset=utf-8`)
    if (request.headers.authorization !== `Bearer ${KEY}`)
      return sendJson(response, 401, { error: 'this needs the key' })
    const path = pathname.slice(1)
    if (path === endpoints.events) return stream(response, data, searchParams.get('since'), streams)
    if (request.method === 'GET') return sendJson(response, 200, viewOf(path, data))
    const body = await readBody(request)
    posts.push({ path, body })
    const [status, answer] = await answerPost(path, body, data)
    sendJson(response, status, answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    data,
    posts,
    emit(event) {
      data.events.push(event)
      for (const one of streams) one.write(`${JSON.stringify(event)}\n`)
    },
    cutOff() {
      isCut = true
      server.closeAllConnections()
      streams.clear()
    },
    resume() {
      isCut = false
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function send(response: ServerResponse, status: number, text: string, type: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
  response.end(text)
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, JSON.stringify(value), 'application/json')
}

function stream(
  response: ServerResponse,
  { events, about }: FixtureData,
  since: string | null,
  streams: Set<ServerResponse>,
): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const shown = events.filter(({ time }) => since === null || time >= since)
  response.write(shown.map((event) => `${JSON.stringify(event)}\n`).join(''))
  response.write(`${JSON.stringify({ type: 'caught-up', events: shown.length, skipped: 0, broken: 0 })}\n`)
  if (!about.recording.isLive) return void response.end()
  streams.add(response)
  response.on('close', () => streams.delete(response))
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

function viewOf(path: string, data: FixtureData): unknown {
  if (path === endpoints.about) return data.about
  return path === endpoints.servers ? data.servers : data.tools
}

async function answerPost(path: string, body: unknown, data: FixtureData): Promise<[number, unknown]> {
  switch (path) {
    case endpoints.search:
      return [200, await searchTools(body as Parameters<typeof searchTools>[0], data.tools)]
    case endpoints.hint:
      return answerHint(body as HintInput, data)
    case endpoints.serverAction:
      return answerAction(body as ServerActionInput, data)
    case endpoints.pins:
      return answerPins(body as PinInput, data)
    case endpoints.export:
      return [200, exportOf(body as ExportInput, data)]
    default:
      return [404, { error: `no such path: ${path}` }]
  }
}

function answerHint({ tool, hint, isConfirmed }: HintInput, { tools }: FixtureData): [number, HintView] {
  const known = tools.findIndex(({ name }) => name === tool)
  if (isConfirmed && known >= 0) tools[known] = { ...tools[known]!, hint }
  const diff = `@@ -4,3 +4,3 @@\n     "tools": {\n-      "x": {}\n+      "x": { "hint": ${JSON.stringify(hint)} }\n`
  return [200, { file: 'toolshelf.json', diff, isWritten: isConfirmed }]
}

function answerAction({ server, action }: ServerActionInput, { servers }: FixtureData): [number, unknown] {
  const at = servers.findIndex(({ name }) => name === server)
  const known = servers[at]
  if (!known) return [404, { error: `there is no server "${server}"` }]
  if (action === 'login') return [502, { error: 'the server does not offer a login' }]
  const state = action === 'stop' ? 'idle' : 'connected'
  servers[at] = { ...known, state, actions: state === 'idle' ? ['start'] : ['stop', 'reconnect', 'refresh'] }
  return [200, servers[at]]
}

function answerPins({ server, kind, names }: PinInput, { servers }: FixtureData): [number, unknown] {
  const at = servers.findIndex(({ name }) => name === server)
  const known = servers[at]
  if (!known) return [404, { error: `there is no server "${server}"` }]
  const isMeant = (change: ServerView['changes'][number]) =>
    change.kind === kind && names.includes(change.name)
  const changes = known.changes.filter((change) => !isMeant(change))
  servers[at] = { ...known, changes }
  return [200, servers[at]]
}

function exportOf({ conversations }: ExportInput, { events }: FixtureData): ExportView {
  const isWanted = ({ conversation }: EventRecord) =>
    conversation === undefined || !conversations || conversations.includes(String(conversation))
  return {
    ...{ format: 'toolshelf-events', version: 1 },
    events: events.filter(isWanted) as unknown as ExportView['events'],
    redactions: [{ what: 'home folder', count: 3 }],
  }
}

/** A tool as the rankers take it. */
export function asTool({ name, description, hint, server }: ToolView): Tool {
  return {
    ...{ name, description, input_schema: { type: 'object' }, run: async () => '' },
    ...(hint === '' ? {} : { searchHint: hint }),
    ...(server === null ? {} : { server }),
  } as Tool
}
