// Records every file that `connect --apply` changes, with a copy of the original, so that it can be undone. The record is
// complete before the first file changes, so this also works after an interruption.
import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fieldsOf, isFields, listOf, textOf } from '@toolshelf/core/internal'
import { type FileRights, JsonFile } from '@toolshelf/core/internal/node'
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
export type Journal = {
  /** Runs alone among all processes that use this journal. */
  alone<Result>(use: () => Promise<Result>): Promise<Result>
  /** Copies the files and writes the record. */
  add(writes: readonly FileWrite[]): Promise<ApplyRecord>
  /** All records, the newest first. Throws for one that cannot be read. */
  records(): Promise<readonly ApplyRecord[]>
  /** The content of a copy. */
  copyOf(file: RecordedFile): Promise<Buffer>
  /** Saves another copy, such as one of a file that is about to be overwritten, and returns its path. */
  save(name: string, bytes: Buffer): Promise<string>
  /** Deletes copies that no record names: those of a run that ended before it changed anything. */
  sweep(): Promise<void>
  /** Drops files from a record, and the record with its copies once it is empty. */
  drop(record: ApplyRecord, files: readonly RecordedFile[]): Promise<ApplyRecord>
}

/** Names of records, and of copies and unfinished files. */
const RECORD = /^\d{4}-[\dTZ-]+-[\da-f]{8}\.json$/
const COPY = /^\d{4}-[\dTZ-]+-[\da-f]{8}[-.]/

/** Opens the journal in a folder, which is created at the first write. */
export function openJournal(folder: string): Journal {
  const pathOf = (id: string) => join(folder, `${id}.json`)
  const save = async (name: string, bytes: Buffer) => {
    const path = join(folder, name)
    await new JsonFile(path).write(bytes)
    return path
  }
  const write = (record: ApplyRecord) =>
    save(`${record.id}.json`, Buffer.from(`${JSON.stringify(record, null, 2)}\n`))
  return {
    alone: (use) => new JsonFile(join(folder, 'journal')).alone(use),
    async add(writes) {
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
    async records() {
      const names = await readdir(folder).catch(() => [])
      const own = names.filter((name) => RECORD.test(name))
      const read = own.sort().reverse()
      return Promise.all(read.map(async (name) => asRecord(await readFile(join(folder, name), 'utf8'), name)))
    },
    copyOf: ({ copy }) => (copy === undefined ? Promise.resolve(Buffer.alloc(0)) : readFile(copy)),
    save,
    async sweep() {
      const names = await readdir(folder).catch(() => [])
      const kept = names.filter((name) => RECORD.test(name)).map((name) => name.replace(/\.json$/, ''))
      const copies = names.filter((name) => COPY.test(name) && !kept.some((id) => name.startsWith(id)))
      for (const name of copies) await rm(join(folder, name), { force: true })
    },
    async drop(record, files) {
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
