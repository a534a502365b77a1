// Stores the input history of a folder's chats for the arrow keys: one JSON string per line, next to the sessions.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '@toolshelf/core/internal'

/** The stored input lines. */
export type TypedLines = ReturnType<typeof openTypedLines>

const MAX_LINES = 200
const MAX_LINE_LENGTH = 10_000

/** Opens the history of a folder. Disk errors are ignored, because the history is only a convenience. */
export function openTypedLines(folder: string) {
  const file = join(folder, 'typed-lines')
  const read = () => attempt(() => readFileSync(file, 'utf8').split('\n').flatMap(parsed)) ?? []
  return {
    /** Oldest first. */
    read,
    /** A line that starts with a space is not stored. */
    keep(line: string) {
      const before = read()
      if (line.startsWith(' ') || line.length > MAX_LINE_LENGTH || line === before.at(-1)) return
      const lines = [...before, line].slice(-MAX_LINES)
      // Replaced atomically: another chat reads either all of it or the previous version.
      const draft = `${file}.${process.pid}`
      attempt(() => {
        mkdirSync(folder, { recursive: true, mode: 0o700 })
        writeFileSync(draft, lines.map((one) => `${JSON.stringify(one)}\n`).join(''), { mode: 0o600 })
        renameSync(draft, file)
      })
    },
  }
}

function parsed(line: string): string[] {
  const value = parseJson(line)
  return typeof value === 'string' ? [value] : []
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
