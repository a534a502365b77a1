// A client that talks to the offline model: it runs calls, answers searches, and sends everything back.

import type { Fields } from '../../packages/core/src/lib/json.ts'
import { createCollector } from '../../packages/core/src/reply.ts'
import type { Headers, MessagesRequest, StreamEvent, Upstream } from '../../packages/messages/src/types.ts'
import {
  createScriptUpstream,
  type ObservedRequest,
  type ScriptUpstreamOptions,
} from '../../packages/messages/src/upstream/script.ts'
import { readScript } from '../../packages/messages/src/upstream/script-file.ts'
import { reference, result } from '../oracle/requests.ts'

export const call = (headers: Headers = {}) => ({ headers, signal: new AbortController().signal })

export function play(script: object, options: Omit<ScriptUpstreamOptions, 'script'> = {}): Upstream {
  return createScriptUpstream({ script: readScript(script), ...options })
}

/** A script of one rule that always fits. */
export const always = (...steps: object[]) => ({ rules: [{ do: steps }] })

export const ask = (content: unknown, tools: readonly Fields[] = []): MessagesRequest => ({
  model: 'any',
  messages: [{ role: 'user', content }],
  tools,
})

export async function eventsFrom(upstream: Upstream, request: MessagesRequest): Promise<StreamEvent[]> {
  const sampled = await upstream.sample(request, call())
  if ('refused' in sampled) throw new Error(sampled.refused.body)
  const events: StreamEvent[] = []
  for await (const event of sampled.events) events.push(event)
  return events
}

export async function messageFrom(upstream: Upstream, request: MessagesRequest): Promise<Fields> {
  const collector = createCollector()
  for (const event of await eventsFrom(upstream, request)) collector.add(event)
  return collector.message()
}

/** What one reply says and calls, in a line for each block. */
export function lines(content: unknown): string[] {
  return (content as Fields[]).map((block) => {
    if (block.type === 'text') return String(block.text)
    if (block.type === 'thinking') return `(${block.thinking})`
    return `${block.name} ${JSON.stringify(block.input)}`
  })
}

/** The content of a result for a call. */
export type Run = (name: string, input: Fields) => unknown

/** References to these tools, whatever is searched for. */
export const finding =
  (...names: string[]): Run =>
  (name) =>
    /search/i.test(name)
      ? names.length > 0
        ? names.map((tool) => reference(tool))
        : 'No match.'
      : `${name} ran`

const MAX_REPLIES = 30

/** Talks until the model is done; the lines of each reply. */
export async function talk(
  upstream: Upstream,
  start: MessagesRequest,
  run: Run = finding(),
): Promise<string[][]> {
  const replies: string[][] = []
  let request = start
  while (replies.length < MAX_REPLIES) {
    const { content, stop_reason } = await messageFrom(upstream, request)
    replies.push(lines(content))
    if (stop_reason !== 'tool_use') return replies
    request = answered(request, content as Fields[], run)
  }
  throw new Error('the model never ends its turn')
}

export function answered(request: MessagesRequest, content: readonly Fields[], run: Run): MessagesRequest {
  const calls = content.filter(({ type }) => type === 'tool_use')
  const results = calls.map(({ id, name, input }) => result(String(id), run(String(name), input as Fields)))
  const messages = [...request.messages, { role: 'assistant', content }, { role: 'user', content: results }]
  return { ...request, messages }
}

export function recorder(): { seen: ObservedRequest[]; onRequest: (seen: ObservedRequest) => void } {
  const seen: ObservedRequest[] = []
  return { seen, onRequest: (one) => seen.push(one) }
}
