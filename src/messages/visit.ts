// One request on its way through the server: what is known of it, and what is told of it at the end.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cut } from '../core/errors.ts'
import type { Deed } from './gateway.ts'
import type { Metrics } from './metrics.ts'
import type { Headers } from './types.ts'

/** One request on its way. */
export type Visit = {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Undefined where the client names none. */
  readonly address: URL | undefined
  readonly path: string
  readonly gone: AbortSignal
  model: string | undefined
  deed: Deed | undefined
  /** Why it failed, in the words that the client was told. */
  error: string | undefined
}

/** The model and the number of tools of a request that is passed on, at a glance: reading it would cost more than it does. */
export function glance(body: Buffer): { model: string | undefined; tools: number } {
  const start = body.toString('latin1', 0, GLANCE)
  const end = body.toString('latin1', Math.max(GLANCE, body.length - GLANCE))
  const model = MODEL.exec(start)?.[1] ?? MODEL.exec(end)?.[1]
  let tools = 0
  for (let at = body.indexOf(SCHEMA); at >= 0; at = body.indexOf(SCHEMA, at + SCHEMA.length)) tools++
  return { model, tools }
}

const GLANCE = 4096
const MODEL = /(?<!\\)"model"\s*:\s*"([\w.:@/[\]-]{1,200})"/
const SCHEMA = Buffer.from('"input_schema"')

/** What was done, for whoever looks at the answer's headers. */
export function ours({ mode, wire, why, toolsGiven, toolsVisible }: Deed): Headers {
  return {
    'x-toolshelf-mode': mode,
    'x-toolshelf-why': cut(why.replace(/[^\x20-\x7e]/g, '?'), 300).replace('…', '...'),
    ...(wire ? { 'x-toolshelf-wire': wire, 'x-toolshelf-tools': `${toolsVisible}/${toolsGiven}` } : {}),
  }
}

export function record(metrics: Metrics, { path, deed }: Visit, status: number, milliseconds: number): void {
  const mode = deed?.mode ?? 'none'
  const endpoint = ['/v1/messages', '/v1/messages/count_tokens', '/v1/models'].includes(path) ? path : 'other'
  metrics.add('toolshelf_requests_total', { endpoint, mode, status: String(status) })
  metrics.add('toolshelf_request_seconds_total', { endpoint, mode }, milliseconds / 1000)
  if (!deed) return
  metrics.add('toolshelf_searches_total', { mode }, deed.searches)
  metrics.add('toolshelf_rounds_total', { mode }, deed.rounds)
  metrics.add('toolshelf_tools_offered_total', { mode }, deed.toolsGiven)
  metrics.add('toolshelf_tools_visible_total', { mode }, deed.toolsVisible)
  metrics.add('toolshelf_tokens_saved_total', { mode }, Math.max(0, deed.tokensSaved))
}
