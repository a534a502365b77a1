// Renders the difference between two versions of a text that was edited in one place as a unified diff.

const CONTEXT = 3

/** Returns the diff; empty if the texts are the same. */
export function unifiedDiff(name: string, before: string, after: string): string {
  if (before === after) return ''
  const [old, young] = [linesOf(before), linesOf(after)]
  const shortest = Math.min(old.length, young.length)
  let start = 0
  while (start < shortest && old[start] === young[start]) start++
  let end = 0
  while (end < shortest - start && old.at(-1 - end) === young.at(-1 - end)) end++
  const from = Math.max(0, start - CONTEXT)
  const shared = Math.min(CONTEXT, end)
  const hunk = [
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...young.slice(start, young.length - end).map((line) => `+${line}`),
    ...old.slice(old.length - end, old.length - end + shared).map((line) => ` ${line}`),
  ]
  const sizeOf = (lines: readonly string[]) => lines.length - end + shared - from
  const place = `@@ -${from + 1},${sizeOf(old)} +${from + 1},${sizeOf(young)} @@`
  return `${[`--- ${name}`, `+++ ${name}`, place, ...hunk].join('\n')}\n`
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
