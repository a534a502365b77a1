// Builds the event of a call that has ended.
import { jsonLength } from '../../lib/index.ts'
import type { Trace } from '../trace.ts'

/** The call that an event is about. */
export type CallSubject = {
  readonly id: string
  readonly name: string
  readonly server?: string | undefined
  /** Why it was refused, if the user's rights or limits are the reason. */
  readonly reason?: 'rights' | 'limit' | undefined
}

/** How a call ended. */
export type CallOutcome = Extract<Trace, { type: 'result' }>['outcome']

/** Builds the event of a call that has ended with this content. */
export function resultEvent(
  subject: CallSubject,
  outcome: CallOutcome,
  content: unknown,
  milliseconds?: number,
): Trace {
  const { id, name, server, reason } = subject
  return {
    type: 'result',
    id,
    name,
    server,
    outcome,
    reason,
    size: jsonLength(content),
    milliseconds: milliseconds === undefined ? undefined : Math.round(milliseconds * 1000) / 1000,
    content,
  }
}
