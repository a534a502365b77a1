// What a model of another language thought and wants back, as thinking blocks of the Messages API: the client carries
// them, and only the upstream and model that they came from get them again.
import { type Fields, fieldsOf, hash, isFields, textOf, toJson } from '../../lib/index.ts'
import type { MessagesRequest } from '../types.ts'
import { jsonOf } from './openai.ts'

/** Reads and writes the thoughts of one model of one upstream. */
export type Thoughts = {
  /** The signature of a thinking block that carries this beside its text. */
  readonly sign: (kept: Fields) => string
  /** What a thinking block carries; undefined where it is another's. */
  readonly keptIn: (block: Fields) => Fields | undefined
}

const MARK = 'toolshelf'

export function thoughtsOf(upstream: string, model: string): Thoughts {
  const start = `${MARK}.${hash(`${upstream}\n${model}`)}.`
  return {
    sign: (kept) => start + Buffer.from(toJson(kept)).toString('base64url'),
    keptIn({ type, signature }) {
      const text = textOf(signature)
      if (type !== 'thinking' || !text.startsWith(start)) return undefined
      const kept = jsonOf(Buffer.from(text.slice(start.length), 'base64url').toString())
      return isFields(kept) ? kept : undefined
    },
  }
}

/** A thinking block of ours, whichever model thought it. */
export function isKeptThought({ type, signature }: Fields): boolean {
  return type === 'thinking' && textOf(signature).startsWith(`${MARK}.`)
}

/** The client wants to see what the model thinks. */
export function asksForThinking({ thinking }: MessagesRequest): boolean {
  return ['enabled', 'adaptive'].includes(textOf(fieldsOf(thinking).type))
}

/** Budgets from which on thinking counts as medium and high effort, in tokens. */
const MEDIUM_BUDGET = 4096
const HIGH_BUDGET = 16_384

/** The effort that the client asks for, by name or by a budget; empty where it asks for none. */
export function effortOf({ output_config: config, thinking }: MessagesRequest): string {
  const { budget_tokens: budget } = fieldsOf(thinking)
  const effort = textOf(fieldsOf(config).effort)
  if (effort !== '' || !asksForThinkingByBudget(thinking)) return effort
  return Number(budget) >= HIGH_BUDGET ? 'high' : Number(budget) >= MEDIUM_BUDGET ? 'medium' : 'low'
}

function asksForThinkingByBudget(thinking: unknown): boolean {
  const { type, budget_tokens: budget } = fieldsOf(thinking)
  return type === 'enabled' && typeof budget === 'number'
}
