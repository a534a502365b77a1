// Stores pins on disk: one file per server, replaced atomically, so that a reader never sees half of one.
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { lockFile } from '../../node/index.ts'
import type { ListedTool } from '../types.ts'

/** What can be pinned: tools, prompts and a server's instructions. */
export type PinKind = 'tool' | 'prompt' | 'instructions'

/** The accepted version of a definition, and newer ones. */
export type Pin = {
  /** The kind of definition. Default: a tool. */
  readonly kind?: Exclude<PinKind, 'tool'>
  readonly name: string
  readonly accepted: Seen
  /** The definition that was accepted before, so that accepting can be undone. */
  readonly previous?: Seen
  /** The newest definition, if it differs. */
  readonly newest?: Seen
  /**
   * Whether the server no longer lists it. It stays pinned, so that removing and re-adding a tool does not accept a
   * change.
   */
  readonly isMissing?: true
}

/** A version of a definition. */
export type Seen = {
  readonly hash: string
  /** When it was first seen, or when the first pending change was seen. */
  readonly since: string
  /** The definition; undefined if it is too large to be stored. */
  readonly definition?: ListedTool
}

/** Pins by `pinKey`. */
export type PinnedTools = ReadonlyMap<string, Pin>

/** Returns the key of a pin. */
export function pinKey(kind: PinKind, name: string): string {
  return `${kind} ${name}`
}

/** The stored pins of all servers. */
export type PinFiles = {
  /** Returns the pins of a server; undefined for an unknown one. Like all of these methods, never rejects. */
  read(server: string): Promise<PinnedTools | undefined>
  write(server: string, pins: PinnedTools): Promise<void>
  /** Deletes the pins of a server; returns false if there were none. */
  remove(server: string): Promise<boolean>
  all(): Promise<ReadonlyMap<string, PinnedTools>>
  /** Runs the work while no other process changes the server's file. */
  alone<Result>(server: string, work: () => Promise<Result>): Promise<Result>
  /** Notifies other processes that the user decided about a server's pins. */
  announce?(server: string): Promise<void>
}

const VERSION = 1
const KINDS: ReadonlySet<unknown> = new Set(['prompt', 'instructions'])
/** Characters of definitions in one file; beyond it, only hashes are stored. */
const MAX_CHARACTERS = 4_000_000

/** Opens the pins in a folder; without one they are kept in memory. */
export function openPinFiles(folder: string | undefined, notify: (message: string) => void): PinFiles {
  return new PinFolder(folder, notify)
}

class PinFolder implements PinFiles {
  readonly #folder: string | undefined
  readonly #notify: (message: string) => void
  /** Pins that could not be written, by server. */
  readonly #memory = new Map<string, PinnedTools>()
  /** Files that exist but cannot be read: never overwritten. */
  readonly #unread = new Set<string>()
  #hasTold = false

  constructor(folder: string | undefined, notify: (message: string) => void) {
    this.#folder = folder
    this.#notify = notify
  }

  async read(server: string): Promise<PinnedTools | undefined> {
    const path = this.#pathOf(server)
    const kept = this.#memory.get(server)
    if (kept || path === undefined) return kept
    try {
      const file = await this.#readPath(path)
      this.#unread.delete(server)
      return file && pinsByKey(file)
    } catch (error) {
      if (isAbsent(error)) return undefined
      this.#unread.add(server)
      this.#tellOnce(error)
      return undefined
    }
  }

  async write(server: string, pins: PinnedTools): Promise<void> {
    const path = this.#pathOf(server)
    if (path === undefined || this.#unread.has(server)) return void this.#memory.set(server, pins)
    try {
      await replace(path, printPins(server, pins))
      this.#memory.delete(server)
    } catch (error) {
      this.#memory.set(server, pins)
      this.#tellOnce(error)
    }
  }

  async remove(server: string): Promise<boolean> {
    const wasKept = this.#memory.delete(server)
    const path = this.#pathOf(server)
    if (path === undefined) return wasKept
    try {
      await rm(path)
      return true
    } catch (error) {
      if (!isAbsent(error)) this.#tellOnce(error)
      return wasKept
    }
  }

  async all(): Promise<ReadonlyMap<string, PinnedTools>> {
    const found = new Map<string, PinnedTools>()
    for (const path of await this.#paths()) {
      const file = await this.#readPath(path).catch((error: unknown) => this.#tellOnce(error))
      if (file && path === this.#pathOf(file.server)) found.set(file.server, pinsByKey(file))
    }
    return new Map([...found, ...this.#memory].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  async alone<Result>(server: string, work: () => Promise<Result>): Promise<Result> {
    const path = this.#pathOf(server)
    const release = path === undefined ? undefined : await lock(`${path}.lock`)
    try {
      return await work()
    } finally {
      await release?.().catch(() => {})
    }
  }

  #tellOnce(error: unknown): void {
    if (!this.#hasTold)
      this.#notify(`cannot store pins in ${this.#folder} (${reasonOf(error)}); they apply to this run only.`)
    this.#hasTold = true
  }

  #pathOf(server: string): string | undefined {
    return this.#folder === undefined ? undefined : join(this.#folder, fileNameOf(server))
  }

  async #paths(): Promise<string[]> {
    const folder = this.#folder
    if (folder === undefined) return []
    const names = await readdir(folder).catch((error) => {
      if (!isAbsent(error)) this.#tellOnce(error)
      return []
    })
    return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name))
  }

