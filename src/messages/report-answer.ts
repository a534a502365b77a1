// Reports an answered request as an event of its conversation.
import type { MessagesGateway } from './gateway.ts'
import type { RequestContext } from './request-context.ts'
import { traceparentIn } from './traced-conversations.ts'

/**
 * Does nothing if nobody listens, and for requests that are not for a reply or were refused unread: strangers must not
 * be able to fill a log.
 */
export function reportAnswer(
  { openTrace }: MessagesGateway,
  { incoming, model, outcome, error }: RequestContext,
  status: number,
  milliseconds: number,
): void {
  if (!openTrace || (outcome === undefined && model === undefined)) return
  const { traceparent: given } = incoming.headers
  const traceparent = traceparentIn(typeof given === 'string' ? { traceparent: given } : {})
  const trace = outcome?.trace ?? openTrace(traceparent)
  const { mode = 'refused', wire, why = 'invalid request' } = outcome ?? {}
  const { toolsGiven = 0, toolsVisible = 0, searches = 0, rounds = 0 } = outcome ?? {}
  const figures = outcome?.figures()
  trace({
    ...{ type: 'answered', status, milliseconds, model, mode, wire, why },
    ...{ toolsGiven, toolsVisible, searches, rounds, traceparent, error },
    ...(figures ? { tokensWithout: figures.tokensWithout, tokensWith: figures.tokensWith } : {}),
  })
}
