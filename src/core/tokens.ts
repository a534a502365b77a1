// Estimates token counts from text length, for cases in which an exact count is not worth a round trip.

/** The average, measured on real tool definitions with current models. */
export const CHARACTERS_PER_TOKEN = 2.9

/** The lower bound, for limits that an estimate must not exceed. */
export const FEWEST_CHARACTERS_PER_TOKEN = 2.5

/** Estimates the tokens of a text by its length, without asking an API. */
export function estimateTokens(text: string): number {
  return tokensFor(text.length)
}

/** Estimates the tokens of a number of characters. */
export function tokensFor(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN)
}

/** Returns how many characters fit into a number of tokens, by the same estimate. */
export function charactersFor(tokens: number): number {
  return Math.floor(tokens * CHARACTERS_PER_TOKEN)
}
