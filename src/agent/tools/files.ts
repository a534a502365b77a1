// File access for the tools: resolves paths, tracks which files were read, and serialises changes.
import { isUtf8 } from 'node:buffer'
import { createHash, randomUUID } from 'node:crypto'
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { closestNames } from '../../lib/index.ts'
import { type Access, accessTo, isWithin, resolvePath } from '../accesses.ts'

/** The file access that all tools of a session share. */
export type Files = {
  readonly directory: string
  readonly resolve: (path: unknown) => string
  /** The access of a call that names this path. */
  readonly access: (path: unknown, kind: Access['kind'], isEntry?: true) => Promise<Access>
  /** A path for display, relative to the working folder. */
  readonly shown: (path: string) => string
  /** Reads a regular file and marks it as read; throws an explanation for anything else. */
  readonly read: (path: string) => Promise<Buffer>
  /** The text of a file that was read and has not changed since; throws otherwise. */
  readonly fresh: (path: string) => Promise<string>
  readonly write: (path: string, text: string) => Promise<void>
  /** Runs one change at a time: calls run in parallel, and two edits of a file must not undo each other. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
}

const MAX_FILE_BYTES = 50_000_000

/** Creates file access relative to a working folder. */
export function createFiles(directory: string): Files {
  const read = new Map<string, string>()
  let last: Promise<unknown> = Promise.resolve()
  const shown = (path: string) => {
    if (path === directory) return '.'
    return isWithin(path, directory) ? relative(directory, path) : path
  }
  const load = async (path: string) => {
    const { size } = await regularFile(path, shown)
    if (size > MAX_FILE_BYTES)
      throw new Error(
        `${shown(path)} has ${size} bytes, too many to read at once. Use Grep, or Bash with head.`,
      )
    return readFile(path)
  }
  return {
    directory,
    resolve: (path) => resolvePath(directory, String(path)),
    async access(path, kind, isEntry) {
      const found = await stat(resolvePath(directory, String(path))).catch(() => undefined)
      const isRecursive = found?.isDirectory() ?? false
      return accessTo(directory, String(path), kind, { isRecursive, ...(isEntry ? { isEntry } : {}) })
    },
    shown,
    async read(path) {
      const bytes = await load(path)
      read.set(path, printOf(bytes))
      return bytes
    },
    async fresh(path) {
      const bytes = await load(path)
      const known = read.get(path)
      if (known === undefined)
        throw new Error(`${shown(path)} exists and was not read in this session. Read it first.`)
      if (known !== printOf(bytes))
        throw new Error(
          `${shown(path)} has changed since it was read. Read it again, then repeat the change.`,
        )
      return decodeText(bytes, shown(path))
    },
    async write(path, text) {
      await mkdir(dirname(path), { recursive: true })
      await replaceFile(path, text)
      read.set(path, printOf(Buffer.from(text)))
    },
    inTurn(work) {
      const turn = last.then(work)
      last = turn.catch(() => {})
      return turn
    },
  }
}

/** Returns whether the path exists, even as a broken link. */
export async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** Decodes UTF-8 text; throws for binary content. */
export function decodeText(bytes: Buffer, name: string): string {
  if (isBinary(bytes))
    throw new Error(
      `${name} is not text in UTF-8 (${bytes.length} bytes). Look at it with Bash, e.g. file or xxd.`,
    )
  return bytes.toString('utf8')
}

const PROBE = 8192

/** Returns whether a content is not UTF-8 text. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, PROBE).includes(0) || !isUtf8(bytes)
}

function printOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64')
}

async function regularFile(path: string, shown: (path: string) => string): Promise<{ size: number }> {
  const found = await stat(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    throw new Error(await describeMissing(path, shown))
  })
  if (found.isDirectory()) throw new Error(await listing(path, shown))
  if (!found.isFile()) throw new Error(`${shown(path)} is neither a file nor a folder and cannot be read.`)
  return found
}

/** Describes a missing file: similar names, or the missing folder. */
export async function describeMissing(
  path: string,
  shown: (path: string) => string,
  kind: 'file' | 'folder' = 'file',
): Promise<string> {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => undefined)
  if (!names) {
    const why = folder === path ? '' : ` ${shown(folder)} is not a folder.`
    return `There is no ${kind} ${shown(path)}.${why} Find it with Glob.`
  }
  const near = closestNames(basename(path), names).map((name) => shown(resolve(folder, name)))
  return `There is no ${kind} ${shown(path)}.${near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ' Find it with Glob.'}`
}

const MAX_LISTED = 100

async function listing(path: string, shown: (path: string) => string): Promise<string> {
  const entries = (await readdir(path, { withFileTypes: true }))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
  const rest = entries.length - MAX_LISTED
  const more = rest > 0 ? `\n(${rest} more; list them with Glob)` : ''
  return `${shown(path)} is a folder. It holds:\n${entries.slice(0, MAX_LISTED).join('\n')}${more}`
}

/** Replaces a file atomically; keeps its mode and links to it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path)
  const mode = await stat(target).then(
    (found) => found.mode,
    () => undefined,
  )
  const draft = join(dirname(target), `.${randomUUID()}.draft`)
  try {
    await writeFile(draft, text, mode === undefined ? {} : { mode })
    // The umask may have removed permissions that the old file had.
    if (mode !== undefined) await chmod(draft, mode)
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
