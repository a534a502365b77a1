// Stores tool usage in `usage.json`, replaced atomically. An unreadable file is renamed, never deleted.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../lib/index.ts'
import { MAX_SESSIONS } from './learned-tools.ts'
import type { SessionUse, ToolUsage, ToolUsed } from './types.ts'

const VERSION = 1
const MAX_BYTES = 2_000_000
const MAX_TOOLS = 200
const MAX_FORGOTTEN = 500
const NOTHING: ToolUsage = { sessions: [], forgotten: [] }

/** Reads and changes the stored usage. */
export type UsageFile = {
  readonly read: () => ToolUsage
  readonly change: (change: (usage: ToolUsage) => ToolUsage) => void
}

/** Opens `usage.json`; failures are reported through `notify` and never thrown. */
export function usageFile(file: string, notify: (message: string) => void): UsageFile {
  const read = () => {
    try {
      return readUsage(file)
    } catch (error) {
      notify(`${file} cannot be used, so learning starts over: ${(error as Error).message}. ${aside(file)}`)
      return NOTHING
    }
  }
  return {
    read,
    change(change) {
      try {
        replaceFile(file, `${JSON.stringify({ version: VERSION, ...bounded(change(read())) }, null, 1)}\n`)
      } catch (error) {
        notify(`cannot record which tools this session used: ${(error as Error).message}`)
      }
    },
  }
}

function readUsage(file: string): ToolUsage {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) return NOTHING
  if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, more than ${MAX_BYTES}`)
  const saved: unknown = JSON.parse(readFileSync(file, 'utf8'))
  const { version, sessions, forgotten } = fieldsOf(saved)
  if (version !== VERSION || !Array.isArray(sessions)) throw new Error('it is not a file of this version')
  return bounded({
    sessions: sessions.filter(isFields).map(toSession),
    forgotten: listOf(forgotten)
      .map(textOf)
      .filter((name) => name !== ''),
  })
}

function toSession({ turns, searchTokens, tools }: Fields): SessionUse {
  return {
    turns: count(turns),
    searchTokens: count(searchTokens),
    tools: listOf(tools)
      .map((one) => toTool(fieldsOf(one)))
      .filter(({ tool, server, original }) => tool !== '' && server !== '' && original !== ''),
  }
}

function toTool({ tool, server, original, tokens }: Fields): ToolUsed {
  return { tool: textOf(tool), server: textOf(server), original: textOf(original), tokens: count(tokens) }
}

function count(value: unknown): number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : 0
}

function bounded({ sessions, forgotten }: ToolUsage): ToolUsage {
  return {
    sessions: sessions
      .slice(-MAX_SESSIONS)
      .map((session) => ({ ...session, tools: session.tools.slice(0, MAX_TOOLS) })),
    forgotten: forgotten.slice(-MAX_FORGOTTEN),
  }
}

function aside(file: string): string {
  try {
    renameSync(file, `${file}.broken`)
    return `The old one is now ${file}.broken.`
  } catch {
    return 'The old one stays where it is until the end of this session.'
  }
}

function replaceFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}`
  try {
    writeFileSync(temporary, text, { mode: 0o600 })
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
