// Lists the conversations of a folder that can be resumed: `toolshelf chat --list`, and `/sessions` in a chat.
import { existsSync } from 'node:fs'
import { readTranscriptEntries, type TranscriptEntry } from '@toolshelf/agent/internal'
import type { Message } from '@toolshelf/core'
import { blocksOf, cut, textOf, toJson } from '@toolshelf/core/internal'
import { CommandError, directoryIn, type ExitCode, type Input, type Terminal } from './command.ts'
import { fit, printable } from './terminal/pen.ts'
import { type SessionFile, sessionFiles, sessionsFolder } from './user-files/session-files.ts'

/** A session with a summary of its content. */
export type SessionEntry = SessionFile & {
  readonly messages: number
  /** The user's first message, on one line. */
  readonly words: string
  /** The file cannot be read. */
  readonly isBroken: boolean
}

/** Prints the sessions of a folder, newest first. */
export function printSessions(input: Input, terminal: Terminal): ExitCode {
  const folderOption = input.text('directory')
  const directory = directoryIn(input)
  const folder = sessionsFolder(directory)
  if (input.isSet('json')) {
    terminal.print(toJson({ folder, sessions: listSessions(directory) }))
    return 0
  }
  const found = listSessions(directory, MAX_SHOWN)
  if (found.length === 0 && !existsSync(directory))
    throw new CommandError(`the folder ${directory} does not exist.`)
  if (found.length === 0) terminal.print(`No sessions in this folder yet. They are stored in ${folder}.`)
  else {
    const older = sessionFiles(directory).length - found.length
    for (const line of linesOf(found, process.stdout.columns ?? COLUMNS)) terminal.print(printable(line))
    if (older > 0) terminal.print(`… and ${older} older, which --json lists.`)
    const option = folderOption === undefined ? '' : ` --directory ${folderOption}`
    terminal.print(printable(`To resume: toolshelf chat${option} --resume <name>, or last for the newest`))
  }
  return 0
}

const MAX_SHOWN = 10
const COLUMNS = 80
const MAX_WORDS_LENGTH = 200

/** Lists the sessions of a folder, newest first, including unreadable ones. */
export function listSessions(directory: string, limit = Number.POSITIVE_INFINITY): SessionEntry[] {
  return sessionFiles(directory)
    .slice(0, limit)
    .map((session) => ({ ...session, ...contentOf(session.file) }))
}

function contentOf(file: string): Pick<SessionEntry, 'messages' | 'words' | 'isBroken'> {
  let messages = 0
  let words = ''
  const lines = { read: 0, lost: 0 }
  try {
    for (const entry of readTranscriptEntries(file)) {
      lines[entry ? 'read' : 'lost']++
      const said = messagesOf(entry)
      messages = (entry?.type === 'replace' ? 0 : messages) + said.length
      words ||= oneLine(said.map(wordsOf).find((one) => one !== '') ?? '')
    }
  } catch {
    return { messages, words, isBroken: true }
  }
  return { messages, words, isBroken: lines.read === 0 && lines.lost > 0 }
}

function messagesOf(entry: TranscriptEntry | undefined): readonly Message[] {
  return entry === undefined || entry.type === 'state' ? [] : entry.messages
}

/** Returns what the user typed, without what the agent added, such as skills; empty for a note. */
export function wordsOf(message: Message): string {
  const blocks = message?.role === 'user' ? blocksOf(message.content) : []
  if (blocks.some(({ type }) => type === 'tool_result')) return ''
  const text = textOf(blocks.findLast(({ type }) => type === 'text')?.text)
  return text.startsWith('<') ? '' : text.trim()
}

function linesOf(found: readonly SessionEntry[], columns: number): string[] {
  return found.flatMap(({ name, time, messages, words, isBroken }) => {
    const count = `${messages} ${messages === 1 ? 'message' : 'messages'}`
    const about = isBroken ? 'it cannot be read' : `${count}${words === '' ? '' : `: ${words}`}`
    return [name, fit(`  ${localTime(time)}, ${about}`, columns)]
  })
}

function oneLine(text: string): string {
  return cut(text.replaceAll(/\s+/g, ' '), MAX_WORDS_LENGTH)
}

/** Formats local time: 2026-03-01 09:30. */
export function localTime(time: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`
}
