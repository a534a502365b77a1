// Reports an answered request as an event of its conversation.
import type { MessagesGateway } from './gateway.ts'
import type { RequestContext } from './request-context.ts'
import { conversationStart, traceparentIn } from './traced-conversations.ts'
import type { Headers } from './types.ts'

/**
 * Does nothing if nobody listens, and for requests that are not for a reply or were refused unread: strangers must not
 * be able to fill a log.
 */
export function reportAnswer(
  { openTrace }: MessagesGateway,
  { incoming, api, model, outcome, error, user }: RequestContext,
  status: number,
  milliseconds: number,
): void {
  if (!openTrace || (outcome === undefined && model === undefined)) return
  const headers = headersOf(incoming)
  const trace = outcome?.trace ?? openTrace(conversationStart(headers, user))
  const { mode = 'refused', wire, why = 'invalid request' } = outcome ?? {}
  const { toolsGiven = 0, toolsVisible = 0, searches = 0, rounds = 0, loaded = [] } = outcome ?? {}
  const figures = outcome?.figures()
  trace({
    ...{ type: 'answered', status, milliseconds, model, mode, wire, why },
    ...{ api: api.name, pool: outcome?.pool, toolsGiven, toolsVisible, searches, loaded, rounds },
    ...{ traceparent: traceparentIn(headers), error },
    ...(figures ? { tokensWithout: figures.tokensWithout, tokensWith: figures.tokensWith } : {}),
    ...(figures ? { dollarsWithout: figures.dollarsWithout, dollarsWith: figures.dollarsWith } : {}),
  })
}

/** The headers that say something about a conversation. */
function headersOf({ headers }: RequestContext['incoming']): Headers {
  const { traceparent, 'user-agent': agent } = headers
  return {
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
    ...(agent === undefined ? {} : { 'user-agent': agent }),
  }
}
