// Estimates token counts from text length, for cases in which an exact count is not worth a round trip.

/** The average, measured on real tool definitions with current models. */
export const CHARACTERS_PER_TOKEN = 2.9

/** The lower bound, for limits that an estimate must not exceed. */
export const MIN_CHARACTERS_PER_TOKEN = 2.5

/** Estimates the tokens of a text by its length, without asking an API. */
export function estimateTokens(text: string): number {
  return tokensFor(text.length)
}

/**
 * Estimates the tokens of one tool: its definition as it is sent (name, description, input schema), as JSON.
 *
 * Every place that shows what tools cost uses this estimate, and adds it up over several tools, so that the figures of
 * tools, servers and whole lists agree.
 */
export function definitionTokens({ json }: { readonly json: string }): number {
  return estimateTokens(json)
}

/** Estimates the tokens of several tools: the sum of their `definitionTokens`. */
export function allDefinitionTokens(tools: Iterable<{ readonly json: string }>): number {
  let sum = 0
  for (const tool of tools) sum += definitionTokens(tool)
  return sum
}

/** Estimates the tokens of a number of characters. */
export function tokensFor(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN)
}

/** Returns how many characters fit into a number of tokens, by the same estimate. */
export function charactersFor(tokens: number): number {
  return Math.floor(tokens * CHARACTERS_PER_TOKEN)
}
