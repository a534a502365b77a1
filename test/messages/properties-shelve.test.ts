// What must hold for every client that knows nothing of tool search, whatever the model does: its requests become
// valid ones of the contract, it sees no search, and its own history is enough to continue anywhere.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blocksOf, extendsPrefix, renderRequest, visibleTools } from '../../src/core/oracle/index.ts'
import { type Fields, textOf } from '../../src/lib/index.ts'
import type { MessagesRequest, UpstreamWire } from '../../src/messages/index.ts'
import { withoutCarried } from '../../src/messages/shelve/index.ts'
import { refusal } from '../oracle/requests.ts'
import { runs, seedOr } from '../support/runs.ts'
import {
  anySampling,
  asking,
  type Bit,
  carried,
  clientTools,
  goOn,
  type Habit,
  habits,
  loadedIn,
  MODEL,
  openGateway,
  type Received,
  randomModel,
  sentBy,
} from './support/random-client.ts'

const numRuns = runs(8)
const seed = seedOr(20261116)

type Setup = {
  readonly count: number
  readonly habit: Habit
  readonly wire: UpstreamWire
  /** So many tools at every other turn. */
  readonly others?: number
  readonly isBound?: boolean
  readonly thinksByHand?: boolean
}

const anySetup: fc.Arbitrary<Setup> = fc.record({
  count: fc.constantFrom(5, 20, 60),
  habit: fc.constantFrom(...habits),
  wire: fc.constantFrom('native', 'native', 'append', 'bridge') as fc.Arbitrary<UpstreamWire>,
})
const someSamplings = fc.array(anySampling, { maxLength: 10, size: 'max' })

/** One request of the client, the reply, and what the model got meanwhile. */
type Exchange = {
  readonly request: MessagesRequest
  readonly reply: Fields
  readonly received: readonly Received[]
}

/** A whole conversation, until the model has said all it had to. */
async function converse(setup: Setup, samplings: readonly (readonly Bit[])[]): Promise<Exchange[]> {
  const { count, habit, wire } = setup
  const model = randomModel(samplings, wire, clientTools(count), setup.isBound)
  const ask = asking(openGateway(model.upstream))
  const exchanges: Exchange[] = []
  let messages: Fields[] = [{ role: 'user', content: 'Begin.' }]
  for (let turn = 1; ; turn++) {
    const tools = clientTools(turn % 2 === 0 ? (setup.others ?? count) : count)
    const thinking = setup.thinksByHand ? { thinking: { type: 'enabled', budget_tokens: 1024 } } : {}
    const sent = sentBy(habit, messages)
    const request = { model: MODEL, max_tokens: 2048, tools, messages: sent, ...thinking }
    model.next()
    const from = model.received.length
    const reply = await ask(request)
    exchanges.push({ request, reply, received: model.received.slice(from) })
    if (model.isDone()) return exchanges
    messages = [...messages, ...goOn(reply.content as Fields[], turn)]
  }
}

function holds(
  setup: fc.Arbitrary<Setup>,
  check: (exchanges: readonly Exchange[], setup: Setup) => void | Promise<void>,
  samplings: fc.Arbitrary<readonly (readonly Bit[])[]> = someSamplings,
): Promise<void> {
  return fc.assert(
    fc.asyncProperty(setup, samplings, async (one, bits) => check(await converse(one, bits), one)),
    { seed, numRuns },
  )
}

const on = (wire: UpstreamWire) => anySetup.map((setup) => ({ ...setup, wire }))
const json = (value: unknown) => JSON.stringify(value)
const blocksIn = ({ messages }: MessagesRequest) => messages.flatMap(({ content }) => blocksOf(content))

