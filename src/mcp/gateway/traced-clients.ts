// Gives each client of the gateway one conversation of events, and reports its calls.
import { randomUUID } from 'node:crypto'
import { type CallOutcome, resultEvent, type TraceListener } from '../../core/index.ts'
import { traceIdOf } from '../../node/index.ts'
import type { CallOptions, CallOutput } from '../types.ts'

/** Starts a conversation; with a valid W3C `traceparent`, under its trace id. */
export type OpenTrace = (traceparent?: string) => TraceListener

/** Returns the listener for the events of the client that makes a call; undefined if nobody listens. */
export type TraceOfClient = (options: CallOptions, client: object) => TraceListener | undefined

/** Opens the conversation of a client with its first call. */
export function createTracedClients(openTrace: OpenTrace | undefined): TraceOfClient {
  if (!openTrace) return () => undefined
  const known = new WeakMap<object, TraceListener>()
  return (options, fallback) => {
    const client = options.asker?.client ?? fallback
    const trace = known.get(client) ?? openTrace(traceparentOf(options))
    known.set(client, trace)
    return trace
  }
}

/** The valid `traceparent` of a call's `_meta`. */
function traceparentOf({ meta }: CallOptions): string | undefined {
  const given = meta?.traceparent
  return traceIdOf(given) === undefined ? undefined : String(given)
}

/** What is reported about a call that a server runs. */
export type TracedCall = {
  readonly trace: TraceListener | undefined
  readonly name: string
  readonly server?: string
  readonly input: unknown
  readonly options: CallOptions
}

/** Runs a call, and reports its start and its end. */
export async function runTraced<Output extends CallOutput>(
  { trace, name, server, input, options }: TracedCall,
  run: () => Promise<Output>,
): Promise<Output> {
  if (!trace) return run()
  const subject = { id: randomUUID(), name, server }
  const started = performance.now()
  const end = (outcome: CallOutcome, content: unknown) =>
    trace(resultEvent(subject, outcome, content, performance.now() - started))
  trace({ type: 'call', ...subject, traceparent: traceparentOf(options), content: input })
  try {
    const output = await run()
    end(output.isError === true ? 'failed' : 'done', output.structuredContent ?? output.content)
    return output
  } catch (error) {
    end(options.signal?.aborted ? 'stopped' : 'failed', (error as Error).message)
    throw error
  }
}

/** Reports a call that was not run. */
export function reportRefused(
  trace: TraceListener | undefined,
  name: string,
  output: CallOutput,
): CallOutput {
  trace?.(resultEvent({ id: randomUUID(), name }, 'refused', output.content))
  return output
}
