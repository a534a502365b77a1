// Applies edits to a text by offset, and finds the white space that a removal includes.

/** The replacement of a range of a text. */
export type Edit = { readonly start: number; readonly end: number; readonly text: string }

/** Returns the text with all edits applied. The edits must not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let rest = ''
  let at = 0
  for (const edit of [...edits].sort((first, second) => first.start - second.start)) {
    rest += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return rest + text.slice(at)
}

/** Removes a range, with its line if nothing else is on it, else with the spaces in front of it. */
export function removal(text: string, start: number, end: number): Edit {
  const front = start - spacesBefore(text, start)
  const isFirst = front === 0 || text[front - 1] === '\n'
  const lineEnd = /[ \t]*(\r?\n|$)/y
  lineEnd.lastIndex = end
  const rest = lineEnd.exec(text)
  if (isFirst && rest) return { start: front, end: end + rest[0].length, text: '' }
  if (isFirst) return { start, end: end + spacesAt(text, end), text: '' }
  return { start: front, end, text: '' }
}

/** Counts the spaces in front of an offset. Looks at no more than those: all servers may be on one long line. */
function spacesBefore(text: string, at: number): number {
  let start = at
  while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\t')) start--
  return at - start
}

function spacesAt(text: string, at: number): number {
  const spaces = /[ \t]*/y
  spaces.lastIndex = at
  return spaces.exec(text)?.[0].length ?? 0
}

export function lineEnding(text: string): '\r\n' | '\n' {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/** Returns the whitespace that the line of an offset starts with. */
export function indentAt(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, at))?.[0] ?? ''
}
