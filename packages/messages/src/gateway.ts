// THE MAIN PATH of the Messages gateway, in numbered steps: takes a client's request and returns a reply.
// Implements wire 29, 37.
import { type Rank, rankers as rankersByName } from '@toolshelf/core'
import {
  CHARACTERS_PER_TOKEN,
  countTokens,
  describePool,
  type OpenTrace,
  type PriceTable,
  readingOf,
  readPrices,
  textOf,
} from '@toolshelf/core/internal'
import {
  type ClientWork,
  createClientWork,
  type Slice,
  startTimer,
  yieldIfOver,
} from '@toolshelf/core/internal/node'
import { createConversations, createTracedConversations } from './conversations.ts'
import { type HostedRankers, startHosted } from './hosted/hosted-search.ts'
import type { InboundRequest } from './inbound/types.ts'
import {
  newOutcome,
  observeReply,
  type RequestOutcome,
  reportTools,
  type UsageListener,
} from './observe-reply.ts'
import {
  asksForShelving,
  type ModeSetting,
  type PlanFacts,
  planRequest,
  type RequestPlan,
  type ShelvingFacts,
  usesDeferral,
  whyNotShelved,
  wireFor,
} from './plan.ts'
import { refuseInexpressible, refuseInvalid, refuseThreads, refuseUnconvertible } from './refusals.ts'
import { createHiddenThoughts, createReplyMemory } from './reply-memory.ts'
import { converse } from './rounds.ts'
import { countUpstream, type Target, type Wait } from './sampling.ts'
import { hasTraces, withoutCarriedIds } from './shelve/carry.ts'
import { createClientShelves } from './shelve/client-shelf.ts'
import { startHidden } from './shelve/hidden-search.ts'
import { lift, type RequestShelf, restoreContextFor } from './shelve/lift.ts'
import { createLongResults } from './shelve/long-results.ts'
import { createSearchMemory } from './shelve/memory.ts'
import { isBound, isRestored, withBindingBeta, withDroppedThinking } from './shelve/restore.ts'
import type {
  ApiName,
  HttpAnswer,
  MessagesRequest,
  SamplingOutcome,
  Upstream,
  UpstreamCall,
  UpstreamWire,
} from './types.ts'
import { withoutSearchBetas } from './upstream/messages.ts'
import { asksForThinking } from './upstream/thoughts.ts'
import { withEverythingLoaded } from './wire/lower.ts'

/** Options of `createMessagesGateway`. */
export type MessagesGatewayOptions = {
  /** The API that has the model. */
  readonly upstream: Upstream
  /** Rankers for the API's two hosted searches and for ToolSearch; defaults to the library's best. */
  readonly rankers?: HostedRankers & { readonly own: Rank }
  /** Name patterns of tools that are never deferred. */
  readonly keep?: readonly string[]
  /** Context window in tokens, for models that the capability table does not know. */
  readonly contextWindow?: number | undefined
  /** Characters up to which tool results stay whole where tools are shelved; the model reads longer ones. Default: all. */
  readonly resultBudget?: number | undefined
  /** Replaces the built-in price table. */
  readonly prices?: PriceTable | undefined
  /** Starts a conversation of events and returns their listener; without it none are built. */
  readonly openTrace?: OpenTrace | undefined
  /** Reports to the operator. */
  readonly notify?: (message: string) => void
  /** Waits before a retry; defaults to a real timer. */
  readonly wait?: Wait
}

/** What the gateway needs to know about a request besides its body. */
export type ReplyOptions = {
  readonly setting: ModeSetting
  readonly call: UpstreamCall
  readonly owner: string
  /** The id of the user who sent it, for its events. */
  readonly user?: string | undefined
  /** Called before the first sampling, unless the request is forwarded unchanged. */
  readonly onDecided?: (outcome: RequestOutcome) => void
  /** Yields to other requests between steps that are slow for very large tool lists. */
  readonly slice?: Slice | undefined
  /** Counts the searches and reads that the reply causes, before they run; without it none are limited. */
  readonly work?: ClientWork | undefined
  /** Receives the usage that the upstream reports. */
  readonly tokens?: UsageListener | undefined
  /** What the client's own API says about the request; defaults to the Messages API. */
  readonly inbound?: InboundFacts | undefined
}

/** What the plan needs to know about a request that was converted from the client's API. */
type InboundFacts = Omit<InboundRequest, 'request' | 'terms' | 'reply'> & { readonly api: ApiName }

