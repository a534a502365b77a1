// Observes one reply while it is produced: what was sent and saved, for the outcome, and its samplings, for the events.
import {
  billedTokens,
  type Figures,
  figuresOf,
  hasCacheMarks,
  type PriceTable,
  priceOf,
  readingOf,
  type Sampling,
  withoutToolSearch,
} from '@toolshelf/core/internal'
import { createChildSpan } from '@toolshelf/core/internal/node'
import type { RequestOutcome } from './request-outcome.ts'
import type { Job } from './rounds.ts'
import { withoutCarriedIds } from './shelve/traces.ts'
import { traceparentIn } from './traced-conversations.ts'
import type { Fields, Headers, MessagesRequest, Upstream } from './types.ts'
import { withEverythingLoaded } from './wire/lower.ts'

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

/** Creates a meter. It counts immediately, so that no request stays in memory until its reply ends. */
function createMeter(request: MessagesRequest, prices: PriceTable | undefined) {
  const { tools: definitions = [] } = withEverythingLoaded(request)
  const charactersWithout = readingOf(withoutToolSearch(request, { definitions })).characters
  const measured = {
    charactersWithout,
    hasCacheMarks: hasCacheMarks(request),
    isContinued: request.messages.some(({ role }) => role === 'assistant'),
    price: priceOf(request.model, prices),
  }
  const samplings: { characters: number; usage: Fields }[] = []
  let characters = 0
  let isNew = false
  let known: Figures | undefined
  return {
    sent(sent: MessagesRequest) {
      known = undefined
      characters = readingOf(sent).characters
      isNew = true
    },
    /** Records the usage that the upstream has reported for the reply; refused requests report none. */
    reported(usage: Fields) {
      known = undefined
      if (isNew) samplings.push({ characters, usage: {} })
      isNew = false
      const last = samplings.at(-1)
      if (last) last.usage = { ...last.usage, ...counted(usage) }
    },
    /** Undefined until the upstream has accepted a request. */
    figures() {
      const billed = ({ characters, usage }: (typeof samplings)[number]): Sampling => ({
        characters,
        billed: billedTokens(usage),
      })
      known ??= figuresOf({ ...measured, samplings: samplings.map(billed) })
      return known
    },
  }
}

/** Drops null counts, which some upstreams send in later events. */
function counted(usage: Fields): Fields {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}
