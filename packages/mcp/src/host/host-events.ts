// Translates server notifications into host events, and delivers events to listeners and to the trace.
import type { TraceListener } from '@toolshelf/core'
import type { Fields } from '@toolshelf/core/internal'
import type { HostEvent, McpHost, ServerStatus } from '../types.ts'

/** Returns the event of a notification; undefined if listeners do not need it. */
export function eventOf(
  server: string,
  method: string,
  params: Fields,
  client: object | undefined,
): HostEvent | undefined {
  if (method === 'notifications/resources/list_changed') return { type: 'resources', server }
  if (method === 'notifications/prompts/list_changed') return { type: 'prompts', server }
  if (method === 'notifications/resources/updated')
    return { type: 'resource', server, uri: String(params.uri) }
  if (method === 'notifications/elicitation/complete')
    return { type: 'elicitation', server, id: String(params.elicitationId) }
  if (method !== 'notifications/message') return undefined
  const { level, logger, data } = params
  return {
    type: 'log',
    server,
    level: String(level ?? 'info'),
    logger: typeof logger === 'string' ? logger : undefined,
    data,
    client,
  }
}

type WaitOptions = {
  readonly signal: AbortSignal
  /** Milliseconds; no limit if undefined. */
  readonly timeoutMs: number | undefined
}

export type Listeners = ReturnType<typeof createListeners>

export function createListeners(notify: (message: string) => void) {
  const listeners = new Set<(event: HostEvent) => void>()
  return {
    /** Adds a listener; returns a function that removes it. */
    add(listener: (event: HostEvent) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    /** Calls every listener; reports those that throw. */
    emit(event: HostEvent) {
      for (const listener of listeners) {
        try {
          listener(event)
        } catch (error) {
          notify(`a listener failed: ${(error as Error).message}`)
        }
      }
    },
    /** Resolves when the condition no longer holds (checked at each event), when the signal aborts, or after the timeout. */
    async untilNot(condition: () => boolean, { signal, timeoutMs }: WaitOptions) {
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((resolve) => {
        const leave = () => {
          listeners.delete(look)
          signal.removeEventListener('abort', leave)
          resolve()
        }
        const look = () => {
          if (signal.aborted || !condition()) leave()
        }
        listeners.add(look)
        signal.addEventListener('abort', leave)
        if (timeoutMs !== undefined) timer = setTimeout(leave, timeoutMs)
        look()
      })
      clearTimeout(timer)
    },
    clear: () => listeners.clear(),
  }
}

/** Passes what happens to the host's servers to `trace` until the returned function is called. */
export function traceServers(host: McpHost, trace: TraceListener): () => void {
  const reported = new Map<string, string>()
  const report = (server: string, { state, reason, tools, startMilliseconds }: ServerStatus) => {
    const now = `${state} ${tools.length} ${reason ?? ''}`
    if (reported.get(server) === now) return
    reported.set(server, now)
    trace({ type: 'server', server, state, reason, tools: tools.length, startMilliseconds })
  }
  return host.listen((event) => {
    if (event.type === 'state' || event.type === 'tools') report(event.server, event.status)
    if (event.type === 'pins') trace(event)
    if (event.type !== 'servers') return
    const names = new Set(host.status().map(({ name }) => name))
    for (const name of reported.keys()) if (!names.has(name)) reported.delete(name)
  })
}
