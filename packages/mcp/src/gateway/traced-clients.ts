// Opens one conversation of events for each client of the gateway, and reports its list and its calls.
import { randomUUID } from 'node:crypto'
import type { TraceListener } from '@toolshelf/core'
import {
  type CallOutcome,
  type ClientIdentity,
  type ConversationListener,
  describePool,
  type OpenTrace,
  resultEvent,
  type ToolPartition,
  toolShare,
} from '@toolshelf/core/internal'
import { type ChildSpan, createChildSpan, traceIdOf } from '@toolshelf/core/internal/node'
import type { ListingMode } from '../greeting/greeting.ts'
import type { CallOptions, CallOutput } from '../types.ts'

/** Returns the listener for the events of the client that makes a call; undefined if nobody listens. */
export type TraceOfClient = (
  options: CallOptions,
  fallback: CallingClient,
) => ConversationListener | undefined

export type CallingClient = {
  readonly identity: () => ClientIdentity | undefined
  readonly userId?: string | undefined
}

/** Returns a function that opens the conversation of a client with its first call. */
export function createTracedClients(openTrace: OpenTrace | undefined): TraceOfClient {
  if (!openTrace) return () => undefined
  const known = new WeakMap<object, ConversationListener>()
  return (options, fallback) => {
    const client = options.questionHandler?.client ?? fallback
    let trace = known.get(client)
    if (!trace) {
      const { userId: user } = fallback
      trace = openTrace({ client: fallback.identity(), user, traceparent: traceparentOf(options) })
      known.set(client, trace)
    }
    return trace
  }
}

type ListedTools = {
  readonly mode: ListingMode
  readonly partition: ToolPartition
  /** Names that searches put on the list. */
  readonly loaded: readonly string[]
}

/** Returns a function that reports a client's list if it has changed since the last time. */
export function createListReport(): (trace: TraceListener, listed: ListedTools) => void {
  let last = ''
  return (trace, { mode, partition, loaded }) => {
    const { id: pool, events } = describePool(partition)
    const now = `${mode} ${pool} ${loaded.join()}`
    if (now === last) return
    last = now
    for (const event of events) trace(event)
    const immediate = partition.immediate.map(({ name }) => name)
    const names = [...immediate, ...loaded.filter((name) => partition.deferredNames.has(name))]
    trace({ type: 'listed', mode, pool, loaded, tools: toolShare(partition.pool, names) })
  }
}

function traceparentOf({ meta }: CallOptions): string | undefined {
  const given = meta?.traceparent
  return traceIdOf(given) === undefined ? undefined : String(given)
}

/** What is reported about a call to a server. */
type TracedCall = {
  readonly trace: ConversationListener | undefined
  readonly name: string
  readonly server?: string
  readonly input: unknown
  readonly options: CallOptions
}

/** Runs a call, and reports its start and its end. The server gets the call's own span as its parent, if it has one. */
export async function runTraced<Output extends CallOutput>(
  { trace, name, server, input, options }: TracedCall,
  run: (options: CallOptions) => Promise<Output>,
): Promise<Output> {
  if (!trace) return run(options)
  const span =
    trace.traceId === undefined ? undefined : createChildSpan(trace.traceId, traceparentOf(options))
  const id = span?.spanId ?? randomUUID()
  const subject = { id, name, server }
  const started = performance.now()
  const end = (outcome: CallOutcome, content: unknown) =>
    trace(resultEvent(subject, outcome, content, performance.now() - started))
  trace({ type: 'call', id, name, server, traceparent: traceparentOf(options), content: input })
  try {
    const output = await run(span ? withParent(options, span) : options)
    end(output.isError === true ? 'failed' : 'done', output.structuredContent ?? output.content)
    return output
  } catch (error) {
    end(options.signal?.aborted ? 'stopped' : 'failed', (error as Error).message)
    throw error
  }
}

function withParent(options: CallOptions, { traceparent }: ChildSpan): CallOptions {
  // Drops `tracestate`, which belongs to the replaced parent.
  const { tracestate, ...meta } = options.meta ?? {}
  const state = traceparentOf(options) === undefined || tracestate === undefined ? {} : { tracestate }
  return { ...options, meta: { ...meta, ...state, traceparent } }
}

/** Reports a call that was not run. */
export function reportRefused(
  trace: TraceListener | undefined,
  refused: { readonly name: string; readonly reason?: 'rights' | 'limit' | undefined },
  output: CallOutput,
): CallOutput {
  trace?.(resultEvent({ id: randomUUID(), ...refused }, 'refused', output.content))
  return output
}
