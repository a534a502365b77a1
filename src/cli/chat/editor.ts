// The line that a person types: pure, a key in, the next line out.

export type Line = {
  readonly text: string
  readonly cursor: number
  /** What was typed before, oldest first, and where in it we are; its length is the new line. */
  readonly history: readonly string[]
  readonly at: number
}

/** A key as Ink tells it. */
export type Key = { readonly [name: string]: unknown }

export const emptyLine: Line = { text: '', cursor: 0, history: [], at: 0 }

export function typed(line: Line, input: string, key: Key): Line {
  const { text, cursor } = line
  if (key.upArrow) return recall(line, line.at - 1)
  if (key.downArrow) return recall(line, line.at + 1)
  if (key.leftArrow) return { ...line, cursor: Math.max(0, cursor - step(text.slice(0, cursor), 'end')) }
  if (key.rightArrow)
    return { ...line, cursor: Math.min(text.length, cursor + step(text.slice(cursor), 'start')) }
  if (key.home || (key.ctrl && input === 'a')) return { ...line, cursor: 0 }
  if (key.end || (key.ctrl && input === 'e')) return { ...line, cursor: text.length }
  if (key.ctrl && input === 'u') return { ...line, text: text.slice(cursor), cursor: 0 }
  if (key.ctrl && input === 'k') return { ...line, text: text.slice(0, cursor) }
  if (key.ctrl && input === 'w') return erase(line, /\S*\s*$/.exec(text.slice(0, cursor))?.[0].length ?? 0)
  if (key.backspace || key.delete) return erase(line, step(text.slice(0, cursor), 'end'))
  if (key.ctrl || key.meta || key.escape || key.tab) return line
  return insert(line, input.replaceAll('\r\n', '\n').replaceAll('\r', '\n'))
}

/** The line is sent: it joins the history. */
export function sent({ text, history }: Line): Line {
  const next = text.trim() === '' || history.at(-1) === text ? history : [...history, text]
  return { text: '', cursor: 0, history: next, at: next.length }
}

function insert(line: Line, input: string): Line {
  const { text, cursor } = line
  return { ...line, text: text.slice(0, cursor) + input + text.slice(cursor), cursor: cursor + input.length }
}

function erase(line: Line, count: number): Line {
  const { text, cursor } = line
  return { ...line, text: text.slice(0, cursor - count) + text.slice(cursor), cursor: cursor - count }
}

function recall(line: Line, at: number): Line {
  if (at < 0 || at > line.history.length) return line
  const text = line.history[at] ?? ''
  return { ...line, at, text, cursor: text.length }
}

/** The width of the character at an end, which may be more than one unit. */
function step(text: string, side: 'start' | 'end'): number {
  const characters = [...text]
  return (side === 'end' ? characters.at(-1) : characters[0])?.length ?? 0
}
