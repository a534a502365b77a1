// Adds up replayed turns and says in plain words whether Toolshelf would have paid off, also if it would not.
import { addFigures, dollars, noFigures, type PriceTable, priceOf } from '../core/figures/index.ts'
import { CHARACTERS_PER_TOKEN, type WireName } from '../core/index.ts'
import { count, counted, printableLine } from '../terminal/index.ts'
import type { Caching } from './billing.ts'
import type { ReplayShelf } from './shelves.ts'
import type { Recording, ReplayedTurn, ReplayOutcome, ReplayReport } from './types.ts'

/** What a replay has found so far. */
export type ReplayFindings = {
  readonly turns: ReplayedTurn[]
  readonly used: Set<string>
  readonly unknown: Set<string>
  /** The shelf with the most definitions. */
  shelf: ReplayShelf
}

/** What the report assumes. */
export type ReplayTerms = {
  readonly wire: WireName
  readonly caching: Caching
  /** The recorded prompts contained the definitions. */
  readonly isSending: boolean
  readonly prices: PriceTable
}

const MAX_TURNS_LISTED = 10_000
const MAX_UNKNOWN = 20
const MAX_MODELS = 20

/** Makes the report from the replayed turns. */
export function makeReplayReport(
  recording: Recording,
  findings: ReplayFindings,
  terms: ReplayTerms,
): ReplayReport {
  const { turns, shelf, used, unknown } = findings
  const models = [...new Set(turns.map(({ model }) => model))]
  const total = totalOf(turns, models, terms)
  return {
    version: 1,
    format: recording.format,
    wire: terms.wire,
    recording: {
      turns: turns.length,
      conversations: new Set(turns.map(({ lane }) => lane)).size,
      compactions: recording.compactions,
      models: models.slice(0, MAX_MODELS),
      isDeferring: recording.isDeferring,
      turnsWithUsage: recording.turns.filter(({ usage }) => usage !== undefined).length,
      unreadable: recording.unreadable,
      leftOut: recording.leftOut,
    },
    tools: {
      servers: shelf.servers,
      tools: shelf.tools,
      deferred: shelf.deferred.size,
      tokens: shelf.tokens,
      used: used.size,
      unknown: [...unknown].slice(0, MAX_UNKNOWN).map(printableLine),
    },
    turns: turns.slice(0, MAX_TURNS_LISTED),
    total,
    verdict: verdictOf(total, recording, findings),
    assumptions: assumptionsOf(recording, findings, terms),
  }
}

type Total = ReplayReport['total']

function totalOf(turns: readonly ReplayedTurn[], models: readonly string[], { prices }: ReplayTerms): Total {
  const sum = (value: (turn: ReplayedTurn) => number) => turns.reduce((total, turn) => total + value(turn), 0)
  const maxOf = (value: (turn: ReplayedTurn) => number) =>
    turns.reduce((top, turn) => Math.max(top, value(turn)), 0)
  const isPriced = models.length > 0 && models.every((model) => priceOf(model, prices) !== undefined)
  return {
    ...turns.map(({ figures }) => figures).reduce(addFigures, noFigures),
    definitionsWithout: sum(({ definitionsWithout }) => definitionsWithout),
    definitionsWith: sum(({ definitionsWith }) => definitionsWith),
    searches: {
      recorded: sum(({ search }) => search?.recorded ?? 0),
      simulated: sum(({ search }) => search?.simulated ?? 0),
    },
    prefixBreaks: turns.filter(({ prefixKept }) => prefixKept === false).length,
    largestPromptWithout: maxOf((turn) => turn.definitionsWithout + turn.conversationTokens),
    largestPromptWith: maxOf((turn) => turn.definitionsWith + turn.conversationTokens),
    pricedAs: isPriced ? models.slice(0, MAX_MODELS) : null,
    pricesOf: isPriced ? prices.date : null,
  }
}

