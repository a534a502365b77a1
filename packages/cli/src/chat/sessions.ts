// `/sessions`: lists the conversations of this folder, and how to resume each.
import { resolve } from 'node:path'
import { listSessions, localTime, type SessionEntry } from '../sessions.ts'
import { resumeOptions, sessionFiles } from '../user-files/session-files.ts'

const MAX_SHOWN = 10
const MAX_WORDS_LENGTH = 48

/** Lists the sessions of a folder; `file` is the current one. */
export function sessionLines(directory: string, file: string): string[] {
  const found = listSessions(directory, MAX_SHOWN)
  if (found.length === 0)
    return ['No sessions in this folder yet; this one is saved with your first message.']
  const older = sessionFiles(directory).length - found.length
  const option = resolve(directory) === process.cwd() ? '' : ` --directory ${directory}`
  return [
    ...found.flatMap((entry) => [
      `${localTime(entry.time)}  ${aboutOf(entry)}${entry.file === file ? '  (this one)' : ''}`,
      `  toolshelf chat ${resumeOptions(entry.file, directory)}`,
    ]),
    ...(older > 0 ? [`… and ${older} older: toolshelf chat --list${option}`] : []),
  ]
}

function aboutOf({ messages, words, isBroken }: SessionEntry): string {
  if (isBroken) return 'it cannot be read'
  const first = words.length > MAX_WORDS_LENGTH ? `${words.slice(0, MAX_WORDS_LENGTH - 1)}…` : words
  return `${messages} ${messages === 1 ? 'message' : 'messages'}  ${first}`.trimEnd()
}
