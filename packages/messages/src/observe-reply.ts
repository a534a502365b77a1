// What the gateway did with a request, for the log, the metrics and the events: observed while its reply is produced.
import type { TraceListener } from '@toolshelf/core'
import {
  billedTokens,
  type ConversationListener,
  type DescribedTools,
  describePool,
  type Figures,
  figuresOf,
  hasCacheMarks,
  nameOf,
  oncePerFrozen,
  type PriceTable,
  priceOf,
  readingOf,
  type Sampling,
  serverOfName,
  toJson,
  withoutToolSearch,
} from '@toolshelf/core/internal'
import { createChildSpan } from '@toolshelf/core/internal/node'
import { traceparentIn } from './conversations.ts'
import type { GatewayMode, RequestPlan } from './plan.ts'
import type { Job } from './rounds.ts'
import { withoutCarriedIds } from './shelve/carry.ts'
import type { Fields, Headers, MessagesRequest, Upstream, UpstreamWire } from './types.ts'
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

/** What the gateway did with a request, for the log and the metrics. */
export type RequestOutcome = {
  /** What was done with the request. */
  mode: GatewayMode
  /** How found tools reach the model. */
  wire: UpstreamWire | undefined
  /** Why this mode and this wire. */
  why: string
  /** How many tools the client sent. */
  toolsGiven: number
  /** How many of them the model saw. */
  toolsVisible: number
  /** Names of the tools that searches loaded. */
  loaded: string[]
  /** How many searches ran. */
  searches: number
  /** Samplings that the upstream accepted. */
  rounds: number
  /** Receives the events of the request's conversation; undefined if nobody listens. */
  trace?: ConversationListener | undefined
  /** The id of the pool of tools that the events describe. */
  pool?: string | undefined
  /** Savings so far; undefined if nothing is deferred or the upstream has not accepted a sampling yet. */
  figures: () => Figures | undefined
}

/** Returns the outcome of a planned request before anything was sent. */
export function newOutcome(
  { mode, wire, why }: RequestPlan,
  { tools = [] }: Pick<MessagesRequest, 'tools'>,
): RequestOutcome {
  const nothing = { searches: 0, rounds: 0, figures: () => undefined }
  const toolsVisible = tools.length
  return { mode, wire, why, toolsGiven: tools.length, toolsVisible, ...nothing, loaded: [] }
}

/** The pool that each conversation last reported. */
const reported = new WeakMap<TraceListener, string>()

/** Reports the tools if they have changed, deferred ones as the client marked them. Returns the id of the pool. */
export function reportTools(trace: TraceListener, tools: readonly Fields[]): string {
  const { id, events } = describePool(splitTools(tools))
  if (reported.get(trace) !== id) for (const event of events) trace(event)
  reported.set(trace, id)
  return id
}

/** Lists that were sent before are the same frozen objects. */
const splitTools = oncePerFrozen((tools: readonly Fields[]): DescribedTools => {
  const described = tools.map((tool) => {
    const name = nameOf(tool)
    return { name, server: serverOfName(name), json: toJson(tool), isDeferred: tool.defer_loading === true }
  })
  return {
    immediate: described.filter(({ isDeferred }) => !isDeferred),
    deferred: described.filter(({ isDeferred }) => isDeferred),
  }
})
