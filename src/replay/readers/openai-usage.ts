// Reads the usage of OpenAI's two APIs and of Codex, whose input tokens include cached ones.
import { type BilledTokens, countedTokens } from '../../core/figures/index.ts'
import { type Fields, fieldsOf } from '../../lib/index.ts'

/** Reads a usage; returns undefined if there are no input tokens or a count is invalid. */
export function openaiUsage(usage: Fields): BilledTokens | undefined {
  const details = fieldsOf(usage.input_tokens_details ?? usage.prompt_tokens_details)
  const tokens = countedTokens({
    input_tokens: usage.input_tokens ?? usage.prompt_tokens,
    cache_read_input_tokens: usage.cached_input_tokens ?? details.cached_tokens,
    cache_creation_input_tokens: usage.cache_write_input_tokens ?? details.cache_write_tokens,
    output_tokens: usage.output_tokens ?? usage.completion_tokens,
  })
  if (!tokens || tokens.input === 0) return undefined
  const cacheRead = Math.min(tokens.cacheRead, tokens.input)
  const cacheWrite = Math.min(tokens.cacheWrite, tokens.input - cacheRead)
  return { ...tokens, cacheRead, cacheWrite, input: tokens.input - cacheRead - cacheWrite }
}
