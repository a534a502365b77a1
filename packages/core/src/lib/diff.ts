// Compares two texts line by line, for showing file changes to people. Pure; run time is bounded for any size.

/** One line of a file change. */
export type DiffLine = {
  /** `gap`: lines omitted between two changes. */
  readonly kind: 'same' | 'added' | 'removed' | 'gap'
  /** The line without its line break. */
  readonly text: string
  /** The line number in the new text; for a removed line, in the old one. */
  readonly line: number
}

/** A proposed or completed change of a file. */
export type FileChange = {
  /** The path as shown to people. */
  readonly path: string
  /** The file did not exist before. */
  readonly isNew: boolean
  /** How many lines were added. */
  readonly added: number
  /** How many lines were removed. */
  readonly removed: number
  /** The changed lines with some context. */
  readonly lines: readonly DiffLine[]
  /** Number of diff lines omitted at the end. */
  readonly left: number
}

const CONTEXT = 3
const MAX_SHOWN = 400
/** With more differences or lines than this, the diff shows the whole middle as replaced. */
const MAX_EDITS = 400
const MAX_COMPARED = 20_000

/** Compares two versions of a file; `before` is undefined for a new file. */
export function fileChange(path: string, before: string | undefined, after: string): FileChange {
  const whole = compareLines(linesOf(before ?? ''), linesOf(after))
  const shown = withContext(whole)
  return {
    path,
    isNew: before === undefined,
    added: whole.filter(({ kind }) => kind === 'added').length,
    removed: whole.filter(({ kind }) => kind === 'removed').length,
    lines: shown.slice(0, MAX_SHOWN),
    left: Math.max(0, shown.length - MAX_SHOWN),
  }
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function compareLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const max = Math.min(before.length, after.length) - start
  while (end < max && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const same = (from: number, to: number): DiffLine[] =>
    after.slice(from, to).map((text, index) => ({ kind: 'same', text, line: from + index + 1 }))
  const middle = compareMiddle(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
  )
  return [
    ...same(0, start),
    ...middle.map((one) => ({ ...one, line: one.line + start })),
    ...same(after.length - end, after.length),
  ]
}

function compareMiddle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const isSmall = before.length + after.length <= MAX_COMPARED
  return (isSmall ? shortestEdit(before, after) : undefined) ?? replaced(before, after)
}

function replaced(before: readonly string[], after: readonly string[]): DiffLine[] {
  return [
    ...before.map((text, index): DiffLine => ({ kind: 'removed', text, line: index + 1 })),
    ...after.map((text, index): DiffLine => ({ kind: 'added', text, line: index + 1 })),
  ]
}

/** A line that was added or removed, and the edits before it; `x` and `y` count the lines of both texts up to it. */
type Edit = {
  readonly isAdded: boolean
  readonly x: number
  readonly y: number
  readonly last: Edit | undefined
}

/** Myers' diff algorithm; returns undefined if there are too many differences. */
function shortestEdit(before: readonly string[], after: readonly string[]): DiffLine[] | undefined {
  const max = Math.min(before.length + after.length, MAX_EDITS)
  const furthest = new Map<number, { readonly x: number; readonly edit: Edit | undefined }>()
  const start = { x: 0, edit: undefined }
  for (let edits = 0; edits <= max; edits++) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down = furthest.get(diagonal + 1)
      const right = furthest.get(diagonal - 1)
      const isAdded = !right || (down !== undefined && right.x < down.x)
      const { x: from, edit: last } = (isAdded ? down : right) ?? start
      let x = isAdded ? from : from + 1
      const edit = edits === 0 ? undefined : { isAdded, x, y: x - diagonal, last }
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x++
      furthest.set(diagonal, { x, edit })
      if (x >= before.length && x - diagonal >= after.length) return linesBy(edit, before, after)
    }
  }
  return undefined
}

function linesBy(last: Edit | undefined, before: readonly string[], after: readonly string[]): DiffLine[] {
  const edits: Edit[] = []
  for (let edit = last; edit; edit = edit.last) edits.push(edit)
  const lines: DiffLine[] = []
  let at = 0
  const keepTo = (end: number) => {
    for (; at < end; at++) lines.push({ kind: 'same', text: after[at] ?? '', line: at + 1 })
  }
  for (const { isAdded, x, y } of edits.reverse()) {
    keepTo(isAdded ? y - 1 : y)
    if (isAdded) lines.push({ kind: 'added', text: after[at++] ?? '', line: y })
    else lines.push({ kind: 'removed', text: before[x - 1] ?? '', line: x })
  }
  keepTo(after.length)
  return lines
}

/** Keeps a few lines of context around changes and replaces the rest with gaps. */
function withContext(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = new Array<boolean>(lines.length).fill(false)
  for (const [index, { kind }] of lines.entries())
    if (kind !== 'same')
      isNear.fill(true, Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1))
  const shown: DiffLine[] = []
  for (const [index, line] of lines.entries()) {
    if (isNear[index]) shown.push(line)
    else if (shown.length > 0 && shown.at(-1)?.kind !== 'gap')
      shown.push({ kind: 'gap', text: '', line: line.line })
  }
  return shown.at(-1)?.kind === 'gap' ? shown.slice(0, -1) : shown
}