/** `sampled` is undefined if the caller must forward the request unchanged. */
type GatewayReply = { readonly outcome: RequestOutcome; readonly sampled: SamplingOutcome | undefined }

/** A planned request with everything needed to sample it. */
type Started = Awaited<ReturnType<typeof start>>

/** Answers requests of the Messages API with tool search; `serveMessagesGateway` puts it on HTTP. */
export type MessagesGateway = {
  /** The API that has the model. */
  readonly upstream: Upstream
  /** The option, for requests that the gateway does not read. */
  readonly openTrace?: OpenTrace | undefined
  /** Answers a request: the events of the reply, or an error response. */
  readonly reply: (request: MessagesRequest, options: ReplyOptions) => Promise<GatewayReply>
  /** Counts the tokens of a request as it would be sent; no answer if the caller must forward the request. */
  readonly count: (
    request: MessagesRequest,
    options: ReplyOptions,
  ) => Promise<{ outcome: RequestOutcome; answer: HttpAnswer | undefined }>
}

/**
 * Creates a gateway that speaks the Messages API with tool search in front of any upstream.
 *
 * @example
 * const upstream = createMessagesUpstream({ url: new URL('https://models.example.com') })
 * const gateway = createMessagesGateway({ upstream })
 */
export function createMessagesGateway(options: MessagesGatewayOptions): MessagesGateway {
  const parts = createParts(options)
  const { upstream, prices } = parts
  return {
    upstream,
    openTrace: options.openTrace,
    async reply(sent, given) {
      const { request, replyOptions } = withinAllowed(upstream, sent, given)
      const started = await start(parts, request, replyOptions)
      const { plan, outcome } = started
      if (plan.mode === 'pass') return { outcome, sampled: undefined }
      replyOptions.onDecided?.(outcome)
      // 4. Set up this reply's searches, hosted or hidden
      const searching = await startSearches(parts, started, replyOptions)
      await yieldIfOver(replyOptions.slice)
      // 5. Sample until the model has found the tools it needs
      const { call, tokens } = replyOptions
      const { headers } = call
      const observers = observeReply(started.request, outcome, { upstream, prices, headers, tokens })
      await yieldIfOver(replyOptions.slice)
      const target = targetFor(parts, plan, request, replyOptions)
      const sampled = await converse({ ...target, ...observers, searching })
      // 6. Keep what the client's API cannot express
      return { outcome, sampled: keepInexpressible(parts, sampled, request, replyOptions) }
    },

    async count(sent, given) {
      const { request, replyOptions } = withinAllowed(upstream, sent, given)
      const started = await start(parts, request, replyOptions)
      const { plan, outcome } = started
      if (plan.mode === 'pass') return { outcome, answer: undefined }
      const searching = await startSearches(parts, started, replyOptions)
      const whole = await searching.request()
      outcome.toolsVisible = readingOf(whole).visibleTools
      const answer = await countUpstream(whole, targetFor(parts, plan, request, replyOptions))
      return { outcome, answer: answer ?? estimated(whole) }
    },
  }
}

type Parts = ReturnType<typeof createParts>

/** What all requests of a gateway share. */
function createParts(options: MessagesGatewayOptions) {
  const { upstream, rankers = bestRankers, keep = [], contextWindow, notify = () => {}, wait } = options
  return {
    upstream,
    rankers,
    wait,
    traceOf: createTracedConversations(options.openTrace),
    prices: options.prices && readPrices(options.prices),
    memory: createSearchMemory(),
    thoughts: createHiddenThoughts(),
    replies: createReplyMemory(),
    conversations: createConversations(),
    longResults: options.resultBudget ? createLongResults(options.resultBudget) : undefined,
    shelves: createClientShelves({ rank: rankers.own, keep, timer: startTimer, notify, contextWindow }),
  }
}

/**
 * Leaves out the tools that the client does not allow now, unless the upstream can be told so itself: then the list stays as
 * it is, and with it the cached prompt.
 */