describe(`shelving (PROPERTY_SEED=${seed} PROPERTY_RUNS=${numRuns})`, () => {
  it('every request is accepted by the upstream, on any wire, and every reply ends well', () =>
    // The model of chance throws at a request that its API would refuse.
    holds(anySetup, (exchanges) => {
      for (const { reply } of exchanges) {
        const calls = (reply.content as Fields[]).filter(({ type }) => type === 'tool_use')
        expect(reply.stop_reason).toBe(calls.length > 0 ? 'tool_use' : 'end_turn')
      }
    }))

  it('they are accepted when tools come and go, too, and never refer to one that is gone', () =>
    holds(
      anySetup.map((setup) => ({ ...setup, others: setup.count === 5 ? 60 : 5 })),
      (exchanges) => {
        for (const { request, received } of exchanges) {
          const names = request.tools?.map(({ name }) => name)
          for (const one of received) expect(names).toEqual(expect.arrayContaining(loadedIn(one.request)))
        }
      },
    ))

  it('the client sees no trace of a search', () =>
    holds(anySetup, (exchanges, { wire }) => {
      const words = ['ToolSearch', 'tool_reference', 'select:', 'CallTool', 'defer_loading', 'zzzqqq']
      for (const { reply } of exchanges)
        expect(
          words.filter((word) => json(reply).includes(word)),
          wire,
        ).toEqual([])
    }))

  it('another process sends the same bytes for the same history, where calls follow the searches', () =>
    holds(
      anySetup,
      async (exchanges, { wire, count }) => {
        for (const { request, received } of exchanges)
          expect(json(await firstRequest(request, wire, count))).toBe(json(received[0]?.request))
      },
      someSamplings.map(carried),
    ))

  it('another process never loses a tool that was called', () =>
    holds(anySetup, async (exchanges, { wire, count }) => {
      for (const { request, received } of exchanges) {
        const [here, there] = [received[0]?.request, await firstRequest(request, wire, count)]
        const called = new Set(calledIn(request))
        const lost = loadedIn(here as MessagesRequest).filter((name) => !loadedIn(there).includes(name))
        expect(lost.filter((name) => called.has(name))).toEqual([])
      }
    }))

  it('what is loaded stays loaded while the process lives, whether it is called or not', () =>
    holds(anySetup, (exchanges) => {
      for (const [index, { received }] of exchanges.entries()) {
        const before = exchanges[index - 1]
        if (!before || !saysAnything(before.reply)) continue
        const loaded = loadedIn(before.received.at(-1)?.request as MessagesRequest)
        expect(loadedIn(received[0]?.request as MessagesRequest)).toEqual(expect.arrayContaining(loaded))
      }
    }))

  it('every tool that was called stays in sight', () =>
    holds(on('native'), (exchanges, { count }) => {
      const known = new Set(clientTools(count).map(({ name }) => name))
      for (const { request, received } of exchanges)
        for (const one of received)
          expect(visibleTools(one.request)).toEqual(
            expect.arrayContaining(calledIn(request).filter((name) => known.has(name))),
          )
    }))

  it('what was sent stays, across rounds and turns, but for searches that found nothing', () =>
    holds(
      on('native').filter(({ habit }) => habit !== 'drops thinking'),
      (exchanges) => {
        const all = exchanges.flatMap(({ received }) => received)
        for (const [index, { request, isFirst }] of all.entries()) {
          const before = all[index - 1]?.request
          if (!before || (isFirst && hasVainSearch(before))) continue
          expect(extendsPrefix(renderRequest(before), renderRequest(request))).toEqual({ extends: true })
        }
      },
    ))

  it('wire 44 thoughts stay bound to what they followed, but for searches that found nothing', () =>
    holds(
      fc
        .record({ count: fc.constant(60), habit: fc.constantFrom('none', 'moves breakpoints') })
        .map((setup) => ({
          ...(setup as { count: number; habit: Habit }),
          ...{ wire: 'native' as const, isBound: true },
        })),
      (exchanges) => {
        const all = exchanges.flatMap(({ received }) => received)
        if (all.some((one) => hasVainSearch(one.request))) return
        for (const one of all) expect(refusal(one.request, { bindsThinking: true })).toBeUndefined()
      },
      // Models think before they speak.
      someSamplings.map((samplings) =>
        samplings.map((bits) => [...bits.filter(isThought), ...bits.filter((bit) => !isThought(bit))]),
      ),
    ))

  it('thinking by hand: the last reply starts with a thought where it calls tools, as each sampling did', () =>
    holds(
      anySetup
        .filter(({ habit }) => habit !== 'drops thinking')
        .map((setup) => ({ ...setup, thinksByHand: true })),
      (exchanges) => {
        for (const one of exchanges.flatMap(({ received }) => received)) {
          const last = one.request.messages.findLast(({ role }) => role === 'assistant')
          const blocks = blocksOf(last?.content)
          if (blocks.some(({ type }) => type === 'tool_use')) expect(blocks[0]?.type).toBe('thinking')
        }
      },
      someSamplings.map((samplings) =>
        samplings.map((bits) => [{ kind: 'think' as const }, ...bits.filter((bit) => !isThought(bit))]),
      ),
    ))

  it('the client cannot distinguish the wires', () =>
    fc.assert(
      fc.asyncProperty(anySetup, someSamplings, async (setup, bits) => {
        const replies = async (wire: UpstreamWire) =>
          (await converse({ ...setup, wire }, bits)).map(({ reply }) => reply)
        const native = await replies('native')
        expect(await replies('append')).toEqual(native)
        expect(await replies('bridge')).toEqual(native)
      }),
      { seed, numRuns },
    ))

  it('two who say the same do not share what was loaded', () =>
    fc.assert(
      fc.asyncProperty(someSamplings, async (bits) => {
        const tools = clientTools(20)
        const model = randomModel(bits, 'native', tools)
        const ask = asking(openGateway(model.upstream))
        const request = { model: MODEL, max_tokens: 100, tools, messages: [{ role: 'user', content: 'Hi.' }] }
        const { content } = await ask(request, 'one')
        model.next()
        const uncarried = blocksOf(content).map(plainId)
        const messages = [...request.messages, ...goOn(uncarried, 1)]
        await ask({ ...request, messages }, 'other')
        const called = uncarried.filter(({ type }) => type === 'tool_use').map(({ name }) => name)
        const { request: sent } = model.received.findLast(({ isFirst }) => isFirst) as Received
        expect(loadedIn(sent).filter((name) => !called.includes(name))).toEqual([])
      }),
      { seed, numRuns },
    ))

  it("the client's own words, calls and results are all there, once and in order, but for thoughts that end a reply", () =>
    holds(on('native'), (exchanges) => {
      for (const { request, received } of exchanges) {
        const sent = received[0]?.request as MessagesRequest
        expect(ownBlocks(sent)).toEqual(request.messages.flatMap(sendable).map(plainId))
      }
    }))
})

