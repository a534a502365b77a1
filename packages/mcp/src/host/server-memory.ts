// Remembers what one server has listed: across reconnections, and on disk for the next start.
import { isDeepStrictEqual } from 'node:util'
import type { CachedServer, DefinitionCache } from '../cache/definition-cache.ts'
import type { ServerConfig } from '../types.ts'
import { createServerLists, freshUntil, type ServerListsOptions } from './server-lists.ts'

/** What an earlier run stored, and how long ago, in milliseconds. */
export type CacheEntry = CachedServer & { readonly ageMs: number }

type ServerMemoryOptions = ServerListsOptions & {
  readonly config: ServerConfig
  readonly cache: DefinitionCache | undefined
  readonly clientCapabilities: () => CachedServer['clientCapabilities']
}

export function createServerMemory(options: ServerMemoryOptions) {
  const { config, cache, clientCapabilities } = options
  const lists = createServerLists(options)
  let last: Pick<CachedServer, 'tools' | 'freshUntil' | 'info' | 'clientCapabilities'> | undefined
  let reading: Promise<CacheEntry | undefined> | undefined
  let writing = Promise.resolve()
  let unwritten: CachedServer | undefined

  async function read(): Promise<CacheEntry | undefined> {
    const kept = config.disabled ? undefined : await cache?.read(config)
    last ??= kept
    lists.restore(kept?.lists)
    return kept
  }

  /** Writes one state after another, so that an older one never replaces a newer one. */
  async function writeLatest(): Promise<void> {
    const latest = unwritten
    unwritten = undefined
    if (latest) await cache?.write(config, latest)
  }

  return {
    /** Prompts, resources and templates. */
    lists,
    /** Reads once what an earlier run stored. */
    readCache() {
      reading ??= read()
      return reading
    },
    /** Sets the tools that the server with this `info` has listed, and for how long they stay fresh. */
    setTools(tools: readonly unknown[], info: CachedServer['info'], ttlMs: number | undefined) {
      last = { tools, freshUntil: freshUntil(ttlMs), info, clientCapabilities: clientCapabilities() }
    },
    /** Returns whether the stored tools belong to this server and this client, and are still fresh. */
    isFreshFor: (info: CachedServer['info']) =>
      last !== undefined &&
      last.freshUntil > Date.now() &&
      isDeepStrictEqual([info, clientCapabilities()], [last.info, last.clientCapabilities]),
    /** Returns whether the tools' time-to-live has expired. */
    isStale: () => last !== undefined && last.freshUntil > 0 && last.freshUntil <= Date.now(),
    /** Stores everything for the next start. */
    keep(about: Omit<CachedServer, 'tools' | 'freshUntil' | 'lists' | 'clientCapabilities'>) {
      if (!last || !cache) return
      const { tools, freshUntil, clientCapabilities } = last
      const isWaiting = unwritten !== undefined
      unwritten = { tools, freshUntil, clientCapabilities, lists: lists.kept(), ...about }
      if (!isWaiting) writing = writing.then(writeLatest)
    },
    /** Resolves when everything is written. */
    written: () => writing,
  }
}
