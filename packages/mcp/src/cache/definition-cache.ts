// Stores on disk what each server listed last, so that search works before a server is up and without starting a lazy
// server.
import { createHmac, randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { errorMessage, type StateStore, wellFormedJson } from '@toolshelf/core/internal'
import { replaceFile } from '@toolshelf/core/internal/node'
import type { KnownServer, ServerConfig } from '../types.ts'

/** The kinds of lists that a server has besides its tools. */
export type ListKind = 'prompts' | 'resources' | 'resourceTemplates'

/** A list as stored on disk. */
export type KeptList = {
  readonly entries: readonly unknown[]
  /** Time (epoch milliseconds) until which the server says the list stays the same; 0 if it does not say. */
  readonly freshUntil: number
}

/** The stored lists of a server, by kind. */
export type KeptLists = { readonly [kind in ListKind]?: KeptList }

/** A server's definitions, stored as the server sent them; validated on reading like the server's own answer. */
export type CachedServer = {
  readonly tools: readonly unknown[]
  /** Time (epoch milliseconds) until which the server says its tools stay the same; 0 if it does not say. */
  readonly freshUntil: number
  readonly lists: KeptLists
  readonly info: { readonly name: string; readonly version: string } | undefined
  /** What the client could do that the server listed its tools for: to another it may list others. */
  readonly clientCapabilities: { readonly [name: string]: unknown }
  readonly capabilities: { readonly [name: string]: unknown }
  readonly instructions: string | undefined
  /** Whether the server speaks only the older protocol, so that probing for the newer one can be skipped for a while. */
  readonly isLegacy: boolean
}

/** What servers listed in earlier runs. */
export type DefinitionCache = {
  /** Returns the entry of a server; undefined if it is unknown or was configured differently then. Never rejects. */
  read(config: ServerConfig): Promise<(CachedServer & { readonly ageMs: number }) | undefined>
  write(config: ServerConfig, server: CachedServer): Promise<void>
}

const VERSION = 2

/** Returns `$XDG_CACHE_HOME/toolshelf/definitions`, else `~/.cache/toolshelf/definitions`. */
export function defaultCacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: cache } = environment
  const base = cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), '.cache')
  return join(base, 'toolshelf', 'definitions')
}

export function openDefinitionCache(
  folder: string,
  notify: (message: string) => void,
  now: () => number = Date.now,
): DefinitionCache {
  let key: Buffer | undefined
  return {
    async read(config) {
      try {
        key ??= await readFile(join(folder, KEY_FILE))
        const text = await readFile(join(folder, `${entryNameOf(config, key)}.json`), 'utf8')
        return parseEntry(text, now())
      } catch {
        // Missing or broken: the server lists its definitions instead.
        return undefined
      }
    },
    async write(config, server) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        key ??= await makeKey(folder)
        await replaceFile(join(folder, `${entryNameOf(config, key)}.json`), printEntry(server, now()))
      } catch (error) {
        notify(
          `cannot store definitions for the next start: ${(error as NodeJS.ErrnoException).code ?? error}`,
        )
      }
    },
  }
}

/**
 * Parses an entry; returns undefined for one of another version, and throws for a broken one.
 * @internal
 */
function parseEntry(text: string, now: number): Awaited<ReturnType<DefinitionCache['read']>> {
  const { version, at, server } = JSON.parse(text) as { version: number; at: number; server: CachedServer }
  if (version !== VERSION || !Array.isArray(server.tools)) return undefined
  return { ...server, ageMs: now - at }
}

/**
 * Writes an entry as text.
 * @internal
 */
function printEntry(server: CachedServer, now: number): string {
  return wellFormedJson(JSON.stringify({ version: VERSION, at: now, server }))
}

/** Wraps a cache so that each server's entry is read only once. */
export function rememberReads(cache: DefinitionCache): DefinitionCache {
  const reads = new WeakMap<ServerConfig, ReturnType<DefinitionCache['read']>>()
  return {
    read(config) {
      const known = reads.get(config) ?? cache.read(config)
      reads.set(config, known)
      return known
    },
    write: cache.write,
  }
}

/** Returns what is known about servers before a host is loaded. */
export function readCachedServers(
  servers: readonly ServerConfig[],
  cache: DefinitionCache,
): Promise<readonly KnownServer[]> {
  return Promise.all(
    servers.map(async (config) => {
      const { instructions, capabilities = {} } = (await cache.read(config)) ?? {}
      const state = config.disabled ? 'disabled' : 'pending'
      return { name: config.name, state, config, instructions, capabilities } as const
    }),
  )
}

const KEY_FILE = 'key'
const KEY_BYTES = 32

/** Creates the key of this folder. If several processes do so at the same time, the first one wins. */
async function makeKey(folder: string): Promise<Buffer> {
  const path = join(folder, KEY_FILE)
  await writeFile(path, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
  const key = await readFile(path)
  if (key.length < KEY_BYTES) throw new Error(`${path} is broken; delete it`)
  return key
}

/**
 * Builds the key from the name and everything that identifies the server. Keyed with a random value of this folder,
 * because a plain hash would let anyone who sees the file's name test guesses of the secrets in a configuration.
 * @internal
 */
function entryNameOf({ name, transport }: ServerConfig, key: Buffer): string {
  const hash = createHmac('sha256', key)
    .update(JSON.stringify([name, transport]))
    .digest('hex')
    .slice(0, 24)
  const readable = name.replace(/[^A-Za-z0-9-]+/g, '_').slice(0, 40)
  return `${readable}-${hash}`
}

/** Milliseconds after which a server that nobody uses is forgotten. */
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000
const SHARED_KEY_BYTES = 32
const KEY = 'definitions-key'

/** Opens the cache in a store; like the one on disk it never rejects. */
export function openStoredDefinitions(
  store: StateStore,
  notify: (message: string) => void,
  now: () => number = Date.now,
): DefinitionCache {
  let key: Buffer | undefined

  /** Returns the random key of all replicas, which the first one creates. */
  async function keyFor(): Promise<Buffer> {
    if (key) return key
    const made = randomBytes(SHARED_KEY_BYTES).toString('base64')
    const isMine = (await store.set(KEY, made, { ifVersion: null })) !== undefined
    key = Buffer.from(isMine ? made : ((await store.get(KEY))?.value ?? made), 'base64')
    return key
  }

  return {
    async read(config) {
      try {
        const found = await store.get(`definitions/${entryNameOf(config, await keyFor())}`)
        return found && parseEntry(found.value, now())
      } catch {
        // Missing, broken or unreachable: the server lists its definitions instead.
        return undefined
      }
    },
    async write(config, server) {
      try {
        const name = entryNameOf(config, await keyFor())
        await store.set(`definitions/${name}`, printEntry(server, now()), { ttlMs: MAX_AGE_MS })
      } catch (error) {
        notify(`cannot store definitions for the next start: ${errorMessage(error)}`)
      }
    },
  }
}