function withinAllowed(upstream: Upstream, request: MessagesRequest, replyOptions: ReplyOptions) {
  const { call, inbound = MESSAGES, setting } = replyOptions
  const { barred } = call.terms ?? {}
  const { maxTools = Number.POSITIVE_INFINITY } = upstream.wireFor(request.model)
  const { tools = [] } = request
  const takesAllowed = upstream.api === 'responses' || upstream.api === inbound.api
  if (!barred || setting.mode === 'pass' || (takesAllowed && tools.length <= maxTools))
    return { request, replyOptions }
  const terms = call.terms && { ...call.terms, barred: undefined }
  return {
    request: { ...request, tools: tools.filter(({ name }) => !barred.has(textOf(name))) },
    replyOptions: { ...replyOptions, call: { ...call, terms }, inbound: { ...inbound, cannotPass: true } },
  }
}

/** Plans the request and builds its contract form: the client's own or a shelved one. */
async function start(parts: Parts, sent: MessagesRequest, replyOptions: ReplyOptions) {
  const { upstream, thoughts, replies, conversations } = parts
  const { owner, inbound = MESSAGES } = replyOptions
  const restored = inbound.api === 'chat' ? replies.restore(sent, owner) : sent
  await yieldIfOver(replyOptions.slice)
  // 1. Choose pass, emulate, shelve or off
  const { facts, requestShelf } = await gatherFacts(parts, restored, replyOptions)
  const plan = planRequest(facts)
  await yieldIfOver(replyOptions.slice)
  const outcome = newOutcome(plan, restored)
  if (inbound.optional && upstream.api !== inbound.api) outcome.why += `; without ${inbound.optional}`
  outcome.trace = parts.traceOf(sent, owner, replyOptions.call.headers, replyOptions.user)
  if (!leavesThreadsToUpstream(upstream, plan, restored, replyOptions.setting)) refuseThreads(restored)
  // 2. Refuse what the API itself would refuse, and what the upstream cannot express
  if (plan.mode === 'emulate') await refuseInvalid(restored, replyOptions.call)
  if (plan.mode !== 'pass') refuseInexpressible(restored, upstream, plan)
  /** With the thinking blocks that the gateway hid from the client. */
  const request = hidesThoughts(upstream, restored, replyOptions)
    ? thoughts.restore(restored, owner)
    : restored
  // 3. Put the client's tools on the shelf, once
  const onShelf = plan.mode === 'shelve' ? requestShelf : undefined
  if (outcome.trace)
    outcome.pool = onShelf
      ? describePool(onShelf.shelf.shelf.partition()).id
      : reportTools(outcome.trace, restored.tools ?? [])
  const shelved =
    onShelf &&
    (await lift(forWire(request, plan.wire), onShelf, {
      conversations,
      trace: outcome.trace,
      longResults: parts.longResults,
      slice: replyOptions.slice,
      barred: replyOptions.call.terms?.barred,
    }))
  await yieldIfOver(replyOptions.slice)
  const contract = plan.mode === 'off' ? withEverythingLoaded(withoutCarriedIds(request)) : request
  return { plan, outcome, request, contract, shelved }
}

/** Collects the facts for the plan and, if shelving is possible, the shelf to use. */
async function gatherFacts(
  { upstream, shelves, memory }: Parts,
  request: MessagesRequest,
  { setting, owner, slice, inbound = MESSAGES }: ReplyOptions,
): Promise<{ facts: PlanFacts; requestShelf?: RequestShelf }> {
  const { unconvertible, needsOwnApi, hidesSearches = false } = inbound
  if (needsOwnApi !== undefined && upstream.api !== inbound.api)
    throw refuseUnconvertible(needsOwnApi, { api: inbound.api })
  const isDeferring = !hidesSearches && usesDeferral(request)
  const wire = wireFor(request, upstream.wireFor(request.model))
  const isReadable = (wire.wire === 'native' || !hasTraces(request)) && !inbound.cannotPass
  const isPassable = upstream.origin !== undefined && upstream.api === inbound.api && isReadable
  if (unconvertible !== undefined && !isPassable) throw refuseUnconvertible(unconvertible, inbound)
  const facts = { setting, wire, isDeferring, isPassable, unconvertible, hidesSearches }
  if (!asksForShelving(setting, isDeferring) && !hidesSearches)
    return { facts: { ...facts, shelving: undefined } }
  const shelf = whyNotShelved(request) ?? (await shelves.shelfFor(request.tools ?? [], slice))
  if (typeof shelf === 'string') return { facts: { ...facts, shelving: shelf } }
  const requestShelf = { shelf, restoring: restoreContextFor(shelf, request, memory, owner) }
  return { facts: { ...facts, shelving: shelvingFacts(request, facts, requestShelf) }, requestShelf }
}

