// THE MAIN PATH of the Messages gateway: a client's request in, a reply out; one step a line.

import type { Figures } from '../core/figures/index.ts'
import { type PriceTable, readPrices } from '../core/figures/index.ts'
import { CHARACTERS_PER_TOKEN, type Rank } from '../core/index.ts'
import { countTokens, readingOf, validateRequest, withoutUnknown } from '../core/oracle/index.ts'
import { parseBetas } from '../lib/index.ts'
import { startTimer } from '../node/index.ts'
import { rankers as rankersByName } from '../rankers/index.ts'
import { usesDeferral } from './contract.ts'
import { refuseRequest } from './errors.ts'
import { createHiddenThoughts } from './hidden-thoughts.ts'
import type { HostedRankers } from './hosted/index.ts'
import { startHosted } from './hosted/index.ts'
import { createMeter } from './meter.ts'
import {
  asksForShelving,
  type GatewayMode,
  type PlanFacts,
  planRequest,
  type RequestPlan,
  type Setting,
  type ShelvingFacts,
  whyNotShelved,
  wireFor,
} from './plan.ts'
import { converse, type Job } from './rounds.ts'
import { countUpstream, type Target, type Wait } from './sampling.ts'
import { rest, type Slice } from './scheduler.ts'
import type { Searching } from './search-strategy.ts'
import {
  createClientShelves,
  createConversations,
  createSearchMemory,
  hasTraces,
  isBound,
  isRestored,
  type Liftable,
  lift,
  restoringFor,
  type Shelved,
  startHidden,
  withBindingBeta,
  withDroppedThinking,
  withoutCarriedIds,
} from './shelve/index.ts'
import type { HttpAnswer, MessagesRequest, Sampled, Upstream, UpstreamCall, UpstreamWire } from './types.ts'
import { asksForThinking, withoutSearchBetas } from './upstream/index.ts'
import { withEverythingLoaded } from './wire/index.ts'

export type MessagesGatewayOptions = {
  readonly upstream: Upstream
  /** For the API's two searches and for our own; the library's best if left out. */
  readonly rankers?: HostedRankers & { readonly own: Rank }
  /** Patterns of tools that are never shelved. */
  readonly keep?: readonly string[]
  /** Tokens of the models' window, where the upstream's models are not known. */
  readonly contextWindow?: number | undefined
  /** Prices in place of the table that comes with Toolshelf. */
  readonly prices?: PriceTable | undefined
  readonly notify?: (message: string) => void
  /** Waits before a sampling is tried again; a clock unless given. */
  readonly wait?: Wait
}

/** What was done with a request, for the log and the metrics. */
export type RequestOutcome = {
  mode: GatewayMode
  wire: UpstreamWire | undefined
  why: string
  toolsGiven: number
  toolsVisible: number
  loaded: string[]
  searches: number
  /** Samplings that the upstream accepted. */
  rounds: number
  /** What was saved so far; undefined where nothing is deferred, and until the upstream has accepted a sampling. */
  figures: () => Figures | undefined
}

export type ReplyOptions = {
  readonly setting: Setting
  readonly call: UpstreamCall
  readonly owner: string
  /** Called before the first sampling, unless the request is to be forwarded as it came. */
  readonly onDecided?: (outcome: RequestOutcome) => void
  /** Shares the event loop with other requests, between steps that take long for very many tools. */
  readonly slice?: Slice | undefined
}

/** A reply, or undefined where the request is to be forwarded as it came. */
export type GatewayReply = { readonly outcome: RequestOutcome; readonly sampled: Sampled | undefined }

/** A request that was decided on, as it is worked with. */
type Started = {
  readonly plan: RequestPlan
  readonly outcome: RequestOutcome
  /** The client's, with what its client never saw of the model's thoughts. */
  readonly request: MessagesRequest
  readonly contract: MessagesRequest
  readonly shelved: Shelved | undefined
}

export type MessagesGateway = {
  readonly upstream: Upstream
  readonly reply: (request: MessagesRequest, options: ReplyOptions) => Promise<GatewayReply>
  readonly count: (
    request: MessagesRequest,
    options: ReplyOptions,
  ) => Promise<{ outcome: RequestOutcome; answer: HttpAnswer | undefined }>
}

