// An inspector without a port: requests are objects, as its handler takes them.
import type { TraceRecord } from '../../../packages/core/src/events.ts'
import { createEventRing } from '../../../packages/inspector/src/events/ring.ts'
import { createInspector } from '../../../packages/inspector/src/server/handler.ts'
import type { InspectedServers, InspectorOptions } from '../../../packages/inspector/src/server/types.ts'
import { createHostAccess } from '../../../packages/server/src/http/access.ts'
import { createBodies } from '../../../packages/server/src/http/json-bodies.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'

export const KEY = 'the-key-of-this-process'
export const HOST = '127.0.0.1:4711'

export type Asked = {
  readonly method?: string
  readonly headers?: { readonly [name: string]: string }
  /** JSON, or the body itself. */
  readonly body?: unknown
  /** Sent along unless this is false. */
  readonly key?: string | false
  readonly signal?: AbortSignal
}

type Options = Partial<Omit<InspectorOptions, 'servers'>> & {
  readonly servers?: InspectedServers
}

export function openTestInspector({ servers, ...options }: Options = {}) {
  const ring = createEventRing({ redact: (text) => text.replaceAll('hunter2', '[hidden]') })
  const inspector = createInspector({
    version: '1.2.3',
    source: 'inspect',
    feed: ring,
    redact: (text) => text.replaceAll('hunter2', '[hidden]'),
    advice: 'toolshelf mcp --audit',
    key: KEY,
    path: '/',
    allowsHost: createHostAccess('127.0.0.1', []).allowsHost,
    readBody: createBodies({ maxBytes: 1_000_000, maxTotalBytes: 8_000_000 }).read,
    page: async () => ({ script: 'run()', style: 'a{}' }),
    ...(servers ? { servers: () => servers } : {}),
    ...options,
  })
  const ask = (path: string, asked: Asked = {}) => {
    const { body, key = KEY, headers = {}, signal } = asked
    const given = { host: HOST, ...(key === false ? {} : { authorization: `Bearer ${key}` }) }
    const isJson = body !== undefined && !(body instanceof ReadableStream) && typeof body !== 'string'
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const init = {
      method: asked.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...given, ...type, ...headers },
      ...(body === undefined
        ? {}
        : { body: isJson ? JSON.stringify(body) : (body as string), duplex: 'half' }),
      ...(signal ? { signal } : {}),
    }
    return inspector.handle(new Request(`http://${HOST}/${path}`, init as RequestInit))
  }
  return {
    inspector,
    ring,
    ask,
    /** The JSON of an answer, which must have this status. */
    async json(path: string, asked: Asked = {}, status = 200): Promise<Loose> {
      const response = await ask(path, asked)
      const text = await response.text()
      if (response.status !== status)
        throw new Error(`${response.status} instead of ${status}: ${text.slice(0, 500)}`)
      return JSON.parse(text)
    },
  }
}

export function record(sequence: number, more: object = {}): TraceRecord {
  const time = new Date(Date.parse('2026-01-01T00:00:00Z') + sequence * 1000).toISOString()
  return {
    version: 1,
    time,
    processId: 1,
    sequence,
    type: 'warning',
    message: `m${sequence}`,
    ...more,
  } as TraceRecord
}
