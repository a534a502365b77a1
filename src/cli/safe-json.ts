// Writes JSON that a terminal can show.

/** Escapes characters that could control a terminal; JSON itself escapes only some of them. */
export function toSafeJson(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped)
}
