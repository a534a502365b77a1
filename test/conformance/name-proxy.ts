// Stands between the conformance suite and the gateway and maps names, nothing else. The suite asks for `test_simple_text`
// and `test://static-text`; behind the gateway they are `fixture__test_simple_text` and `fixture+test://static-text`.
import {
  request as connect,
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

type Fields = { [name: string]: unknown }

const NAME = 'fixture__'
const SCHEME = 'fixture+'

export type NameProxy = { readonly url: string; close(): Promise<void> }

export async function startNameProxy(target: string): Promise<NameProxy> {
  const server = createServer((incoming, outgoing) => {
    pass(new URL(target), incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://localhost:${port}${new URL(target).pathname}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

async function pass(target: URL, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const body = Buffer.from(mapText(Buffer.concat(chunks).toString(), requestOut))
  const headers: OutgoingHttpHeaders = { ...incoming.headers, 'content-length': body.length }
  if (typeof headers['mcp-name'] === 'string') headers['mcp-name'] = addPrefix(headers['mcp-name'])
  const { method, url: path } = incoming
  const onward = connect({ host: target.hostname, port: target.port, method, path, headers })
  outgoing.once('close', () => onward.destroy())
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    onward.once('response', resolve)
    onward.once('error', reject)
    onward.end(body)
  })
  const { 'content-length': _length, ...rest } = answer.headers
  outgoing.writeHead(answer.statusCode ?? 502, rest)
  outgoing.flushHeaders()
  const isStream = String(rest['content-type']).startsWith('text/event-stream')
  await pipeline(answer.setEncoding('utf8'), mapper(isStream), outgoing)
}

/** A stream is mapped line by line as it comes, everything else as a whole. */
function mapper(isStream: boolean): Transform {
  let rest = ''
  const mapLine = (line: string) =>
    line.startsWith('data: ') ? `data: ${mapText(line.slice(6), answerBack)}` : line
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest += chunk.toString()
      if (!isStream) return done()
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      done(null, lines.map((line) => `${mapLine(line)}\n`).join(''))
    },
    flush(done) {
      done(null, isStream ? mapLine(rest) : mapText(rest, answerBack))
    },
  })
}

function mapText(text: string, map: (message: Fields) => Fields): string {
  try {
    return JSON.stringify(map(JSON.parse(text) as Fields))
  } catch {
    // What is no JSON is the suite's or the gateway's own affair.
    return text
  }
}

const isUri = (text: string) => text.includes('://')
const addPrefix = (text: string) => (isUri(text) ? SCHEME : NAME) + text
const dropPrefix = (text: string) =>
  text.startsWith(NAME) ? text.slice(NAME.length) : text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text

const METHODS_WITH_NAMES = new Set(['tools/call', 'prompts/get'])
const METHODS_WITH_URIS = new Set(['resources/read', 'resources/subscribe', 'resources/unsubscribe'])

function requestOut(message: Fields): Fields {
  const { method } = message
  const params = { ...(message.params as Fields | undefined) }
  if (METHODS_WITH_NAMES.has(String(method)) && typeof params.name === 'string')
    return { ...message, params: { ...params, name: addPrefix(params.name) } }
  if (METHODS_WITH_URIS.has(String(method)) && typeof params.uri === 'string')
    return { ...message, params: { ...params, uri: addPrefix(params.uri) } }
  const reference = params.ref as Fields | undefined
  if (method === 'completion/complete' && reference)
    return { ...message, params: { ...params, ref: mapEntry(reference, addPrefix) } }
  return message
}

function answerBack(message: Fields): Fields {
  const result = message.result as Fields | undefined
  if (result) return { ...message, result: mapLists(result) }
  const error = message.error as { data?: Fields } | undefined
  if (error?.data) return { ...message, error: { ...error, data: mapEntry(error.data, dropPrefix) } }
  const params = message.params as Fields | undefined
  if (params) return { ...message, params: mapEntry(params, dropPrefix) }
  return message
}

/** Lists, the contents of a resource, and resources in the content of a tool or of a prompt. */
function mapLists(result: Fields): Fields {
  const mapped = Object.entries(result).map(([field, value]) => [
    field,
    Array.isArray(value) ? value.map(mapListed) : value,
  ])
  return Object.fromEntries(mapped)
}

function mapListed(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null ? mapBlock(entry as Fields) : entry
}

function mapBlock(entry: Fields): Fields {
  const { resource, content } = entry as { resource?: Fields; content?: Fields }
  return mapEntry(
    {
      ...entry,
      ...(resource ? { resource: mapEntry(resource, dropPrefix) } : {}),
      ...(content && !Array.isArray(content) ? { content: mapBlock(content) } : {}),
    },
    dropPrefix,
  )
}

function mapEntry(entry: Fields, map: (text: string) => string): Fields {
  const mapped = { ...entry }
  for (const field of ['name', 'uri', 'uriTemplate']) {
    const value = mapped[field]
    if (typeof value === 'string') mapped[field] = map(value)
  }
  return mapped
}