/** The blocks of a message without the thoughts that end it, which no API takes back. */
function sendable({ content }: Fields): readonly Fields[] {
  const blocks = blocksOf(content)
  return blocks.slice(0, blocks.findLastIndex(({ type }) => type !== 'thinking') + 1)
}

function isThought({ kind }: Bit): boolean {
  return kind === 'think'
}

/** What a gateway that has just started sends first. */
async function firstRequest(
  request: MessagesRequest,
  wire: UpstreamWire,
  count: number,
): Promise<MessagesRequest> {
  const model = randomModel([], wire, clientTools(count))
  await asking(openGateway(model.upstream))(request)
  return model.received[0]?.request as MessagesRequest
}

/** A reply of thoughts alone is nothing that all clients send again. */
function saysAnything({ content }: Fields): boolean {
  return blocksOf(content).some(({ type }) => type !== 'thinking')
}

function calledIn(request: MessagesRequest): string[] {
  return blocksIn(request)
    .filter(({ type }) => type === 'tool_use')
    .map(({ name }) => textOf(name))
}

function hasVainSearch(request: MessagesRequest): boolean {
  const results = blocksIn(request).filter(({ type }) => type === 'tool_result')
  const references = new Set(
    results
      .filter(({ content }) => blocksOf(content).some(({ type }) => type === 'tool_reference'))
      .map(({ tool_use_id: id }) => id),
  )
  return blocksIn(request).some(({ name, id }) => name === 'ToolSearch' && !references.has(id))
}

/** The blocks of a request without the list of names, and without searches and what they found. */
function ownBlocks(request: MessagesRequest): Fields[] {
  const searches = new Set(
    blocksIn(request)
      .filter(({ name }) => name === 'ToolSearch')
      .map(({ id }) => id),
  )
  const isResult = ({ tool_use_id: id }: Fields) => searches.has(id)
  return request.messages
    .slice(1)
    .filter(({ content }) => !blocksOf(content).some(isResult))
    .flatMap(({ content }) => blocksOf(content))
    .filter(({ name }) => name !== 'ToolSearch')
}

function plainId(block: Fields): Fields {
  const { id, tool_use_id: of } = block
  return {
    ...block,
    ...(id === undefined ? {} : { id: withoutCarried(textOf(id)) }),
    ...(of === undefined ? {} : { tool_use_id: withoutCarried(textOf(of)) }),
  }
}