export function createMessagesGateway(options: MessagesGatewayOptions): MessagesGateway {
  const { upstream, rankers = bestRankers, keep = [], contextWindow, notify = () => {} } = options
  const prices = options.prices && readPrices(options.prices)
  const memory = createSearchMemory()
  const thoughts = createHiddenThoughts()
  const conversations = createConversations()
  const shelves = createClientShelves({ rank: rankers.own, keep, timer: startTimer, notify, contextWindow })

  /** What the decision depends on; with it the shelf, where one would be used. */
  async function gatherFacts(
    request: MessagesRequest,
    replyOptions: ReplyOptions,
  ): Promise<{ facts: PlanFacts; liftable?: Liftable }> {
    const { setting, owner, slice } = replyOptions
    const isDeferring = usesDeferral(request)
    const wire = wireFor(request, upstream.wireFor(request.model))
    const isReadable = wire.wire === 'native' || !hasTraces(request)
    const facts = { setting, wire, isDeferring, isPassable: upstream.origin !== undefined && isReadable }
    if (!asksForShelving(setting, isDeferring)) return { facts: { ...facts, shelving: undefined } }
    const shelf = whyNotShelved(request) ?? (await shelves.shelfFor(request.tools ?? [], slice))
    if (typeof shelf === 'string') return { facts: { ...facts, shelving: shelf } }
    const liftable = { shelf, restoring: restoringFor(shelf, request, memory, owner) }
    return { facts: { ...facts, shelving: shelvingFacts(request, facts, liftable) }, liftable }
  }

  /** Where the upstream speaks another language, its models may think although nobody asked to see it. */
  function hidesThoughts(request: MessagesRequest): boolean {
    return upstream.origin === undefined && !asksForThinking(request)
  }

  /** Decides, and makes the request of the contract: the client's own, or one made for it. */
  async function start(given: MessagesRequest, replyOptions: ReplyOptions): Promise<Started> {
    // 1. Pass, emulate, shelve or off, and why
    const { facts, liftable } = await gatherFacts(given, replyOptions)
    const plan = planRequest(facts)
    await rest(replyOptions.slice)
    const outcome = newOutcome(plan, given)
    if (!leavesThreadsToUpstream(plan, given, replyOptions.setting)) refuseThreads(given)
    // 2. What the API itself would refuse
    if (plan.mode === 'emulate') refuseInvalid(given, replyOptions.call)
    const request = hidesThoughts(given) ? thoughts.restore(given, replyOptions.owner) : given
    // 3. The client's tools on the shelf, once
    const isShelved = plan.mode === 'shelve' && liftable !== undefined
    const shelved = isShelved ? await lift(forWire(request, plan.wire), liftable, conversations) : undefined
    await rest(replyOptions.slice)
    const contract = plan.mode === 'off' ? withEverythingLoaded(withoutCarriedIds(request)) : request
    return { plan, outcome, request, contract, shelved }
  }

  function searchingFor({ contract, outcome, shelved }: Started, owner: string) {
    const onSearch = (names: readonly string[]) => {
      outcome.searches++
      outcome.loaded.push(...names)
    }
    if (!shelved) return startHosted(contract, rankers, onSearch)
    const remember: Parameters<typeof startHidden>[3] = (messages, searches) =>
      memory.remember(owner, messages, searches)
    return startHidden(contract, shelved, onSearch, remember)
  }

  /** Threads are the upstream's business where it is asked as it is, or known to speak today's API. */
  function leavesThreadsToUpstream(
    { mode }: RequestPlan,
    { model }: MessagesRequest,
    setting: Setting,
  ): boolean {
    return mode === 'pass' && (setting.mode === 'pass' || upstream.wireFor(model).wire === 'native')
  }

  function targetFor(plan: RequestPlan, request: MessagesRequest, { call, owner }: ReplyOptions): Target {
    const { wire = 'append', mostTools } = plan
    return { upstream, wire, mostTools, owner, call: callFor(plan, request, call), wait: options.wait }
  }

  /** Betas of tool search stay here, unless the upstream knows it. */
  function callFor({ mode }: RequestPlan, request: MessagesRequest, call: UpstreamCall): UpstreamCall {
    const isNative = upstream.wireFor(request.model).wire === 'native'
    if (!isNative) return { ...call, headers: withoutSearchBetas(call.headers) }
    const isLoose = mode === 'shelve' && isBound(request)
    return isLoose ? { ...call, headers: withBindingBeta(call.headers) } : call
  }

  return {
    upstream,
    async reply(request, replyOptions) {
      const started = await start(request, replyOptions)
      const { plan, outcome } = started
      if (plan.mode === 'pass') return { outcome, sampled: undefined }
      replyOptions.onDecided?.(outcome)
      // 4. The searches of this reply, shown or hidden
      const searching: Searching = await searchingFor(started, replyOptions.owner)
      // 5. Samplings until the model has what it needs
      const measured = withoutCarriedIds(started.request)
      const meter = plan.mode === 'off' ? undefined : createMeter(measured, prices)
      if (meter) outcome.figures = meter.figures
      await rest(replyOptions.slice)
      const onRound: Job['onRound'] = (round, sent, isAccepted) => {
        if (outcome.rounds === 0) outcome.toolsVisible = readingOf(round).visibleTools
        if (!isAccepted) return
        outcome.rounds++
        meter?.sent(sent)
      }
      const target = targetFor(plan, request, replyOptions)
      const sampled = await converse({ ...target, searching, onRound, onUsage: meter?.reported })
      if ('refused' in sampled || !hidesThoughts(request)) return { outcome, sampled }
      return { outcome, sampled: { ...sampled, events: thoughts.hide(sampled.events, replyOptions.owner) } }
    },

    async count(request, replyOptions) {
      const started = await start(request, replyOptions)
      const { plan, outcome } = started
      if (plan.mode === 'pass') return { outcome, answer: undefined }
      const searching = await searchingFor(started, replyOptions.owner)
      const whole = await searching.request()
      outcome.toolsVisible = readingOf(whole).visibleTools
      const answer = await countUpstream(whole, targetFor(plan, request, replyOptions))
      return { outcome, answer: answer ?? estimated(whole) }
    },
  }
}

