// Postgres has no text with U+0000: it is written as two characters, in a way that keeps the order of keys and prefixes.

/** Returns the text as it is stored. */
export function toText(text: string): string {
  if (!text.includes('\0') && !text.includes('\u0001')) return text
  return text.replaceAll('\u0001', '\u0001\u0003').replaceAll('\0', '\u0001\u0002')
}

/** Returns the text as it was given to `toText`. */
export function fromText(stored: string): string {
  if (!stored.includes('\u0001')) return stored
  return stored.replaceAll('\u0001\u0002', '\0').replaceAll('\u0001\u0003', '\u0001')
}
