// MCP servers in the test's own process, over HTTP on loopback: a process for each takes a tenth of a CPU second to start.
// For tests of what servers offer and answer; what depends on a process, its pipes or its environment is in ../servers.
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { type Given, httpServer, scriptPath } from './servers.ts'

/** Answers requests, and hears notifications, by their methods. */
export type Handlers = { readonly [method: string]: (params: Loose, message: Loose) => unknown }

export type HandlersOf = (wire: Wire) => Handlers | Promise<Handlers>

/** How a server speaks unasked: in a call to its client, else to all clients. */
export type Wire = {
  /** Says something to the person; over HTTP there is no way to. */
  log(line: string): void
  notify(method: string, params?: object): void
  /** Sends a request to the client → its whole answer. */
  ask(method: string, params?: object): Promise<Loose>
  /** Writes a text in place of the answer, which the handler then does not give. */
  write(text: string | Buffer): void
  /** Ends as a crash does: the process, or the request and every session. */
  die(): void
}

/** A result that is never sent; the same as in ../servers. */
export const noAnswer = Symbol.for('no answer')

export const text = (value: unknown) => ({ content: [{ type: 'text', text: String(value) }] })

export const initialized = ({ protocolVersion = '2025-11-25' }: Loose = {}, capabilities: object = {}) => ({
  protocolVersion,
  capabilities: { tools: { listChanged: true }, ...capabilities },
  serverInfo: { name: 'test-server', version: '1.0.0' },
})

/** `serverHere('shop', ({ notify }) => ({ 'tools/list': … }))`: the configuration of a new one. */
export function serverHere(name: string, handlersOf: HandlersOf, given: Given = {}): ServerConfig {
  return httpServer(name, serveHere(handlersOf), given)
}

/** `here('one', 'gateway-pages a b')`: the same server as `local('one', 'gateway-pages a b')` without a process. */
export function here(name: string, script: string, given: Given = {}): ServerConfig {
  return httpServer(name, serveScript(script), given)
}

/** The address of such a server, for a configuration file. */
export function serveScript(script: string): string {
  const [file = '', behaviour = '', ...args] = script.split(' ')
  return serveHere(async (wire) => (await import(scriptPath(file))).server(behaviour, wire, ...args))
}

/** The address of a new server, which answers as long as the process runs. */
export function serveHere(handlersOf: HandlersOf): string {
  const path = `/${servers.size + 1}/mcp`
  servers.set(path, new ServerHere(handlersOf))
  return `${origin}${path}`
}

const servers = new Map<string, ServerHere>()
const origin = await listen()

/** One for all servers of this process, which it does not keep alive. */
async function listen(): Promise<string> {
  const listener = createServer((request, response) => {
    const server = servers.get(request.url ?? '')
    if (server) void server.take(request, response)
    else response.writeHead(404).end()
  })
  // The default of 5 s would close an idle connection just as a busy process uses it again.
  listener.keepAliveTimeout = 60_000
  listener.unref().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
}

type Send = (message: object) => void

/** What a client gets outside of its calls; kept for it until it listens. */
type Session = { stream: ServerResponse | undefined; readonly waiting: object[] }

/** The call that is being answered, and by which server. One storage for all servers: each storage slows every promise of the process. */
const currentCall = new AsyncLocalStorage<{
  readonly server: ServerHere
  readonly send: Send
  readonly response: ServerResponse
}>()

class ServerHere {
  readonly #handlers: Promise<Handlers>
  readonly #sessions = new Map<string, Session>()
  readonly #questions = new Map<string, (answer: Loose) => void>()

  constructor(handlersOf: HandlersOf) {
    const wire: Wire = {
      log: () => {},
      notify: (method, params = {}) => this.#send({ method, params }),
      ask: (method, params = {}) =>
        new Promise((resolve) => {
          const id = `question-${this.#questions.size + 1}`
          this.#questions.set(id, resolve)
          this.#send({ id, method, params })
        }),
      write: (text) =>
        currentCall.getStore()?.response.writeHead(200, { 'content-type': 'application/json' }).end(text),
      die: () => {
        for (const { stream } of this.#sessions.values()) stream?.socket?.destroy()
        this.#sessions.clear()
        currentCall.getStore()?.response.socket?.destroy()
      },
    }
    this.#handlers = Promise.resolve(handlersOf(wire)).then((handlers) => ({
      initialize: (params) => initialized(params),
      ping: () => ({}),
      ...handlers,
    }))
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = request.headers['mcp-session-id']
    const id = String(given)
    if (request.method === 'GET') this.#listen(id, response)
    else if (given !== undefined && !this.#sessions.has(id)) response.writeHead(404).end()
    else if (request.method === 'POST') await this.#receive((await json(request)) as Loose, response)
    else response.writeHead(200).end()
  }

  #listen(id: string, response: ServerResponse): void {
    const session = this.#sessions.get(id)
    if (!session) return void response.writeHead(404).end()
    begin(response).flushHeaders()
    for (const message of session.waiting.splice(0)) write(response, message)
    session.stream = response
    response.on('close', () => {
      if (session.stream === response) session.stream = undefined
    })
  }

  async #receive(message: Loose, response: ServerResponse): Promise<void> {
    const { id, method, params = {} } = message
    if (id !== undefined && method !== undefined) return this.#answer(message, response)
    response.writeHead(202).end()
    if (method === undefined) this.#questions.get(id)?.(message)
    else await (await this.#handlers)[method]?.(params, message)
  }

  async #answer(message: Loose, response: ServerResponse): Promise<void> {
    const { id, method, params = {} } = message
    const send: Send = (more) => {
      if (response.writableEnded) this.#broadcast(more)
      else write(response.headersSent ? response : begin(response), more)
    }
    if (method === 'initialize') response.setHeader('mcp-session-id', this.#open())
    const handler = (await this.#handlers)[method]
    const answer = await currentCall.run({ server: this, send, response }, () =>
      outcomeOf(handler, method, params, message),
    )
    if (answer === noAnswer) return
    const reply = { id, ...answer }
    if (response.headersSent) return void write(response, reply).end()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', ...reply }))
  }

  #open(): string {
    const id = randomUUID()
    this.#sessions.set(id, { stream: undefined, waiting: [] })
    return id
  }

  #send(message: object): void {
    const call = currentCall.getStore()
    if (call?.server === this) call.send(message)
    else this.#broadcast(message)
  }

  #broadcast(message: object): void {
    for (const { stream, waiting } of this.#sessions.values()) {
      if (stream) write(stream, message)
      else waiting.push(message)
    }
  }
}

async function outcomeOf(
  handler: Handlers[string] | undefined,
  method: string,
  params: Loose,
  message: Loose,
) {
  if (!handler) return { error: { code: -32601, message: `Method not found: ${method}` } }
  try {
    const result = await handler(params, message)
    return result === noAnswer ? noAnswer : { result }
  } catch (error) {
    const { code = -32603, message: reason, data } = error as Loose
    return { error: { code, message: reason, data } }
  }
}

const begin = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })

function write(response: ServerResponse, message: object): ServerResponse {
  response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  return response
}
