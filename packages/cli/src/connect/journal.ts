// Records every file that `connect --apply` changes, with a copy of the original, so that it can be undone. The record is
// complete before the first file changes, so this also works after an interruption. Writes them, and deletes what is left over.
import { createHash, randomUUID } from 'node:crypto'
import { lstat, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fieldsOf, isFields, listOf, textOf } from '@toolshelf/core/internal'
import { type FileRights, isTemporaryFor, JsonFile, replaceFile } from '@toolshelf/core/internal/node'
import type { MovedPart } from '@toolshelf/mcp/internal'

export type RecordedFile = {
  readonly file: string
  readonly clients: readonly string[]
  /** It is our own configuration. */
  readonly isOwn: boolean
  readonly rights: FileRights
  /** The copy of the original; undefined if there was no such file. */
  readonly copy: string | undefined
  /** Hash of the original; `after` is that of the changed file. */
  readonly before: string
  readonly after: string
  readonly parts: readonly MovedPart[]
}

/** All files that one `connect --apply` changed. */
export type ApplyRecord = {
  readonly id: string
  readonly at: string
  readonly files: readonly RecordedFile[]
}

/** A planned change of a file. */
export type FileWrite = Pick<RecordedFile, 'file' | 'clients' | 'isOwn' | 'rights' | 'parts'> & {
  /** Undefined if there is no such file yet. */
  readonly before: Buffer | undefined
  readonly after: Buffer
}

/** The records and copies in one folder. */
export type Journal = ReturnType<typeof openJournal>

/** Names of records, and of copies and unfinished files. */
const RECORD = /^\d{4}-[\dTZ-]+-[\da-f]{8}\.json$/
const COPY = /^\d{4}-[\dTZ-]+-[\da-f]{8}[-.]/

/** Opens the journal in a folder, which is created at the first write. */
export function openJournal(folder: string) {
  const pathOf = (id: string) => join(folder, `${id}.json`)
  const save = async (name: string, bytes: Buffer) => {
    const path = join(folder, name)
    await new JsonFile(path).write(bytes)
    return path
  }
  const write = (record: ApplyRecord) =>
    save(`${record.id}.json`, Buffer.from(`${JSON.stringify(record, null, 2)}\n`))
  return {
    /** Runs alone among all processes that use this journal. */
    alone: <Result>(use: () => Promise<Result>) => new JsonFile(join(folder, 'journal')).alone(use),
    /** Copies the files and writes the record. */
    async add(writes: readonly FileWrite[]) {
      const at = new Date().toISOString()
      const id = `${at.replace(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}`
      const files: RecordedFile[] = []
      for (const [index, { before, after, ...rest }] of writes.entries()) {
        const name = `${id}-${index + 1}-${basename(rest.file)}`
        const copy = before && (await save(name, before))
        files.push({ ...rest, copy, before: contentHash(before), after: contentHash(after) })
      }
      const record = { id, at, files }
      await write(record)
      return record
    },
    /** All records, the newest first. Throws for one that cannot be read. */
    async records() {
      const names = await readdir(folder).catch(() => [])
      const own = names.filter((name) => RECORD.test(name))
      const read = own.sort().reverse()
      return Promise.all(read.map(async (name) => asRecord(await readFile(join(folder, name), 'utf8'), name)))
    },
    /** The content of a copy. */
    copyOf: ({ copy }: RecordedFile) =>
      copy === undefined ? Promise.resolve(Buffer.alloc(0)) : readFile(copy),
    /** Saves another copy, such as one of a file that is about to be overwritten, and returns its path. */
    save,
    /** Deletes copies that no record names: those of a run that ended before it changed anything. */
    async sweep() {
      const names = await readdir(folder).catch(() => [])
      const kept = names.filter((name) => RECORD.test(name)).map((name) => name.replace(/\.json$/, ''))
      const copies = names.filter((name) => COPY.test(name) && !kept.some((id) => name.startsWith(id)))
      for (const name of copies) await rm(join(folder, name), { force: true })
    },
    /** Drops files from a record, and the record with its copies once it is empty. */
    async drop(record: ApplyRecord, files: readonly RecordedFile[]) {
      const kept = { ...record, files: record.files.filter((file) => !files.includes(file)) }
      if (kept.files.length > 0) await write(kept)
      else await rm(pathOf(record.id), { force: true })
      for (const { copy } of files) if (copy !== undefined) await rm(copy, { force: true })
      return kept
    },
  }
}

/** Returns the hash of a content; an empty string for a file that does not exist. */
export function contentHash(bytes: Buffer | undefined): string {
  return bytes === undefined ? '' : createHash('sha256').update(bytes).digest('hex')
}

function asRecord(text: string, name: string): ApplyRecord {
  const record = JSON.parse(text) as unknown
  if (!isFields(record)) throw new Error(`${name} is not a record of toolshelf connect`)
  return {
    id: textOf(record.id),
    at: textOf(record.at),
    files: listOf(record.files).map((file) => fieldsOf(file) as RecordedFile),
  }
}

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
    // It may contain secrets of clients, so only its owner may read it.
    if (own) await new JsonFile(own.file).write(own.after)
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

async function isUnchanged({ file, before }: Pick<FileWrite, 'file' | 'before'>): Promise<boolean> {
  const current = await readCurrent(file)
  return before === undefined ? current === undefined : current !== undefined && before.equals(current)
}

/** Renaming would replace a file that its owner protects. */
const isReadOnly = ({ mode }: FileRights) => (mode & 0o222) === 0

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
    if (!(await isUnchanged({ file, before: current }))) throw new ChangedMeanwhile(CHANGED)
    if (content === undefined) return rm(file, { force: true })
    await mkdir(dirname(file), { recursive: true })
    await replaceFile(file, content, rights ?? (await rightsOf(file)))
  })
}

export async function rightsOf(file: string): Promise<FileRights> {
  const { mode, uid, gid } = await stat(file)
  return { mode: mode & 0o7777, uid, gid }
}

/** Longer than any write takes: another command may be writing our own file. */
const MIN_AGE_MS = 10_000

/**
 * Deletes what is left beside the files of all records and beside our own file. It only has names that Toolshelf gives, and a
 * client's file is only written by the `connect` that holds the journal. Never rejects.
 */
export async function deleteLeftovers(journal: Journal, ourFile: string): Promise<void> {
  try {
    const files = (await journal.records()).flatMap((record) => record.files)
    const ours = files.filter(({ isOwn }) => isOwn).map(({ file }) => file)
    for (const file of new Set([ourFile, ...ours])) await deleteBeside(file, MIN_AGE_MS)
    if (files.length === 0) return
    await journal.alone(async () => {
      const clients = files.filter(({ isOwn }) => !isOwn).map(({ file }) => file)
      for (const file of new Set(clients)) await deleteBeside(file, 0)
    })
  } catch {
    // A later step reports what cannot be read or written.
  }
}

async function deleteBeside(file: string, minAgeMs: number): Promise<void> {
  const folder = dirname(file)
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((one) => isTemporaryFor(one, basename(file)))) {
    const path = join(folder, name)
    const status = await lstat(path).catch(() => undefined)
    if (status?.isFile() && Date.now() - status.mtimeMs >= minAgeMs)
      await rm(path, { force: true }).catch(() => {})
  }
}
