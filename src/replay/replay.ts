// Replays a recording: what each turn would have cost with and without Toolshelf. A pure function of recording and tools.
import {
  type Figures,
  figuresOf,
  noFigures,
  type PriceTable,
  priceOf,
  prices as shippedPrices,
} from '../core/figures/index.ts'
import { type Rank, type Tool, tokensFor, type WireName } from '../core/index.ts'
import { addBilled, billedAs, type Caching, cachingOf, withoutFront } from './billing.ts'
import { createLane, type Lane, type LaneStep } from './lane.ts'
import { makeReplayReport, type ReplayFindings } from './report.ts'
import { createReplayShelves, type ReplayShelf } from './shelves.ts'
import type { RecordedTurn, Recording, ReplayedTurn, ReplayReport } from './types.ts'

/** Options of `replay`. */
export type ReplayOptions = {
  /** Tools of the servers; an HTTP log brings its own. */
  readonly tools?: readonly Tool[]
  readonly servers?: { readonly [name: string]: { readonly alwaysLoad?: boolean } }
  readonly rank: Rank
  /** Model, and so prices, of turns whose recording names none. */
  readonly model: string
  readonly prices?: PriceTable
  /** How loaded tools reach the model. Default: by references where the recorded API takes them, else as text. */
  readonly wire?: WireName
  /** Called from time to time with the number of replayed turns. */
  readonly progress?: (turns: number) => void
}

/** A conversation while it is replayed. */
type LaneState = {
  readonly lane: Lane
  readonly name: string
  /** Recorded searches that belong to the next reply. */
  queries: (readonly string[])[]
  isCompacted: boolean
  isStarted: boolean
  model: string
  shelf: ReplayShelf | undefined
  /** Tokens of the last request: what the cache may hold. */
  conversation: number
  with: number
}

const PROGRESS_TURNS = 500

/**
 * Replays a recording against the given tools.
 *
 * @example
 * const report = await replay(await readRecording([file]), { tools, rank, model: 'claude-sonnet-5-5' })
 */
export async function replay(recording: Recording, options: ReplayOptions): Promise<ReplayReport> {
  const { prices = shippedPrices, rank, tools = [], servers = {} } = options
  const wire = options.wire ?? (recording.takesReferences ? 'reference' : 'bridge')
  const shelfFor = createReplayShelves({ tools, servers, rank, wire })
  const caching = cachingOf(recording.turns)
  const findings: ReplayFindings = { turns: [], used: new Set(), unknown: new Set(), shelf: await shelfFor() }
  const isSending = await sendsDefinitions(recording, shelfFor)
  const lanes = new Map<string, LaneState>()
  for (const [index, turn] of recording.turns.entries()) {
    const laneState = laneFor(lanes, turn, recording)
    laneState.isCompacted ||= turn.isCompacted
    // A reply that only searches does not count as a request: without Toolshelf it would not exist.
    if (turn.queries.length > 0 && turn.calls.length === 0) {
      laneState.queries.push(turn.queries)
      continue
    }
    const shelf = await shelfFor(turn.tools)
    if (shelf.tokens > findings.shelf.tokens) findings.shelf = shelf
    const model = turn.model || options.model
    findings.turns.push(
      await replayTurn({ turn, laneState, shelf, model, caching, isSending, findings, prices }),
    )
    if (index % PROGRESS_TURNS === 0) options.progress?.(index)
  }
  return makeReplayReport(recording, findings, { wire, caching, isSending, prices })
}

/** The recorded prompts contained the definitions: a tool was called, and the client did not defer. */
async function sendsDefinitions(
  { turns, isDeferring }: Recording,
  shelfFor: (tools?: RecordedTurn['tools']) => Promise<ReplayShelf>,
): Promise<boolean> {
  if (isDeferring) return false
  for (const { tools, calls } of turns) {
    if (tools) return true
    const { nameFor } = await shelfFor()
    if (calls.some((name) => nameFor(name) !== undefined)) return true
  }
  return false
}

function laneFor(lanes: Map<string, LaneState>, { lane }: RecordedTurn, { format }: Recording): LaneState {
  const known = lanes.get(lane)
  if (known) return known
  const noun = format === 'http' ? 'conversation' : 'sub-agent'
  const number = lanes.size + (format === 'http' ? 1 : 0)
  const isMain = lane === ''
  const laneState: LaneState = {
    ...{
      lane: createLane(!isMain && format !== 'http'),
      name: isMain ? 'main' : `${noun} ${Math.max(1, number)}`,
    },
    ...{
      queries: [],
      isCompacted: false,
      isStarted: false,
      model: '',
      shelf: undefined,
      conversation: 0,
      with: 0,
    },
  }
  lanes.set(lane, laneState)
  return laneState
}

