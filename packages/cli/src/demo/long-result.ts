// Measures one long result of a real server with and without the shelf: a log, of which the model needs the error.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createShelf, estimateTokens, type ToolResult } from '@toolshelf/core'
import type { McpHost } from '@toolshelf/mcp'

export type LongResultFigures = {
  /** Characters of the result. */
  readonly characters: number
  /** Tokens of the whole result. */
  readonly tokensWithout: number
  /** Tokens of its preview, and of a search for the error in it. */
  readonly tokensWith: number
}

const LINES = 2000
const READ = 'mcp__filesystem__read_text_file'

/** Measures the result; undefined if the server does not return the whole log. */
export async function measureLongResult(
  host: McpHost,
  folder: string,
): Promise<LongResultFigures | undefined> {
  const path = join(folder, 'build.log')
  await writeFile(path, log())
  const call = { id: 'toolu_log', name: READ, input: { path } }
  const whole = await host.run(call)
  const shelf = createShelf({ results: true, notify: () => {} })
  const preview = await shelf.shelve(call, whole)
  const [kept] = shelf.results()
  if (!kept) return undefined
  const search = { handle: kept.handle, search: 'ERROR' }
  const read = await shelf.answer({ id: 'toolu_read', name: 'ReadResult', input: search })
  return {
    characters: kept.size,
    tokensWithout: tokensOf(whole),
    tokensWith: tokensOf(preview) + (read ? tokensOf(read) : 0),
  }
}

/** The same on every run. */
function log(): string {
  return Array.from({ length: LINES }, (_, line) => {
    const time = `2026-11-17T10:${String(Math.floor(line / 60) % 60).padStart(2, '0')}:${String(line % 60).padStart(2, '0')}Z`
    return line === 1311
      ? `${time} ERROR test launch-date: expected Friday, got Thursday`
      : `${time} INFO  built module ${line} of ${LINES}`
  }).join('\n')
}

function tokensOf({ content }: ToolResult): number {
  return content.reduce((sum, block) => sum + (block.type === 'text' ? estimateTokens(block.text) : 0), 0)
}
