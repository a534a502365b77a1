// Writes planned changes: a record with copies first, then our own configuration, then each client's file.
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type FileRights, JsonFile, replaceFile } from '@toolshelf/core/internal/node'
import type { FileWrite, Journal } from './journal.ts'

/** The outcome for one file; without a problem, it was written. */
export type WriteOutcome = { readonly write: FileWrite; readonly problem?: string }

/** Thrown if a file changed between reading and writing it. */
export class ChangedMeanwhile extends Error {}

/**
 * Writes the planned changes. Rejects before anything is written if our own file has changed meanwhile or nothing can
 * be recorded. A client's file that changed meanwhile or cannot be written is left alone, and the others are written.
 */
export function commitWrites(
  journal: Journal,
  own: FileWrite | undefined,
  clients: readonly FileWrite[],
): Promise<readonly WriteOutcome[]> {
  return journal.alone(async () => {
    if (own && !(await isUnchanged(own))) throw new ChangedMeanwhile(CHANGED)
    const checked = await Promise.all(clients.map(check))
    const writable = checked.filter(({ problem }) => problem === undefined).map(({ write }) => write)
    if (writable.length === 0) return checked
    await journal.add(own ? [own, ...writable] : writable)
    if (own) await writeOwn(own)
    const written: WriteOutcome[] = []
    for (const one of checked) written.push(one.problem === undefined ? await writeOne(one.write) : one)
    return written
  })
}

const CHANGED = 'it has changed meanwhile; run the command again'

async function check(write: FileWrite): Promise<WriteOutcome> {
  if (!(await isUnchanged(write))) return { write, problem: CHANGED }
  return isReadOnly(write.rights) ? { write, problem: 'it is read-only; make it writable first' } : { write }
}

async function isUnchanged({ file, before }: FileWrite): Promise<boolean> {
  const current = await readCurrent(file)
  return before === undefined ? current === undefined : current !== undefined && before.equals(current)
}

/** Renaming would replace a file that its owner protects. */
const isReadOnly = ({ mode }: FileRights) => (mode & 0o222) === 0

/** Writes our own file, which may contain secrets of clients, readable by the owner only. */
async function writeOwn({ file, after }: FileWrite): Promise<void> {
  await new JsonFile(file).write(after)
}

async function writeOne(write: FileWrite): Promise<WriteOutcome> {
  try {
    await replaceFile(write.file, write.after, write.rights)
    return { write }
  } catch (error) {
    return { write, problem: `it cannot be written (${codeOf(error)})` }
  }
}

/** Reads a file; returns undefined if it does not exist. */
export async function readCurrent(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? String(error)

/** Replaces the content of a file, or removes the file. Rejects if its content is no longer `current`. */
export function putBack(
  journal: Journal,
  file: string,
  current: Buffer | undefined,
  content: Buffer | undefined,
  rights: FileRights | undefined,
): Promise<void> {
  return journal.alone(async () => {
    const now = await readCurrent(file)
    const isSame = current === undefined ? now === undefined : now !== undefined && current.equals(now)
    if (!isSame) throw new ChangedMeanwhile(CHANGED)
    if (content === undefined) return rm(file, { force: true })
    await mkdir(dirname(file), { recursive: true })
    await replaceFile(file, content, rights ?? (await rightsOf(file)))
  })
}

async function rightsOf(file: string): Promise<FileRights> {
  const { mode, uid, gid } = await stat(file)
  return { mode: mode & 0o7777, uid, gid }
}
