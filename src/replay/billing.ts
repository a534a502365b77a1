// Estimates how prompts are billed: the conversation as recorded, and the definitions in front of it by cache state.
import type { BilledTokens } from '../core/figures/index.ts'
import type { RecordedTurn } from './types.ts'

/** How prompt tokens that are not in the cache are billed. */
export type PromptKind = 'input' | 'cacheWrite' | 'cacheWrite1h'

/** How a recording uses the prompt cache. */
export type Caching = {
  /** Prompts are cached; assumed if the recording reports no usage at all. */
  readonly isOn: boolean
  /** How tokens that are not in the cache are billed. */
  readonly fresh: PromptKind
}

/** Derives the use of the prompt cache from the recorded usage. */
export function cachingOf(turns: readonly RecordedTurn[]): Caching {
  const usages = turns.flatMap(({ usage }) => usage ?? [])
  if (usages.length === 0) return { isOn: true, fresh: 'cacheWrite' }
  if (usages.some(({ cacheWrite1h }) => cacheWrite1h > 0)) return { isOn: true, fresh: 'cacheWrite1h' }
  if (usages.some(({ cacheWrite }) => cacheWrite > 0)) return { isOn: true, fresh: 'cacheWrite' }
  return { isOn: usages.some(({ cacheRead }) => cacheRead > 0), fresh: 'input' }
}

const NOTHING: BilledTokens = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 }

/** Bills tokens of which the first `known` are in the cache. */
export function billedAs(tokens: number, known: number, { isOn, fresh }: Caching): BilledTokens {
  const read = isOn ? Math.max(0, Math.min(tokens, known)) : 0
  return { ...NOTHING, cacheRead: read, [fresh]: tokens - read }
}

/** Adds two usages. */
export function addBilled(one: BilledTokens, other: BilledTokens): BilledTokens {
  return {
    input: one.input + other.input,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
    output: one.output + other.output,
  }
}

/**
 * Subtracts the tokens of definitions from a recorded usage. They are at the front of the prompt, where the cache is
 * read first.
 */
export function withoutFront(usage: BilledTokens, definitions: number): BilledTokens {
  let left = definitions
  const take = (tokens: number) => {
    const taken = Math.min(left, tokens)
    left -= taken
    return tokens - taken
  }
  const cacheRead = take(usage.cacheRead)
  const cacheWrite1h = take(usage.cacheWrite1h)
  const cacheWrite = take(usage.cacheWrite)
  return { ...usage, cacheRead, cacheWrite1h, cacheWrite, input: take(usage.input) }
}
