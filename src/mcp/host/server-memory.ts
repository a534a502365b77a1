// Remembers what one server has listed: through all of its lives, and on disk for the next start.
import { isDeepStrictEqual } from 'node:util'
import type { CachedServer, DefinitionCache } from '../cache/index.ts'
import type { ServerConfig } from '../types.ts'
import { createServerLists, freshUntil, type ServerLists, type ServerListsOptions } from './server-lists.ts'

export type ServerMemory = {
  /** Prompts, resources and templates. */
  readonly lists: ServerLists
  /** What an earlier start has kept, read once. */
  recall(): Promise<Recalled | undefined>
  /** The server, known by its `info`, has listed these tools and says for how long they stay as they are. */
  setTools(tools: readonly unknown[], info: CachedServer['info'], ttlMs: number | undefined): void
  /** The same server has said that its tools stay as they are for a while. */
  isFreshFor(info: CachedServer['info']): boolean
  /** That while is over. */
  isStale(): boolean
  /** Keeps all of it for the next start. */
  keep(about: Omit<CachedServer, 'tools' | 'freshUntil' | 'lists'>): void
  /** Resolves when everything is written. */
  written(): Promise<unknown>
}

export type Recalled = CachedServer & { readonly age: number }

export type ServerMemoryOptions = ServerListsOptions & {
  readonly config: ServerConfig
  readonly cache: DefinitionCache | undefined
}

export function createServerMemory({ config, cache, ...options }: ServerMemoryOptions): ServerMemory {
  const lists = createServerLists(options)
  let last: Pick<CachedServer, 'tools' | 'freshUntil' | 'info'> | undefined
  let recalling: Promise<Recalled | undefined> | undefined
  let writing = Promise.resolve()
  let unwritten: CachedServer | undefined

  async function read(): Promise<Recalled | undefined> {
    const kept = config.disabled ? undefined : await cache?.read(config)
    last ??= kept
    lists.recall(kept?.lists)
    return kept
  }

  /** One after another, or an older state could replace a newer one. */
  async function writeLatest(): Promise<void> {
    const latest = unwritten
    unwritten = undefined
    if (latest) await cache?.write(config, latest)
  }

  return {
    lists,
    recall() {
      recalling ??= read()
      return recalling
    },
    setTools(tools, info, ttlMs) {
      last = { tools, freshUntil: freshUntil(ttlMs), info }
    },
    isFreshFor: (info) =>
      last !== undefined && last.freshUntil > Date.now() && isDeepStrictEqual(info, last.info),
    isStale: () => last !== undefined && last.freshUntil > 0 && last.freshUntil <= Date.now(),
    keep(about) {
      if (!last || !cache) return
      const { tools, freshUntil } = last
      const isWaiting = unwritten !== undefined
      unwritten = { tools, freshUntil, lists: lists.kept(), ...about }
      if (!isWaiting) writing = writing.then(writeLatest)
    },
    written: () => writing,
  }
}
