// What the test servers share: JSON-RPC over stdio in a few lines, without an SDK that would mend what they break.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** What the server is to do; each file says which words it knows. */
export const behaviour = process.argv[2] ?? ''

// Whoever wants to know when a server was started, and as which process, names a file.
if (process.env.STARTS_FILE) appendFileSync(process.env.STARTS_FILE, `${process.pid}\n`)

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

export const text = (value) => ({ content: [{ type: 'text', text: String(value) }] })

export const tool = (name, more = {}) => ({
  name,
  description: `The tool ${name}`,
  inputSchema: { type: 'object', properties: {} },
  ...more,
})

/** What a server writes, and how it asks its client. */
function wireOn(output, errors) {
  const questions = new Map()
  const send = (message) => output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  return {
    questions,
    send,
    notify: (method, params = {}) => send({ method, params }),
    /** A request to the client → its whole answer. */
    ask(method, params) {
      const id = `question-${questions.size + 1}`
      return new Promise((resolve) => {
        questions.set(id, resolve)
        send({ id, method, params })
      })
    },
    /** Writes what JSON.stringify cannot. */
    write: (text) => output.write(text),
    /** Writes a line for the person. */
    log: (line) => errors.write(`${line}\n`),
  }
}

const own = wireOn(process.stdout, process.stderr)

export const { send, ask, notify } = own

export const answer = (id, result) => send({ id, result })

export const initialized = ({ protocolVersion = '2025-11-25' } = {}, capabilities = {}) => ({
  protocolVersion,
  capabilities: { tools: { listChanged: true }, ...capabilities },
  serverInfo: { name: 'test-server', version: '1.0.0' },
})

export const noAnswer = Symbol.for('no answer')

/** Answers each method by its handler, given (params, message); the rest is refused. Ends with its input. */
export function serve(handlers, { onEnd = () => process.exit(0) } = {}) {
  listen(process.stdin, handlers, own).on('close', onEnd)
}

/**
 * For files that are servers both as processes and in the process of the tests (support/server-here.ts, support/piped.ts): runs
 * the process. `serverOf(behaviour, { ask, notify, log }, …arguments)` gives the handlers.
 */
export function run({ url }, serverOf) {
  if (process.argv[1] === fileURLToPath(url)) serve(serverOf(behaviour, own, ...process.argv.slice(3)))
}

/** A server on other pipes than those of this process. */
export function serveOn({ input, output, errors, kill }, serverOf) {
  const wire = { ...wireOn(output, errors), die: kill }
  listen(input, serverOf(wire), wire)
}

function listen(input, handlers, wire) {
  const all = { initialize: (params) => initialized(params), ping: () => ({}), ...handlers }
  return createInterface({ input }).on('line', (line) => {
    const message = parsed(line)
    if (message) receive(message, all, wire)
  })
}

/** Undefined for a line whose client ended the connection in the middle of it. */
function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

async function receive(message, handlers, { send, questions }) {
  const { id, method, params = {} } = message
  if (method === undefined) return questions.get(id)?.(message)
  const handler = handlers[method]
  if (id === undefined) return handler?.(params, message)
  if (!handler) return send({ id, error: { code: -32601, message: `Method not found: ${method}` } })
  try {
    const result = await handler(params, message)
    if (result !== noAnswer) send({ id, result })
  } catch (error) {
    send({ id, error: { code: error.code ?? -32603, message: error.message, data: error.data } })
  }
}
