// Converts the API's usage to the agent's token counts, and those to billed tokens.
import { type BilledTokens, countedTokens, type Fields, fieldsOf } from '@toolshelf/core/internal'
import type { TokenUsage } from './types.ts'

export const noUsage: TokenUsage = { input: 0, cached: 0, output: 0 }

/** Returns the usage of a reply; zero if the API reported none or implausible counts. */
export function replyUsage({ usage }: Fields): TokenUsage {
  const counted = countedTokens(fieldsOf(usage))
  if (!counted) return noUsage
  const { input, cacheRead, cacheWrite, cacheWrite1h, output } = counted
  const cacheWritten = cacheWrite + cacheWrite1h
  return {
    input: input + cacheWritten,
    cached: cacheRead,
    cacheWritten,
    output,
    ...(cacheWrite1h > 0 ? { cacheWritten1h: cacheWrite1h } : {}),
  }
}

/** Returns the billed tokens of a reply; undefined if the API reported no input tokens. */
export function billedBy(usage: TokenUsage): BilledTokens | undefined {
  const { input, cached, cacheWritten = 0, cacheWritten1h = 0, output } = usage
  if (input + cached <= 0) return undefined
  return {
    input: input - cacheWritten,
    cacheRead: cached,
    cacheWrite: cacheWritten - cacheWritten1h,
    cacheWrite1h: cacheWritten1h,
    output,
  }
}

/** Adds the usage of two replies. */
export function addUsage(one: TokenUsage, other: TokenUsage): TokenUsage {
  return {
    input: one.input + other.input,
    cached: one.cached + other.cached,
    output: one.output + other.output,
  }
}
