// A whole conversation of a client with a model through gateways, drawn by fast-check.
import fc from 'fast-check'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { type Api, createClient, type Habit, habits, type Reply } from './clients.ts'
import { isOld, modelFor, offer, type ServeOptions, serve, type UpstreamKind } from './gateways.ts'
import { ALWAYS, createModel, type Failure, NAMES, type Sampling, type Script, toolFor } from './model.ts'

export type Mode = 'off' | 'shelve' | 'auto:1' | 'pass' | 'emulate'

export type Setup = {
  readonly api: Api
  readonly upstream: UpstreamKind
  readonly mode: Mode
  readonly stream: boolean
  readonly thinks: boolean
  readonly habit: Habit
  /** So many deferrable tools, and so many at every other turn. */
  readonly count: number
  readonly others?: number
  /** Whether a new gateway takes over, by turn. */
  readonly restarts: readonly boolean[]
  readonly bindsThinking?: boolean
}

/** The modes that are possible for a client of this API with this upstream. */
export function modesOf(api: Api, upstream: UpstreamKind): Mode[] {
  return [
    ...(['shelve', 'shelve', 'auto:1', 'off'] as const),
    ...(api === 'messages' ? (['emulate', 'emulate'] as const) : []),
    ...(api === upstream ? (['pass'] as const) : []),
  ]
}

export function anySetup(api: Api, upstream: UpstreamKind): fc.Arbitrary<Setup> {
  const setup = fc.record({
    api: fc.constant(api),
    upstream: fc.constant(upstream),
    mode: fc.constantFrom(...modesOf(api, upstream)),
    stream: fc.boolean(),
    thinks: fc.boolean(),
    habit: api === 'messages' ? fc.constantFrom(...habits) : fc.constant('none' as const),
    count: fc.constantFrom(5, 20, 60),
    restarts: fc.array(fc.boolean(), { maxLength: 4 }),
  })
  // An API that thinks by hand takes no history without the thoughts.
  return setup.map((one) => ({ ...one, thinks: one.thinks && one.habit !== 'drops thinking' }))
}

/** One request of the client as it was sent, what it got, and what the model got and said meanwhile. */
export type Exchange = {
  readonly request: Loose
  readonly reply: Reply
  readonly samplings: readonly Sampling[]
}

const SEARCH_TOOL = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }

export function toolsOf({ mode }: Pick<Setup, 'mode'>, count: number): Loose[] {
  const tools = NAMES.slice(0, count).map(toolFor)
  return mode === 'emulate'
    ? [SEARCH_TOOL, toolFor(ALWAYS), ...tools.map((tool) => ({ ...tool, defer_loading: true }))]
    : [toolFor(ALWAYS), ...tools]
}

/** What `auto:1` takes one per cent of. */
export const serveOptions = ({ mode }: Pick<Setup, 'mode'>): ServeOptions => ({ mode, contextWindow: 10_000 })

/**
 * Talks until the model has said all that it had to. Where the model's API fails, the client asks once more, and `errors` has
 * what it got; a failure that hangs ends when the client leaves.
 */
export async function converse(setup: Setup, script: Script, failure?: Failure) {
  const { api, upstream: kind, stream, thinks, habit, count, others = count, restarts } = setup
  const names = NAMES.slice(0, Math.min(count, others))
  const leaving = new AbortController()
  const model = createModel({
    ...{ script, api: isOld(kind) ? ('old' as const) : ('new' as const), tools: names, failure },
    ...{ bindsThinking: setup.bindsThinking ?? false, onHang: () => leaving.abort() },
  })
  const upstream = await offer(model, kind)
  const tools = toolsOf(setup, count)
  const client = createClient({
    ...{ api, stream, model: setup.bindsThinking ? 'claude-opus-5-5' : modelFor(kind), tools, thinks, habit },
  })
  let gateway = await serve(upstream, serveOptions(setup))
  const exchanges: Exchange[] = []
  const errors: unknown[] = []
  try {
    client.say('Begin.')
    for (let turn = 0, isOver = false; !isOver; turn++) {
      if (restarts[turn % Math.max(1, restarts.length)]) {
        await gateway.close()
        gateway = await serve(upstream, serveOptions(setup))
      }
      tools.splice(0, tools.length, ...toolsOf(setup, turn % 2 === 0 ? count : others))
      const before = model.samplings.length
      const request = JSON.parse(JSON.stringify({ ...client.body(), stream }))
      try {
        const reply = await client.ask(gateway.url, errors.length === 0 ? leaving.signal : undefined)
        exchanges.push({ request, reply, samplings: model.samplings.slice(before) })
        client.goOn(reply, turn + 1)
        isOver = model.isDone()
      } catch (error) {
        if (!failure || errors.length > 0 || model.refusals.length > 0)
          throw model.refusals.length > 0 ? new Error(`refused: ${model.refusals}`) : error
        errors.push(error)
      }
    }
    while (gateway.activeRequests() > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  } finally {
    await gateway.close()
    await upstream.close()
  }
  return { exchanges, errors, model }
}

/** What another gateway sends first for the same request. */
export async function sentByAnother(setup: Setup, request: Loose): Promise<Loose> {
  const model = createModel({ script: [], api: isOld(setup.upstream) ? 'old' : 'new' })
  const upstream = await offer(model, setup.upstream)
  const gateway = await serve(upstream, serveOptions(setup))
  const path = { messages: 'messages', chat: 'chat/completions', responses: 'responses' }[setup.api]
  const headers = { 'content-type': 'application/json', 'x-api-key': 'key' }
  await fetch(`${gateway.url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(request) })
  await gateway.close()
  await upstream.close()
  return model.samplings[0]?.request
}