function verdictOf(
  total: Total,
  recording: Recording,
  { shelf, turns }: ReplayFindings,
): ReplayReport['verdict'] {
  const outcome = outcomeOf(total, shelf, turns)
  return { outcome, text: `${TEXTS[outcome](total)}${alreadyDeferred(recording, outcome)}` }
}

function outcomeOf(total: Total, shelf: ReplayShelf, turns: readonly ReplayedTurn[]): ReplayOutcome {
  if (shelf.deferred.size === 0 || turns.length === 0) return 'nothing-to-defer'
  if (total.tokensSaved <= 0) return 'does-not-pay'
  return total.dollarsSaved !== undefined && total.dollarsSaved <= 0 ? 'context-only' : 'pays'
}

const TEXTS: Record<ReplayOutcome, (total: Total) => string> = {
  pays: (total) =>
    `Toolshelf would have paid off: ${shareOf(total)} fewer prompt tokens${moneyOf(total)}, for ${counted(total.extraRoundTrips, 'extra round trip')}.`,
  'context-only': (total) =>
    `Toolshelf would have saved context (${shareOf(total)} of the prompt tokens), but no money${moneyOf(total)}: the prompt cache made the definitions cheaper than ${counted(total.extraRoundTrips, 'extra round trip')}. Use it if the context window is your limit.`,
  'does-not-pay': (total) =>
    `Toolshelf would NOT have paid off: ${count(-total.tokensSaved)} more prompt tokens${moneyOf(total)}, and ${counted(total.extraRoundTrips, 'extra round trip')}. Keep these servers as they are, or always load the tools that every conversation uses.`,
  'nothing-to-defer': () => 'There is nothing to defer: no tool of these servers could be left on the shelf.',
}

function shareOf({ tokensSaved, tokensWithout }: Total): string {
  return `${((100 * tokensSaved) / Math.max(1, tokensWithout)).toFixed(1)} %`
}

function moneyOf({ dollarsWithout, dollarsWith }: Total): string {
  if (dollarsWithout === undefined || dollarsWith === undefined) return ''
  return ` (${dollars(dollarsWithout)} without, ${dollars(dollarsWith)} with)`
}

function alreadyDeferred({ isDeferring, format }: Recording, outcome: ReplayOutcome): string {
  if (!isDeferring || outcome === 'nothing-to-defer') return ''
  return format === 'toolshelf'
    ? ' It did: this session had tool search.'
    : ' The recorded client deferred tools already, so most of this was saved without Toolshelf.'
}

function assumptionsOf(recording: Recording, { unknown }: ReplayFindings, terms: ReplayTerms): string[] {
  const hasUsage = recording.turns.some(({ usage }) => usage !== undefined)
  const isHttp = recording.format === 'http'
  return [
    `Definitions are estimated: characters divided by ${CHARACTERS_PER_TOKEN}, no tokenizer. Without Toolshelf every request carries all of them.`,
    hasUsage
      ? `The rest of each prompt is as recorded${terms.isSending ? ', less the definitions, which the recorded requests contained' : ''}.`
      : `The rest of each prompt is estimated from its length${isHttp ? '' : '; the system prompt and the client’s own tools are not in the transcript'}.`,
    'A called tool that was not loaded costs one search by its name ("select:") and a round trip that repeats the prompt. What the model would have typed is not known: it may search by words, more than once, or in vain.',
    cacheAssumption(terms.caching, hasUsage),
    ...(recording.compactions > 0
      ? [
          'Loaded tools stay loaded across a compaction, as with the library and the agent; their definitions are sent again.',
        ]
      : []),
    ...(unknown.size > 0
      ? [
          `${counted(unknown.size, 'called tool')} of other servers did not count; add their servers with --config.`,
        ]
      : []),
  ]
}

function cacheAssumption({ isOn }: Caching, hasUsage: boolean): string {
  if (!hasUsage) return 'Prompts are assumed to be cached, with every request in time for the one before it.'
  return isOn
    ? 'The prompt cache is hit and missed where the recording did.'
    : 'The recording uses no prompt cache.'
}
