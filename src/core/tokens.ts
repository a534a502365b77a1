// Estimates, where exact counts are not worth a round trip. Measured on real definitions of current models.

const CHARACTERS_PER_TOKEN = 2.9

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}
