// Summarises a call and its result in a few words.

const MAX_INPUT_LENGTH = 70

/** Returns a call in source notation: get-sum(a: 2, b: 5), with strings in quotes. */
export function callText(name: string, input: unknown): string {
  const text =
    typeof input === 'object' && input !== null && !Array.isArray(input)
      ? Object.entries(input)
          .map(([field, value]) => `${field}: ${JSON.stringify(value)}`)
          .join(', ')
      : JSON.stringify(input ?? '')
  return `${name}(${text.length > MAX_INPUT_LENGTH ? `${text.slice(0, MAX_INPUT_LENGTH - 1)}…` : text})`
}

/** Returns the start of a text, with the number of characters left out. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength)}… (${(text.length - maxLength).toLocaleString('en-US')} more characters)`
}

/** Returns the texts of a result; other content is named. */
export function textIn(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : JSON.stringify(content ?? '')
  return content
    .map(({ type, text, tool_name }) => (type === 'text' ? String(text) : String(tool_name ?? `(${type})`)))
    .join('\n')
}
