// Renders a change of a client's file as removed and added lines, with secrets hidden. Shows only the part with the
// servers.
import { fileChange } from '@toolshelf/core/internal'
import type { ServerConfig } from '@toolshelf/mcp'
import { createTextRedactor, type MovedPart } from '@toolshelf/mcp/internal'
import { fit } from '../../terminal/pen.ts'

const MAX_LINES = 80
const MAX_COLUMNS = 200

/** Renders the changed parts; `servers` are those whose secrets the parts may contain. */
export function changedLines(
  parts: readonly Omit<MovedPart, 'path'>[],
  servers: readonly ServerConfig[],
): string[] {
  const redact = createTextRedactor(servers)
  const lines = parts.flatMap(({ before, after }) =>
    linesOf(redact(spread(before)), redact(spread(after))).map((line) => fit(line, MAX_COLUMNS)),
  )
  const left = lines.length - MAX_LINES
  return left > 0 ? [...lines.slice(0, MAX_LINES), `… and ${left} more lines`] : lines
}

function linesOf(before: string, after: string): string[] {
  const changed = fileChange('', before, after).lines
  return changed.flatMap(({ kind, text }) =>
    kind === 'removed' ? [`- ${text}`] : kind === 'added' ? [`+ ${text}`] : [],
  )
}

/**
 * Puts each server on its own line if all are on one, and removes trailing commas, so that a kept server does not appear
 * as changed because the one after it is removed.
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
