// The status line of a chat: the model, how full its context window is, and what tool search saved.

import { type AgentEvent, createAgentMeter } from '@toolshelf/agent'
import type { AgentMeter } from '@toolshelf/agent/internal'
import { addFigures, cut, dollars, type Figures, noFigures, type PriceTable } from '@toolshelf/core/internal'
import type { AgentSession } from '../session.ts'
import { columnsOf } from '../terminal/pen.ts'

export type Status = {
  readonly model: string
  /** Tokens of the last request and its reply; 0 if unknown. */
  readonly usedTokens: number
  readonly windowTokens: number
  /** Total of the session. */
  readonly figures: Figures
}

const MAX_MODEL_LENGTH = 40

/** Returns the parts of the line, the most important first. */
export function statusParts({ model, usedTokens, windowTokens, figures }: Status): string[] {
  const share = (100 * usedTokens) / Math.max(1, windowTokens)
  return [
    cut(model, MAX_MODEL_LENGTH),
    ...(usedTokens > 0 ? [`context ${share.toFixed(share < 10 ? 1 : 0)} % of ${short(windowTokens)}`] : []),
    ...savedParts(figures),
  ]
}

/** Returns what was saved, and the extra round trips; empty if the model was not asked. */
function savedParts(figures: Figures): string[] {
  const { rounds, tokensSaved, dollarsSaved, extraRoundTrips, isEstimated } = figures
  if (rounds === 0) return []
  const about = isEstimated ? 'about ' : ''
  const tokens =
    tokensSaved < 0
      ? `cost ${about}${count(-tokensSaved)} tokens more`
      : `saved ${about}${count(tokensSaved)} tokens`
  return [
    dollarsSaved === undefined ? tokens : `${tokens} (${dollars(dollarsSaved)})`,
    ...(extraRoundTrips > 0
      ? [`${count(extraRoundTrips)} extra round ${extraRoundTrips === 1 ? 'trip' : 'trips'}`]
      : []),
  ]
}

/** Joins as many parts as fit, in shorter forms if necessary; always includes the model. */
export function statusLine(status: Status, columns: number): string {
  const lines = [statusParts(status), briefParts(status, 'context '), briefParts(status, '')]
  const isWhole = (parts: readonly string[]) => columnsOf(parts.slice(0, ESSENTIAL).join(GAP)) <= columns
  const [first = '', ...rest] = lines.find(isWhole) ?? lines.at(-1) ?? []
  let line = cut(first, Math.max(1, columns))
  for (const part of rest) {
    const longer = `${line}${GAP}${part}`
    if (columnsOf(longer) > columns) break
    line = longer
  }
  return line
}

const GAP = ' · '
/** Model, context and savings. */
const ESSENTIAL = 3

function briefParts({ model, usedTokens, windowTokens, figures }: Status, label: string): string[] {
  const share = (100 * usedTokens) / Math.max(1, windowTokens)
  const { rounds, tokensSaved } = figures
  const saved = `${tokensSaved < 0 ? 'cost' : 'saved'} ${brief(Math.abs(tokensSaved))}`
  return [
    cut(model, MAX_MODEL_LENGTH),
    ...(usedTokens > 0 ? [`${label}${Math.round(share)} %`] : []),
    ...(rounds > 0 ? [saved] : []),
  ]
}

/** `798`, `123k`, `1.2M`. */
function brief(tokens: number): string {
  if (tokens < 10_000) return count(tokens)
  return tokens < 1_000_000 ? `${Math.round(tokens / 1000)}k` : `${(tokens / 1_000_000).toFixed(1)}M`
}

/** `200k`, `1M`. */
function short(tokens: number): string {
  if (tokens < 1000) return String(tokens)
  return tokens % 1_000_000 === 0 ? `${tokens / 1_000_000}M` : `${Math.round(tokens / 1000)}k`
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** Adds up the cost of a chat from the agent's events. */
export class Spending {
  readonly #prices: PriceTable
  #session: AgentSession | undefined
  /** Total of the running turn. */
  #meter: AgentMeter | undefined
  #earlierTurns = noFigures

  constructor(prices: PriceTable) {
    this.#prices = prices
  }

  attach(session: AgentSession): void {
    this.#session = session
  }

  follow(event: AgentEvent): void {
    this.#meter ??= this.#session && createAgentMeter({ shelf: this.#session.shelf, prices: this.#prices })
    this.#meter?.follow(event)
  }

  /** Undefined until a session is attached. */
  ofTurn(): Status | undefined {
    return this.#statusOf(this.#turn())
  }

  ofSession(): Status | undefined {
    return this.#statusOf(addFigures(this.#earlierTurns, this.#turn()))
  }

  endTurn(): void {
    this.#earlierTurns = addFigures(this.#earlierTurns, this.#turn())
    this.#meter = undefined
  }

  #turn(): Figures {
    return this.#meter?.figures() ?? noFigures
  }

  #statusOf(figures: Figures): Status | undefined {
    if (!this.#session) return undefined
    const { model, used, contextWindow } = this.#session.agent
    return { model, usedTokens: used, windowTokens: contextWindow, figures }
  }
}
