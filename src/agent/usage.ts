// What an API says that a reply took, as the agent counts it, and back as it is billed.
import { type BilledTokens, countedTokens } from '../core/figures/index.ts'
import { type Fields, fieldsOf } from '../lib/index.ts'
import type { TokenUsage } from './types.ts'

export const noUsage: TokenUsage = { input: 0, cached: 0, output: 0 }

/** The usage of a reply; nothing where the API reported none that can be believed. */
export function replyUsage({ usage }: Fields): TokenUsage {
  const counted = countedTokens(fieldsOf(usage))
  if (!counted) return noUsage
  const { input, cacheRead, cacheWrite, cacheWrite1h, output } = counted
  const cacheWritten = cacheWrite + cacheWrite1h
  return {
    ...{ input: input + cacheWritten, cached: cacheRead, cacheWritten, output },
    ...(cacheWrite1h > 0 ? { cacheWritten1h: cacheWrite1h } : {}),
  }
}

/** How a reply was billed; undefined where the API reported no input. */
export function billedBy(usage: TokenUsage): BilledTokens | undefined {
  const { input, cached, cacheWritten = 0, cacheWritten1h = 0, output } = usage
  if (input + cached <= 0) return undefined
  return {
    ...{ input: input - cacheWritten, cacheRead: cached },
    ...{ cacheWrite: cacheWritten - cacheWritten1h, cacheWrite1h: cacheWritten1h, output },
  }
}

/** Of several replies together. */
export function addUsage(one: TokenUsage, other: TokenUsage): TokenUsage {
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    output: one.output + other.output,
  }
}