type Replaying = {
  readonly turn: RecordedTurn
  readonly laneState: LaneState
  readonly shelf: ReplayShelf
  readonly model: string
  readonly caching: Caching
  readonly isSending: boolean
  readonly findings: ReplayFindings
  readonly prices: PriceTable
}

async function replayTurn(replaying: Replaying): Promise<ReplayedTurn> {
  const { turn, laneState, shelf, model, findings } = replaying
  const calls = turn.calls.flatMap((name) => shelf.nameFor(name) ?? [])
  for (const name of calls) findings.used.add(name)
  for (const name of turn.calls)
    if (name.startsWith('mcp__') && shelf.nameFor(name) === undefined) findings.unknown.add(name)
  const queries = [...laneState.queries, ...(turn.queries.length > 0 ? [turn.queries] : [])]
  const step = await laneState.lane.step({ shelf, model, calls, queries, isCompacted: laneState.isCompacted })
  const conversationTokens = conversationOf(replaying)
  const figures = figuresFor(replaying, step, conversationTokens)
  const first = step.samplings[0]?.tokens ?? 0
  const last = step.samplings.at(-1)?.tokens ?? 0
  const isContinued = laneState.isStarted
  Object.assign(laneState, {
    queries: [],
    isCompacted: false,
    isStarted: true,
    model,
    shelf,
    conversation: conversationTokens,
    with: last,
  })
  const outputs = step.samplings.reduce((sum, { callTokens }) => sum + callTokens, 0)
  return {
    turn: findings.turns.length + 1,
    lane: laneState.name,
    model,
    calls,
    otherCalls: turn.calls.length - calls.length,
    definitionsWithout: shelf.tokens,
    definitionsWith: last,
    conversationTokens,
    search:
      step.samplings.length === 1
        ? null
        : {
            recorded: step.recorded,
            simulated: step.simulated,
            loaded: step.loaded,
            tokens: last - first + outputs,
          },
    prefixKept: isContinued ? step.brokenBy === undefined : null,
    brokenBy: isContinued ? (step.brokenBy ?? null) : null,
    figures,
  }
}

/** Tokens of the prompt without any definitions of these tools: as recorded, or estimated from its length. */
function conversationOf({ turn: { usage, characters }, shelf, isSending }: Replaying): number {
  const estimate = tokensFor(characters)
  if (!usage) return estimate
  const recorded = usage.input + usage.cacheRead + usage.cacheWrite + usage.cacheWrite1h
  return isSending ? Math.max(0, recorded - shelf.tokens) : recorded
}

function figuresFor(replaying: Replaying, step: LaneStep, conversation: number): Figures {
  const { turn, laneState, shelf, model, caching, isSending, prices } = replaying
  const { usage } = turn
  const isWarm =
    laneState.isStarted && laneState.model === model && (usage === undefined || usage.cacheRead > 0)
  const knownSaid = laneState.isCompacted ? 0 : laneState.conversation
  const said = usage
    ? { ...withoutFront(usage, isSending ? shelf.tokens : 0), output: 0 }
    : billedAs(conversation, isWarm ? knownSaid : 0, caching)
  const output = usage?.output ?? tokensFor(turn.replyCharacters)
  const lastIndex = step.samplings.length - 1
  const samplings = step.samplings.map(({ tokens, callTokens }, index) => {
    const before = step.samplings[index - 1]?.tokens
    // Each further sampling reads from the cache what the one before it sent.
    const known = before ?? (isWarm && step.brokenBy !== 'tools' ? laneState.with : 0)
    const rest = before === undefined ? said : billedAs(conversation, conversation, caching)
    const billed = addBilled(rest, billedAs(tokens, known, caching))
    const written = index === lastIndex ? output : callTokens
    return { characters: tokens + conversation, billed: { ...billed, output: written } }
  })
  const price = priceOf(model, prices)
  const request = { hasCacheMarks: caching.isOn, isContinued: laneState.isStarted, price }
  const charactersWithout = shelf.tokens + conversation
  const figures = figuresOf({ ...request, charactersWithout, samplings }) ?? noFigures
  const billed = addBilled(
    said,
    billedAs(shelf.tokens, isWarm && laneState.shelf === shelf ? shelf.tokens : 0, caching),
  )
  const plain = { characters: charactersWithout, billed: { ...billed, output } }
  const { dollarsWith: dollarsWithout } =
    figuresOf({ ...request, charactersWithout, samplings: [plain] }) ?? noFigures
  const exact = {
    ...figures,
    tokensWithout: charactersWithout,
    tokensSaved: charactersWithout - figures.tokensWith,
  }
  const estimated = { ...exact, isEstimated: true }
  const { dollarsWith } = figures
  if (dollarsWith === undefined || dollarsWithout === undefined) return estimated
  return { ...estimated, dollarsWithout, dollarsSaved: dollarsWithout - dollarsWith }
}
