// THE MAIN PATH of the Messages gateway: a client's request in, a reply out; one step a line.

import type { Rank } from '../core/index.ts'
import { validate } from '../core/oracle/index.ts'
import { withoutUnknown } from '../core/oracle/known.ts'
import { countTokens, visibleTools } from '../core/oracle/render.ts'
import { rankers as rankersByName } from '../rankers.ts'
import { startTimer } from '../timer.ts'
import { refuse } from './errors.ts'
import { startHosted } from './hosted/searching.ts'
import type { HostedRankers } from './hosted/tools.ts'
import { type Mode, type Plan, planFor, type Setting } from './plan.ts'
import { converse } from './rounds.ts'
import type { Searching } from './searching.ts'
import { createLift } from './shelve/lift.ts'
import { createMemory } from './shelve/memory.ts'
import { startHidden } from './shelve/searching.ts'
import { isBound, withBindingBeta } from './shelve/thinking.ts'
import type { Answer, Call, MessagesRequest, Sampled, Upstream, Wire } from './types.ts'
import { withoutSearchBetas } from './upstream/messages.ts'
import { lower, withEverythingLoaded } from './wire/lower.ts'

export type GatewayOptions = {
  readonly upstream: Upstream
  /** For the API's two searches and for our own; the library's best if left out. */
  readonly rankers?: HostedRankers & { readonly own: Rank }
  /** Patterns of tools that are never shelved. */
  readonly keep?: readonly string[]
  /** Tokens of the models' window, where the upstream's models are not known. */
  readonly contextWindow?: number | undefined
  readonly notify?: (message: string) => void
}

/** What was done with a request, for the log and the metrics. */
export type Deed = {
  mode: Mode
  wire: Wire | undefined
  why: string
  toolsGiven: number
  toolsVisible: number
  loaded: string[]
  searches: number
  rounds: number
  /** Below zero where searching costs more than the few definitions that it spares. */
  tokensSaved: number
  /** Counts what was saved. It takes longer than a client should wait, so it is called once the reply is over. */
  saving: () => number
}

export type Asked = { readonly setting: Setting; readonly call: Call; readonly owner: string }

/** A reply, or undefined where the request is to be forwarded as it came. */
export type Reply = { readonly deed: Deed; readonly sampled: Sampled | undefined }

export type Gateway = {
  readonly upstream: Upstream
  readonly reply: (request: MessagesRequest, asked: Asked) => Promise<Reply>
  readonly count: (
    request: MessagesRequest,
    asked: Asked,
  ) => Promise<{ deed: Deed; answer: Answer | undefined }>
}

