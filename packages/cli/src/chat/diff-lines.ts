// Renders the change of a file as coloured lines.
import type { DiffLine, FileChange } from '@toolshelf/core/internal'
import { visible } from '../terminal/table.ts'
import type { StyledLine } from './styled.ts'

const LOOKS: { readonly [kind in DiffLine['kind']]: { readonly sign: string; readonly color: string } } = {
  added: { sign: '+', color: 'green' },
  removed: { sign: '-', color: 'red' },
  same: { sign: ' ', color: 'gray' },
  gap: { sign: '…', color: 'gray' },
}
const MAX_LINE_LENGTH = 300

/** Renders at most this many lines, and a last one with the number of lines left out. */
export function diffLines(change: FileChange, maxLines: number): StyledLine[] {
  const lines = change.lines.slice(0, maxLines)
  const left = change.lines.length - lines.length + change.left
  const width = String(Math.max(...lines.map(({ line }) => line), 1)).length
  return [
    ...lines.map((one) => ({ spans: [{ text: lineText(one, width), color: LOOKS[one.kind].color }] })),
    ...(left > 0
      ? [{ spans: [{ text: `… and ${left.toLocaleString('en-US')} more lines`, color: 'yellow' }] }]
      : []),
  ]
}

/** Returns `src/a.ts (new, 12 lines)`, or `src/a.ts (+3 −1)`. */
export function changeTitle({ path, isNew, added, removed }: FileChange): string {
  const count = isNew ? `new, ${added} ${added === 1 ? 'line' : 'lines'}` : `+${added} −${removed}`
  return `${visible(path)} (${count})`
}

function lineText({ kind, text, line }: DiffLine, width: number): string {
  if (kind === 'gap') return `${' '.repeat(width)} …`
  const left = text.length - MAX_LINE_LENGTH
  const shown = visible(text.slice(0, MAX_LINE_LENGTH)).replaceAll('\n', '?')
  const rest = left > 0 ? `… (${left} more characters)` : ''
  return `${String(line).padStart(width)} ${LOOKS[kind].sign} ${shown}${rest}`
}