/** Starts the searches of a reply: hidden from the client if its tools are on the shelf, else the API's own. */
function startSearches(
  { rankers, memory }: Parts,
  { contract, outcome, shelved }: Started,
  { owner, call, work = createClientWork({ client: owner }) }: ReplyOptions,
) {
  const onSearch = (names: readonly string[]) => {
    outcome.searches++
    outcome.loaded.push(...names)
    if (names.length > 0) outcome.trace?.({ type: 'loaded', names, by: 'search' })
  }
  const searches = { work, signal: call.signal, onSearch }
  if (!shelved) return startHosted(contract, { ...searches, rankers, trace: outcome.trace })
  return startHidden(contract, shelved, {
    ...searches,
    remember: (...found) => memory.remember(owner, ...found),
  })
}

function targetFor(
  { upstream, wait }: Parts,
  plan: RequestPlan,
  request: MessagesRequest,
  { call, owner, slice }: ReplyOptions,
): Target {
  const { wire = 'append', maxTools } = plan
  return { upstream, wire, maxTools, owner, call: callFor(upstream, plan, request, call), wait, slice }
}

/** Removes the tool-search betas for upstreams without tool search. */
function callFor(
  upstream: Upstream,
  { mode }: RequestPlan,
  request: MessagesRequest,
  call: UpstreamCall,
): UpstreamCall {
  const isNative = upstream.wireFor(request.model).wire === 'native'
  if (!isNative) return { ...call, headers: withoutSearchBetas(call.headers) }
  const dropsThinking = mode === 'shelve' && isBound(request)
  return dropsThinking ? { ...call, headers: withBindingBeta(call.headers) } : call
}

/** OpenAI-style models may think although the client did not ask to see it. */
function hidesThoughts(
  upstream: Upstream,
  request: MessagesRequest,
  { inbound = MESSAGES }: ReplyOptions,
): boolean {
  return inbound.api === 'messages' && upstream.api !== 'messages' && !asksForThinking(request)
}

/** Keeps what the client's API cannot express, so that the client need not send it back. */
function keepInexpressible(
  { upstream, replies, thoughts }: Parts,
  sampled: SamplingOutcome,
  request: MessagesRequest,
  replyOptions: ReplyOptions,
): SamplingOutcome {
  if ('refused' in sampled) return sampled
  const { owner, inbound = MESSAGES } = replyOptions
  if (inbound.api === 'chat') return { ...sampled, events: replies.remember(sampled.events, owner) }
  if (!hidesThoughts(upstream, request, replyOptions)) return sampled
  return { ...sampled, events: thoughts.hide(sampled.events, owner) }
}

/** The upstream handles threads itself in mode `pass`, or if it supports the current API. */
function leavesThreadsToUpstream(
  upstream: Upstream,
  { mode }: RequestPlan,
  { model }: MessagesRequest,
  setting: ModeSetting,
): boolean {
  return mode === 'pass' && (setting.mode === 'pass' || upstream.wireFor(model).wire === 'native')
}

function shelvingFacts(
  { model, messages, tools = [] }: MessagesRequest,
  { setting: { mode, share }, wire: { maxTools } }: Pick<PlanFacts, 'setting' | 'wire'>,
  { shelf, restoring }: RequestShelf,
): ShelvingFacts {
  const isAuto = mode === 'auto'
  return {
    deferrable: shelf.deferred.size,
    reachesShare: isAuto && shelf.reachesShare(model, share),
    isRestored: isAuto && isRestored(messages, restoring),
    exceeded: maxTools !== undefined && tools.length > maxTools ? maxTools : undefined,
  }
}

/** Asks an API that binds thinking to its prefix to drop thinking that restored searches invalidate. */
function forWire(request: MessagesRequest, wire: UpstreamWire | undefined): MessagesRequest {
  return wire === 'native' && isBound(request) ? withDroppedThinking(request) : request
}

const bestRankers = { own: rankersByName.hybrid, bm25: rankersByName.hybrid, regex: rankersByName.regex }

/** Returns a token estimate, marked as one by a header. */
function estimated(request: MessagesRequest): HttpAnswer {
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      'x-toolshelf-estimate': `characters / ${CHARACTERS_PER_TOKEN}`,
    },
    body: JSON.stringify({ input_tokens: countTokens(request) }),
  }
}

const MESSAGES: InboundFacts = { api: 'messages' }
