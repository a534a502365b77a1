// Observes one reply while it is produced: what was sent and saved, for the outcome, and its samplings, for the events.
import { type PriceTable, readingOf } from '@toolshelf/core/internal'
import { createChildSpan } from '@toolshelf/core/internal/node'
import { createMeter } from './meter.ts'
import type { RequestOutcome } from './request-outcome.ts'
import type { Job } from './rounds.ts'
import { withoutCarriedIds } from './shelve/traces.ts'
import { traceparentIn } from './traced-conversations.ts'
import type { Fields, Headers, MessagesRequest, Upstream } from './types.ts'

type ObserveOptions = {
  readonly upstream: Upstream
  readonly prices: PriceTable | undefined
  /** The client's, which may name the span that the request belongs to. */
  readonly headers: Headers
  readonly tokens?: UsageListener | undefined
}

export type UsageListener = {
  /** Another sampling of the reply begins. */
  sampling(): void
  /** Records the usage that the upstream reports for this sampling. */
  reported(usage: Fields): void
}

/** Returns the listeners of a reply. They write to its outcome and to the outcome's trace. */
export function observeReply(
  request: MessagesRequest,
  outcome: RequestOutcome,
  { upstream, prices, headers, tokens }: ObserveOptions,
): Pick<Job, 'onRound' | 'onUsage' | 'onSampled' | 'newSpan'> {
  const meter = outcome.mode === 'off' ? undefined : createMeter(withoutCarriedIds(request), prices)
  if (meter) outcome.figures = meter.figures
  const { trace } = outcome
  const traceId = trace?.traceId
  return {
    onRound(contract, sent, isAccepted) {
      if (outcome.rounds === 0) outcome.toolsVisible = readingOf(contract).visibleTools
      if (!isAccepted) return
      outcome.rounds++
      meter?.sent(sent)
      tokens?.sampling()
    },
    onUsage(usage) {
      meter?.reported(usage)
      tokens?.reported(usage)
    },
    onSampled:
      trace && ((end) => trace({ type: 'sampled', model: request.model, api: upstream.api, ...end })),
    newSpan: traceId === undefined ? undefined : () => createChildSpan(traceId, traceparentIn(headers)),
  }
}
