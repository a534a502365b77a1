// Computes what turns cost, and would have cost without tool search: tokens, money, round trips and the prompt cache.
import { addCounts, type BilledTokens, dollarsFor, priceOf, promptTokens } from '@toolshelf/core/internal'
import type { InspectedTurn } from './turn-types.ts'

/** Sums over turns. Tokens are input tokens, cached ones included. */
export type InspectedSpending = {
  readonly turns: number
  /** Tokens as they were, and as they would have been with every definition in every request. */
  readonly tokensWith: number
  readonly tokensWithout: number
  /** Turns whose tokens are those of definitions alone, because the API's count is not known. */
  readonly estimatedTurns: number
  /** Model replies that only searched, which no agent without tool search makes. */
  readonly extraRoundTrips: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** Dollars at list price, of the turns whose model has a known price and whose usage is known. */
  readonly dollarsWith: number
  readonly dollarsWithout: number
  readonly pricedTurns: number
}

/** Zero. */
export const NO_SPENDING: InspectedSpending = {
  turns: 0,
  tokensWith: 0,
  tokensWithout: 0,
  estimatedTurns: 0,
  extraRoundTrips: 0,
  cacheRead: 0,
  cacheWrite: 0,
  dollarsWith: 0,
  dollarsWithout: 0,
  pricedTurns: 0,
}

/** Adds two sums. */
export function addSpending(one: InspectedSpending, other: InspectedSpending): InspectedSpending {
  return addCounts(one, other)
}

/** Whether the reply of a turn did nothing but search: a round trip that only tool search makes. */
function onlySearched({ searches, calls, samplings }: InspectedTurn): boolean {
  return searches.length > 0 && calls.length === 0 && samplings.at(-1)?.stopReason !== 'end_turn'
}

/** Computes the spending of one turn. */
export function spendingOf(turn: InspectedTurn): InspectedSpending {
  const usages = turn.samplings.flatMap(({ usage }) => usage ?? [])
  return {
    ...NO_SPENDING,
    turns: 1,
    cacheRead: sumOf(usages, ({ cacheRead }) => cacheRead),
    cacheWrite: sumOf(usages, ({ cacheWrite, cacheWrite1h }) => cacheWrite + cacheWrite1h),
    ...(answered(turn) ?? requested(turn, usages)),
  }
}

/** The Messages gateway has counted both itself. */
function answered({ answer }: InspectedTurn): Partial<InspectedSpending> | undefined {
  if (answer?.tokensWith === undefined || answer.tokensWithout === undefined) return undefined
  const { tokensWith, tokensWithout, dollarsWith, dollarsWithout, rounds } = answer
  const extraRoundTrips = Math.max(0, rounds - 1)
  if (dollarsWith === undefined || dollarsWithout === undefined)
    return { tokensWith, tokensWithout, extraRoundTrips }
  return { tokensWith, tokensWithout, extraRoundTrips, dollarsWith, dollarsWithout, pricedTurns: 1 }
}

/** A request of the library or the agent: what it was billed, and the definitions that it left out by estimate. */
function requested(turn: InspectedTurn, usages: readonly BilledTokens[]): Partial<InspectedSpending> {
  const { share, decision } = turn
  if (!share || !decision) return {}
  const saved = share.tokensWithout - share.tokensWith
  const isExtra = decision.isOpen && onlySearched(turn)
  const extraRoundTrips = isExtra ? 1 : 0
  if (usages.length === 0)
    return {
      estimatedTurns: 1,
      extraRoundTrips,
      tokensWith: share.tokensWith,
      tokensWithout: isExtra ? 0 : share.tokensWithout,
    }
  const tokensWith = sumOf(usages, promptTokens)
  return {
    tokensWith,
    extraRoundTrips,
    tokensWithout: isExtra ? 0 : tokensWith + saved * usages.length,
    ...moneyOf(turn, usages, saved, isExtra),
  }
}

function moneyOf(turn: InspectedTurn, usages: readonly BilledTokens[], saved: number, isExtra: boolean) {
  const price = priceOf(turn.model)
  if (!price) return {}
  const dollarsWith = sumOf(usages, (usage) => dollarsFor(usage, price))
  const dollarsWithout = isExtra
    ? 0
    : sumOf(usages, (usage) => dollarsFor(withDefinitions(usage, saved), price))
  return { dollarsWith, dollarsWithout, pricedTurns: 1 }
}

/** Adds the definitions' tokens at the front of the prompt: read from the cache where it held, else written to it. */
function withDefinitions(usage: BilledTokens, tokens: number): BilledTokens {
  if (usage.cacheRead > 0) return { ...usage, cacheRead: usage.cacheRead + tokens }
  if (usage.cacheWrite1h > 0) return { ...usage, cacheWrite1h: usage.cacheWrite1h + tokens }
  if (usage.cacheWrite > 0) return { ...usage, cacheWrite: usage.cacheWrite + tokens }
  return { ...usage, input: usage.input + tokens }
}

function sumOf<Item>(items: readonly Item[], amount: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amount(item), 0)
}
