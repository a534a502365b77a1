// Locates session files: one folder per working folder, one JSON Lines file per session.
import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { CommandError, didYouMean } from '../command.ts'

export type SessionFile = {
  /** The name that `--resume` accepts. */
  readonly name: string
  readonly file: string
  /** When it was last written to. */
  readonly time: Date
}

const ENDING = '.jsonl'
const MAX_NAME_LENGTH = 120
const MAX_NAMED = 3

/** Returns `$XDG_DATA_HOME/toolshelf`, else `~/.local/share/toolshelf`. */
export function dataFolder(
  environment: { readonly [name: string]: string | undefined } = process.env,
  home: string = homedir(),
): string {
  const { XDG_DATA_HOME: data } = environment
  return join(data && isAbsolute(data) ? data : join(home, '.local', 'share'), 'toolshelf')
}

/** Returns the folder of long results of all sessions and of the gateway, which are kept until they expire. */
export function resultsFolder(): string {
  return join(dataFolder(), 'results')
}

/**
 * Returns the folder of a working folder's sessions. It is named after that folder, with a hash if another could have
 * the same name.
 */
export function sessionsFolder(directory: string): string {
  const path = resolve(directory)
  const name = path.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(-MAX_NAME_LENGTH)
  const isPlain = /^[A-Za-z0-9._/]+$/.test(path) && path.length <= MAX_NAME_LENGTH
  const hash = isPlain ? '' : `-${createHash('sha256').update(path).digest('hex').slice(0, 8)}`
  return join(dataFolder(), 'sessions', `${name}${hash}`)
}

/** Returns the path for a new session. */
export function newSessionFile(directory: string): string {
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[:T]/g, '-')
  return join(sessionsFolder(directory), `${time}-${randomUUID().slice(0, 8)}${ENDING}`)
}

/** Lists the sessions of a folder, newest first. */
export function sessionFiles(directory: string): SessionFile[] {
  const folder = sessionsFolder(directory)
  return namesIn(folder)
    .filter((name) => name.endsWith(ENDING))
    .flatMap((name) => {
      const file = join(folder, name)
      const time = lastWritten(file)
      return time ? [{ name: name.slice(0, -ENDING.length), file, time }] : []
    })
    .sort((a, b) => b.time.getTime() - a.time.getTime() || (a.name < b.name ? 1 : -1))
}

/**
 * Resolves the file that `--resume` means: `last`, the name of a session of this folder or its start, else a path. A
 * word without a dot or a slash is never a path: a folder could contain files whose names start like a session's.
 */
export function findSession(requested: string, directory: string): string {
  const sessions = sessionFiles(directory)
  if (requested === 'last') return lastOf(sessions, directory)
  const wanted = requested.endsWith(ENDING) ? requested.slice(0, -ENDING.length) : requested
  const begun = sessions.filter(({ name }) => wanted !== '' && name.startsWith(wanted))
  const found = begun.find(({ name }) => name === wanted) ?? begun[0]
  if (found && (begun.length === 1 || found.name === wanted)) return found.file
  const path = resolve(requested)
  if (/[./\\]/.test(requested) && lastWritten(path)) return path
  const names = begun.map(({ name }) => name)
  if (names.length > 0)
    throw new CommandError(
      `"${requested}" matches ${names.length} sessions: ${listed(names)}. Write more of the name.`,
    )
  const near = didYouMean(wanted, ['last', ...sessions.map(({ name }) => name)])
  throw new CommandError(`no such file or session: "${requested}"${near || '.'} ${whereabouts(directory)}`)
}

export function resumeOptions(file: string, directory: string): string {
  if (dirname(file) !== sessionsFolder(directory)) return `--resume ${file}`
  const option = resolve(directory) === process.cwd() ? '' : ` --directory ${directory}`
  return `--resume ${basename(file, ENDING)}${option}`
}

/** Says where the sessions of a folder are, and how to list them. */
export function whereabouts(directory: string): string {
  const option = resolve(directory) === process.cwd() ? '' : ` --directory ${directory}`
  return `Sessions of this folder are stored in ${sessionsFolder(directory)}; "toolshelf chat --list${option}" lists them.`
}

function lastOf([last]: readonly SessionFile[], directory: string): string {
  if (last) return last.file
  throw new CommandError(`no session found in ${sessionsFolder(directory)}.`)
}

/** Returns undefined for anything but a file. */
function lastWritten(path: string): Date | undefined {
  try {
    const about = statSync(path)
    return about.isFile() ? about.mtime : undefined
  } catch {
    return undefined
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new CommandError(`cannot list the sessions in ${folder}: ${(error as Error).message}`)
  }
}

function listed(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ', …' : ''
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`
}
