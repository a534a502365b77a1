// Adds up what a chat has spent: in the running turn, and in all of them.
import { type AgentEvent, createAgentMeter } from '@toolshelf/agent'
import type { AgentMeter } from '@toolshelf/agent/internal'
import { addFigures, type Figures, noFigures, type PriceTable } from '@toolshelf/core/internal'
import type { AgentSession } from '../session.ts'
import type { Status } from './status.ts'

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
