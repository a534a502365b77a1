// Holds users to their limits: of requests in advance, of tokens by what their replies report.
import type { TraceListener } from '../core/index.ts'
import type { UsageMeter, User } from '../users/index.ts'
import type { RequestContext } from './request-context.ts'
import { createTokenCount } from './token-count.ts'
import { refused } from './user-guard.ts'

export type UserLimitsOptions = {
  readonly usage?: UsageMeter | undefined
  readonly trace?: TraceListener | undefined
}

/** Requests for a reply of a model. */
const SAMPLING = new Set(['/v1/messages', '/v1/chat/completions', '/v1/responses'])

/** Answers a request of a user, unless they have used what they may; counts what the reply used afterwards. */
export async function withinLimits(
  user: User,
  context: RequestContext,
  { usage, trace }: UserLimitsOptions,
  answer: () => Promise<void>,
): Promise<void> {
  if (!usage) return answer()
  const { limits } = user.profile
  const isPost = context.incoming.method === 'POST' && !context.path.endsWith('/count_tokens')
  const hasTokens = isPost && (limits.tokensPerMinute ?? limits.tokensPerDay) !== undefined
  const hasSearches = isPost && (limits.searchesPerMinute ?? limits.searchesPerDay) !== undefined
  const refusal =
    (await usage.take(user, 'requests')) ??
    (hasTokens ? await usage.check(user, 'tokens') : undefined) ??
    (hasSearches ? await usage.check(user, 'searches') : undefined)
  if (refusal) {
    const { status, message } = refusal
    trace?.({ type: 'refused', user: user.id, reason: status === 503 ? 'store' : 'limit', status, message })
    throw refused(refusal)
  }
  if (hasTokens) context.tokens = createTokenCount()
  try {
    await answer()
  } finally {
    const searches = context.outcome?.searches ?? 0
    if (hasSearches && searches > 0) await usage.add(user, 'searches', searches)
    const total = tokensOf(context)
    if (total > 0) await usage.add(user, 'tokens', total)
  }
}

/** The tokens of an answered request; only requests for a reply are estimated where no usage is reported. */
function tokensOf({ tokens, outgoing, incoming, path }: RequestContext): number {
  if (!tokens || !outgoing.headersSent || outgoing.statusCode >= 400) return 0
  return tokens.total(SAMPLING.has(path) ? Number(incoming.headers['content-length'] ?? 0) : 0)
}
