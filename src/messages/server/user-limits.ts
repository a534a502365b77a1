// Holds users to their limits: of requests in advance, of tokens by what their replies report.
import type { IncomingMessage } from 'node:http'
import type { TraceListener } from '../../core/index.ts'
import type { AccessRefusal, BegunUse, UsageMeter, User } from '../../users/index.ts'
import type { RequestContext } from './request-context.ts'
import { createTokenCount, type TokenCount, tokensOfBytes } from './token-count.ts'
import { refuseUser } from './user-guard.ts'

/** Options of `withinLimits`. */
export type UserLimitsOptions = {
  readonly usage?: UsageMeter | undefined
  readonly trace?: TraceListener | undefined
}

/** Requests for a reply of a model. */
const SAMPLING = new Set(['/v1/messages', '/v1/chat/completions', '/v1/responses'])
/** Tokens that a reply is expected to have while it is being written. */
const EXPECTED_OUTPUT = 1000

/** Answers a request of a user who is within their limits; counts what the reply used afterwards. */
export async function withinLimits(
  user: User,
  context: RequestContext,
  { usage, trace }: UserLimitsOptions,
  answer: () => Promise<void>,
): Promise<void> {
  if (!usage) return answer()
  const begun = await begin(user, context, usage)
  if ('status' in begun) {
    const { status, message } = begun
    trace?.({ type: 'refused', user: user.id, reason: status === 503 ? 'store' : 'limit', status, message })
    throw refuseUser(begun)
  }
  const tokens = createTokenCount()
  if (begun.tokens) context.tokens = tokens
  try {
    await answer()
  } finally {
    await begun.searches?.settle(context.outcome?.searches ?? 0)
    await begun.tokens?.settle(tokensOf(context, tokens))
  }
}

/** Use of a request whose amount is known at its end; undefined where the user has no limit of it. */
type BegunRequest = { readonly tokens?: BegunUse | undefined; readonly searches?: BegunUse | undefined }

async function begin(
  user: User,
  { incoming, path }: RequestContext,
  usage: UsageMeter,
): Promise<BegunRequest | AccessRefusal> {
  const { limits } = user.profile
  const isPost = incoming.method === 'POST' && !path.endsWith('/count_tokens')
  const hasTokens = isPost && (limits.tokensPerMinute ?? limits.tokensPerDay) !== undefined
  const hasSearches = isPost && (limits.searchesPerMinute ?? limits.searchesPerDay) !== undefined
  const refusal = await usage.take(user, 'requests')
  if (refusal) return refusal
  const expected = inputTokens(incoming) + EXPECTED_OUTPUT
  const tokens = hasTokens ? await usage.begin(user, 'tokens', expected) : undefined
  if (tokens && 'status' in tokens) return tokens
  const searches = hasSearches ? await usage.begin(user, 'searches', 1) : undefined
  if (!searches || !('status' in searches)) return { tokens, searches }
  await tokens?.settle(0)
  return searches
}

/** The tokens of an answered request; only requests for a reply are estimated where no usage is reported. */
function tokensOf({ outgoing, incoming, path, gone, outcome }: RequestContext, tokens: TokenCount): number {
  // The upstream may have read the request before its client left.
  if (!outgoing.headersSent) return gone.aborted && outcome && SAMPLING.has(path) ? inputTokens(incoming) : 0
  if (outgoing.statusCode >= 400) return 0
  return tokens.total(SAMPLING.has(path) ? sizeOf(incoming) : 0)
}

const inputTokens = (incoming: IncomingMessage) => tokensOfBytes(sizeOf(incoming))

const sizeOf = ({ headers }: IncomingMessage) => Number(headers['content-length'] ?? 0)