export function createGateway(options: GatewayOptions): Gateway {
  const { upstream, rankers = bestRankers, keep = [], contextWindow, notify = () => {} } = options
  const memory = createMemory()
  const lift = createLift({ rank: rankers.own, keep, timer: startTimer, notify, contextWindow })

  async function start(request: MessagesRequest, { setting, call, owner }: Asked) {
    // 1. Pass, emulate, shelve or off, and why
    const plan = await planFor(request, { setting, upstream, lift, memory, owner })
    const deed = newDeed(plan, request)
    if (!isTheirs(plan, request, setting)) refuseThreads(request)
    if (plan.mode === 'pass') return { plan, deed, contract: request }
    // 2. What the API itself would refuse
    if (plan.mode === 'emulate') refuseInvalid(request, call)
    // 3. The request of the contract: the client's own, or one made for it
    const contract = plan.mode === 'off' ? withEverythingLoaded(request) : request
    return { plan, deed, contract }
  }

  function searchingFor(plan: Plan, contract: MessagesRequest, deed: Deed, owner: string) {
    const onSearch = (names: readonly string[]) => {
      deed.searches++
      deed.loaded.push(...names)
    }
    if (!plan.shelved) return startHosted(contract, rankers, onSearch)
    const remember: Parameters<typeof startHidden>[3] = (messages, searches) =>
      memory.remember(owner, messages, searches)
    return startHidden(contract, plan.shelved, onSearch, remember)
  }

  /** Threads are the upstream's business where it is asked as it is, or known to speak today's API. */
  function isTheirs({ mode }: Plan, { model }: MessagesRequest, setting: Setting): boolean {
    return mode === 'pass' && (setting.mode === 'pass' || upstream.wireFor(model).wire === 'native')
  }

  /** Betas of tool search stay here, unless the upstream knows it. */
  function callFor({ mode }: Plan, request: MessagesRequest, call: Call): Call {
    const isNative = upstream.wireFor(request.model).wire === 'native'
    if (!isNative) return { ...call, headers: withoutSearchBetas(call.headers) }
    const isLoose = mode === 'shelve' && isBound(request)
    return isLoose ? { ...call, headers: withBindingBeta(call.headers) } : call
  }

  return {
    upstream,
    async reply(request, asked) {
      const { plan, deed, contract } = await start(request, asked)
      if (plan.mode === 'pass') return { deed, sampled: undefined }
      // 4. The searches of this reply, shown or hidden
      const searching: Searching = await searchingFor(plan, contract, deed, asked.owner)
      // 5. Samplings until the model has what it needs
      const onRound = (round: MessagesRequest) => {
        if (deed.rounds++ === 0 && plan.mode !== 'off') measure(deed, request, round)
      }
      const wire = plan.wire ?? 'append'
      const call = callFor(plan, request, asked.call)
      const sampled = await converse({ upstream, wire, call, searching, onRound })
      return { deed, sampled }
    },

    async count(request, asked) {
      const { plan, deed, contract } = await start(request, asked)
      if (plan.mode === 'pass') return { deed, answer: undefined }
      const searching = await searchingFor(plan, contract, deed, asked.owner)
      const whole = await searching.request()
      measure(deed, request, whole)
      const { stream: _, max_tokens: __, ...counted } = lower(whole, plan.wire ?? 'append')
      const answer = await upstream.countTokens(
        counted as MessagesRequest,
        callFor(plan, request, asked.call),
      )
      return { deed, answer: answer ?? estimated(whole) }
    },
  }
}

const bestRankers = { own: rankersByName.model, bm25: rankersByName.hybrid, regex: rankersByName.regex }

export function newDeed({ mode, wire, why }: Plan, { tools = [] }: Pick<MessagesRequest, 'tools'>): Deed {
  const nothing = { toolsVisible: tools.length, searches: 0, rounds: 0, tokensSaved: 0, saving: () => 0 }
  return { mode, wire, why, toolsGiven: tools.length, ...nothing, loaded: [] }
}

/** Against a request that shows all its tools. */
function measure(deed: Deed, request: MessagesRequest, contract: MessagesRequest): void {
  deed.toolsVisible = visibleTools(contract).length
  deed.saving = () => {
    const tools = (request.tools ?? []).map(({ defer_loading: _, ...tool }) => tool)
    return countTokens({ ...request, tools }) - countTokens(contract)
  }
}

/** Says that it is an estimate, and how it was made. */
function estimated(request: MessagesRequest): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'x-toolshelf-estimate': 'characters / 2.9' },
    body: JSON.stringify({ input_tokens: countTokens(request) }),
  }
}

function refuseThreads({ thread }: MessagesRequest): void {
  if (thread === undefined || thread === null) return
  const message = 'thread: this gateway keeps no threads. Send the whole conversation.'
  throw refuse(400, 'invalid_request_error', message, 'thread_unsupported_request')
}

function refuseInvalid(request: MessagesRequest, { headers }: Call): void {
  const betas = (headers['anthropic-beta'] ?? '').split(',').map((beta) => beta.trim())
  const error = validate(withoutUnknown(request), { betas: betas.filter((beta) => beta !== '') })
  if (!error) return
  const { message, details } = error.body.error
  throw refuse(error.status, 'invalid_request_error', message, details?.error_code)
}
