// One request on its way through the server: what is known of it, and what is told of it at the end.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { cut } from '../core/errors.ts'
import { parseBody } from './body.ts'
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
  /** What was passed on and is still to be read for the record. */
  unread: Buffer | undefined
}

/** The model and the number of tools of what was passed on, if it says so. */
export function readLate(visit: Visit): void {
  const { unread, deed } = visit
  if (!unread || !deed) return
  visit.unread = undefined
  try {
    const { model, tools } = parseBody(unread)
    if (typeof model === 'string') visit.model = model
    if (Array.isArray(tools)) deed.toolsGiven = deed.toolsVisible = tools.length
  } catch {
    // The upstream has told the client what it thinks of it.
  }
}

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
  if (status < 400) metrics.add('toolshelf_tokens_saved_total', { mode }, deed.tokensSaved)
}
