// Renders a change of a client's file as the lines that go and come, with secrets hidden. Shows the servers' part alone:
// the rest of a client's file is none of our business.
import { fileChange } from '../agent/index.ts'
import type { MovedPart } from '../mcp/config/index.ts'
import type { ServerConfig } from '../mcp/index.ts'
import { createTextRedactor } from '../mcp/redact/index.ts'
import { fit } from '../terminal/index.ts'

const MOST_LINES = 80
const MOST_COLUMNS = 200

/** `servers`: those whose secrets the parts may hold. */
export function changedLines(parts: readonly MovedPart[], servers: readonly ServerConfig[]): string[] {
  const redact = createTextRedactor(servers)
  const lines = parts.flatMap(({ before, after }) =>
    linesOf(redact(spread(before)), redact(spread(after))).map((line) => fit(line, MOST_COLUMNS)),
  )
  const left = lines.length - MOST_LINES
  return left > 0 ? [...lines.slice(0, MOST_LINES), `… and ${left} more lines`] : lines
}

function linesOf(before: string, after: string): string[] {
  const changed = fileChange('', before, after).lines
  return changed.flatMap(({ kind, text }) =>
    kind === 'removed' ? [`- ${text}`] : kind === 'added' ? [`+ ${text}`] : [],
  )
}

/**
 * One server a line, where all of them are on one line, and no commas at ends of lines: a server that stays must not be
 * shown because the one behind it goes.
 */
function spread(text: string): string {
  const isOneLine = !text.trim().includes('\n')
  const lines = isOneLine
    ? text
        .replace(/^\s*\{\s*(?=")/, '{\n')
        .replace(/\},\s*(?=")/g, '},\n')
        .replace(/\s*\}\s*$/, '\n}')
    : text
  return lines.replace(/,[ \t]*(?=\r?$)/gm, '')
}
