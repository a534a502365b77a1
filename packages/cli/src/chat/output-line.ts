// The output of a slash command: lines, some with a label, aligned in columns.
import type { Item } from './items.ts'

/** A line of output, with an optional label. */
export type OutputLine = string | { readonly lead: string; readonly text: string }

export function itemOf(kind: 'output' | 'notice', line: OutputLine): Item {
  return typeof line === 'string' ? { kind, text: line } : { kind, ...line }
}

/** Makes a line with a label, padded to this width. */
export function withLabel(label: string, text: string, width: number): OutputLine {
  return { lead: `${label.padEnd(width)} `, text }
}

const WIDEST = 40

/** Makes lines with names and descriptions in two columns; a long name gets a line of its own. */
export function inColumns(entries: readonly (readonly [name: string, text: string])[]): OutputLine[] {
  const short = entries.map(([name]) => name.length).filter((length) => length <= WIDEST)
  const width = Math.max(3, ...short) + 1
  return entries.flatMap(([name, text]) =>
    name.length > WIDEST ? [name, withLabel('', text, width)] : [withLabel(name, text, width)],
  )
}
