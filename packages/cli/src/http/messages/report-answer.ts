// Reports an answered request as an event of its conversation.
import type { MessagesGateway } from '@toolshelf/messages'
import { conversationStart, type Headers, traceparentIn } from '@toolshelf/messages/internal'
import type { RequestContext } from './request-context.ts'

/**
 * Reports a request. Does nothing if nobody listens, or for requests that ask for no reply or were refused unread: strangers must not
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
  const figures = outcome?.figures()
  // Without spreads, which take longer than all the rest of this.
  trace({
    type: 'answered',
    status,
    milliseconds,
    model,
    mode: outcome?.mode ?? 'refused',
    wire: outcome?.wire,
    why: outcome?.why ?? 'invalid request',
    api: api.name,
    pool: outcome?.pool,
    toolsGiven: outcome?.toolsGiven ?? 0,
    toolsVisible: outcome?.toolsVisible ?? 0,
    searches: outcome?.searches ?? 0,
    loaded: outcome?.loaded ?? [],
    rounds: outcome?.rounds ?? 0,
    traceparent: traceparentIn(headers),
    error,
    tokensWithout: figures?.tokensWithout,
    tokensWith: figures?.tokensWith,
    dollarsWithout: figures?.dollarsWithout,
    dollarsWith: figures?.dollarsWith,
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