  async #readPath(path: string): Promise<PinFile | undefined> {
    const text = await readFile(path, 'utf8')
    try {
      return parsePins(text)
    } catch (error) {
      await this.#setAside(path, reasonOf(error))
      return undefined
    }
  }

  async #setAside(path: string, reason: string): Promise<void> {
    this.#notify(
      `${path} is broken (${reason}). It was renamed to ${path}.broken, and that server's tools are pinned again.`,
    )
    await rename(path, `${path}.broken`).catch((error) => {
      if (!isAbsent(error)) this.#tellOnce(error)
    })
  }
}

/** Milliseconds; reading and writing a file takes far less. */
const MAX_HOLD_MS = 5000

/** Locks a file; returns undefined if no lock can be created, because no file can be written then either. */
async function lock(path: string): Promise<(() => Promise<void>) | undefined> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    return await lockFile(path, MAX_HOLD_MS)
  } catch {
    return undefined
  }
}

/**
 * The content of a file.
 * @internal
 */
export type PinFile = { readonly version: number; readonly server: string; readonly tools: readonly Pin[] }

/**
 * Returns the pins of a file by key.
 * @internal
 */
export function pinsByKey({ tools }: PinFile): PinnedTools {
  return new Map(tools.map((pin) => [pinKey(pin.kind ?? 'tool', pin.name), pin]))
}

/**
 * Returns the file name of a server: a readable part, and a hash, since names may differ only in characters that a file
 * name cannot contain.
 */
function fileNameOf(server: string): string {
  const readable = server.replace(/[^A-Za-z0-9-]+/g, '_').slice(0, 40)
  return `${readable}-${createHash('sha256').update(server).digest('hex').slice(0, 16)}.json`
}

async function replace(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUID()}`
  try {
    await writeFile(temporary, text, { mode: 0o600, flush: true })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {}) // The error above is the one to report.
    throw error
  }
}

/**
 * Writes one line per tool, so that files are easy to compare.
 * @internal
 */
export function printPins(server: string, pins: PinnedTools): string {
  let characters = 0
  const lines = [...pins.values()].map((pin) => {
    const line = characters < MAX_CHARACTERS ? JSON.stringify(pin) : ''
    characters += line.length
    return line !== '' && characters <= MAX_CHARACTERS ? line : JSON.stringify(withoutDefinitions(pin))
  })
  return `{"version":${VERSION},"server":${JSON.stringify(server)},"tools":[\n${lines.join(',\n')}\n]}\n`
}

function withoutDefinitions({ accepted, newest, previous: _, ...pin }: Pin): Pin {
  const bare = ({ hash, since }: Seen) => ({ hash, since })
  return { ...pin, accepted: bare(accepted), ...(newest && { newest: bare(newest) }) }
}

/**
 * Parses a file; throws if it is not valid.
 * @internal
 */
export function parsePins(text: string): PinFile {
  const file = JSON.parse(text) as PinFile
  if (file?.version !== VERSION) throw new Error('it is of another version')
  if (typeof file.server !== 'string' || !Array.isArray(file.tools) || !file.tools.every(isPin))
    throw new Error('it does not contain pins')
  return file
}

function isPin(value: Pin | null): boolean {
  return (
    (value?.kind === undefined || KINDS.has(value.kind)) &&
    typeof value?.name === 'string' &&
    isSeen(value.accepted) &&
    (!value.previous || isSeen(value.previous)) &&
    (!value.newest || isSeen(value.newest))
  )
}

function isSeen(value: Seen | undefined): boolean {
  const isDefinition = value?.definition === undefined || typeof value.definition?.name === 'string'
  return typeof value?.hash === 'string' && typeof value.since === 'string' && isDefinition
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
