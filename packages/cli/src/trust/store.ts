// Remembers which content of which folder the user trusted: a private file per folder, replaced atomically.
// Implements H7.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Fields, fieldsOf, isFields, listOf, textOf } from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'
import { hashOf, type TrustItem } from './items.ts'
import type { Project } from './project.ts'

/** The user's decision about a folder. */
export type TrustRecord = {
  /** Real path of the folder. */
  readonly folder: string
  readonly trusted?: Decided
  readonly refused?: Decided
}

/** A decision and the content that it is about. */
export type Decided = {
  /** ISO 8601. */
  readonly at: string
  readonly files: { readonly [path: string]: string }
  /** What was shown, to describe later changes. */
  readonly items: readonly KnownItem[]
}

/** An item as it was shown when the user decided. */
export type KnownItem = {
  readonly kind: string
  readonly title: string
  readonly file: string
  /** The hash of each line. */
  readonly lines: readonly string[]
}

/** Stores decisions by folder. */
export type TrustStore = ReturnType<typeof openTrustStore>

const VERSION = 1
const MAX_BYTES = 4_000_000
/** Lines kept to mark later changes; beyond it, changed content is shown as new. */
const MAX_LINES = 20_000

export function openTrustStore(place: string, notify: (message: string) => void) {
  const open = (name: string) => new JsonFile(join(place, name), { maxBytes: MAX_BYTES })
  const fileOf = (folder: string) => open(fileName(folder))
  const recordIn = async (file: JsonFile): Promise<TrustRecord | undefined> => {
    try {
      const text = await file.read()
      return text === undefined ? undefined : parse(text)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'ENOTDIR')
        notify(`${file.path} cannot be used, so its folder counts as not trusted: ${message}.`)
      return undefined
    }
  }
  return {
    /** Undefined if nothing was decided yet, or the record cannot be read. Never rejects. */
    async read(folder: string) {
      const record = await recordIn(fileOf(folder))
      return record?.folder === folder ? record : undefined
    },
    /** Rejects if it cannot be stored. */
    async write(record: TrustRecord) {
      await fileOf(record.folder).write(`${JSON.stringify({ version: VERSION, ...record })}\n`)
    },
    /** Returns false if there was none. */
    remove: (folder: string) => fileOf(folder).remove(),
    async list() {
      const names = await readdir(place).catch(() => [])
      const files = names.filter((name) => name.endsWith('.json')).sort()
      const records = await Promise.all(files.map((name) => recordIn(open(name))))
      return records.filter((record) => record !== undefined)
    },
  }
}

/** Makes the record of a decision about a project in its current state. Files decided about earlier stay decided. */
export function decidedNow(project: Project, before: Decided | undefined, at: Date): Decided {
  const items = project.items.map(knownItem)
  const others = (before?.items ?? []).filter(({ file }) => !project.files.has(file))
  let kept = 0
  return {
    at: at.toISOString(),
    files: { ...before?.files, ...Object.fromEntries(project.files) },
    items: [...items, ...others].filter((item) => {
      kept += item.lines.length
      return kept <= MAX_LINES
    }),
  }
}

export function knownItem({ kind, title, file, text }: TrustItem): KnownItem {
  return { kind, title, file, lines: text.split('\n').map(hashOf) }
}

/** Returns whether every file of the project was decided about in its current state. */
export function isProjectDecided(decided: Decided | undefined, { files }: Project): boolean {
  return decided !== undefined && [...files].every(([path, hash]) => hashIn(decided, path) === hash)
}

function hashIn({ files }: Decided, path: string): string | undefined {
  return Object.hasOwn(files, path) ? files[path] : undefined
}

function fileName(folder: string): string {
  const readable = folder
    .replace(/[^A-Za-z0-9-]+/g, '_')
    .slice(-40)
    .replace(/^_/, '')
  return `${readable}-${createHash('sha256').update(folder).digest('hex').slice(0, 24)}.json`
}

function parse(text: string): TrustRecord {
  const { version, folder, trusted, refused } = fieldsOf(JSON.parse(text))
  if (version !== VERSION || typeof folder !== 'string') throw new Error('it is not a record of this version')
  return {
    folder,
    ...(isFields(trusted) ? { trusted: toDecided(trusted) } : {}),
    ...(isFields(refused) ? { refused: toDecided(refused) } : {}),
  }
}

function toDecided({ at, files, items }: Fields): Decided {
  const hashes = Object.entries(fieldsOf(files)).filter(([, hash]) => typeof hash === 'string')
  return {
    at: textOf(at),
    files: Object.fromEntries(hashes) as Decided['files'],
    items: listOf(items).map((one) => toItem(fieldsOf(one))),
  }
}

function toItem({ kind, title, file, lines }: Fields): KnownItem {
  return { kind: textOf(kind), title: textOf(title), file: textOf(file), lines: listOf(lines).map(textOf) }
}
