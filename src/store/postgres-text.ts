// Encodes U+0000, which Postgres text cannot contain, as two characters, in a way that preserves the order of keys and
// prefixes.

/** Encodes a text for storage. */
export function toText(text: string): string {
  if (!text.includes('\0') && !text.includes('\u0001')) return text
  return text.replaceAll('\u0001', '\u0001\u0003').replaceAll('\0', '\u0001\u0002')
}

/** Decodes a stored text. */
export function fromText(stored: string): string {
  if (!stored.includes('\u0001')) return stored
  return stored.replaceAll('\u0001\u0002', '\0').replaceAll('\u0001\u0003', '\u0001')
}