function shelvingFacts(
  { model, messages, tools = [] }: MessagesRequest,
  { setting: { mode, share }, wire: { mostTools } }: Pick<PlanFacts, 'setting' | 'wire'>,
  { shelf, restoring }: Liftable,
): ShelvingFacts {
  const isAuto = mode === 'auto'
  return {
    deferrable: shelf.deferred.size,
    reachesShare: isAuto && shelf.reachesShare(model, share),
    isRestored: isAuto && isRestored(messages, restoring),
    exceeded: mostTools !== undefined && tools.length > mostTools ? mostTools : undefined,
  }
}

/** Where the API binds thinking to what came before it, it is asked to drop what searches have changed. */
function forWire(request: MessagesRequest, wire: UpstreamWire | undefined): MessagesRequest {
  return wire === 'native' && isBound(request) ? withDroppedThinking(request) : request
}

const bestRankers = { own: rankersByName.model, bm25: rankersByName.hybrid, regex: rankersByName.regex }

export function newOutcome(
  { mode, wire, why }: RequestPlan,
  { tools = [] }: Pick<MessagesRequest, 'tools'>,
): RequestOutcome {
  const nothing = { toolsVisible: tools.length, searches: 0, rounds: 0, figures: () => undefined }
  return { mode, wire, why, toolsGiven: tools.length, ...nothing, loaded: [] }
}

/** Says that it is an estimate, and how it was made. */
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

function refuseThreads({ thread }: MessagesRequest): void {
  if (thread === undefined || thread === null) return
  const message = 'thread: this gateway keeps no threads. Send the whole conversation.'
  throw refuseRequest(400, 'invalid_request_error', message, 'thread_unsupported_request')
}

function refuseInvalid(request: MessagesRequest, { headers }: UpstreamCall): void {
  const betas = parseBetas(headers['anthropic-beta'])
  const error = validateRequest(withoutUnknown(request), { betas, lenient: true })
  if (!error) return
  const { message, details } = error.body.error
  throw refuseRequest(error.status, 'invalid_request_error', message, details?.error_code)
}
