// Records everything known about one server: its description of itself, its tools, and what earlier runs stored on disk.
// The last good list outlives every failure.

import { isDeepStrictEqual } from 'node:util'
import type { Fields } from '@toolshelf/core/internal'
import type { CachedServer, DefinitionCache } from '../cache/definition-cache.ts'
import { type ConnectionFailure, withErrorLine } from '../protocol/protocol.ts'
import type { Redactor } from '../redact.ts'
import type { Listed, ServerSession } from '../session/session.ts'
import type { ServerConfig, ToolProblem } from '../types.ts'
import { type ConnectionOptions, type ConnectionView, emptyView } from './connection-types.ts'
import { readListedTools } from './definitions.ts'
import type { Lifecycle } from './lifecycle.ts'
import { createServerLists, freshUntil, type ServerListsOptions } from './server-lists.ts'

/** How long to trust a stored note that a server speaks only the older protocol. */
const LEGACY_NOTE_MS = 7 * 24 * 3_600_000

/** Everything known about one server. */
export type ServerRecord = ReturnType<typeof createServerRecord>

type ServerRecordOptions = Pick<ConnectionOptions, 'config' | 'cache' | 'onState' | 'onTools' | 'onList'> & {
  readonly redactor: Redactor
  readonly lifecycle: Lifecycle
  readonly clientCapabilities: () => Fields
}

export function createServerRecord(options: ServerRecordOptions) {
  const { config, cache, redactor, lifecycle, clientCapabilities } = options
  let view = emptyView(config)
  let isKnownLegacy = false
  const memory = createServerMemory({
    config,
    cache,
    clientCapabilities,
    clean: redactor.list,
    onChange(list) {
      save()
      options.onList(list)
    },
  })

  /** Changes the view without reporting it. */
  function update(change: Partial<ConnectionView>): void {
    view = { ...view, ...change }
  }

  /** Returns the entries that may be stored for the next run. */
  async function showTools(list: ToolList, isCached: boolean): Promise<readonly unknown[]> {
    const { listed, ...shown } = await readToolList(list, options)
    update({ ...shown, isCached })
    await options.onTools()
    return listed
  }

  /** Stores the record for the next run. */
  function save(): void {
    const session = lifecycle.session()
    if (session) memory.keep({ ...selfDescription(session, redactor), isLegacy: session.isLegacy })
  }

  return {
    memory,
    update,
    save,
    view: (): ConnectionView => ({ ...view, ...memory.lists.known() }),
    isKnownLegacy: () => isKnownLegacy,
    report(change: Partial<ConnectionView>): void {
      update(change)
      options.onState()
    },
    /** Reports a failure: people read the server's last words too, models only the category. */
    fail(state: 'failed' | 'idle', { reason, category }: ConnectionFailure, stderr: string): void {
      update({ state, reason: withErrorLine(reason, stderr), category, stderr })
      options.onState()
    },
    /** Reads what an earlier run stored, except the tools. */
    async readCache(): Promise<CacheEntry | undefined> {
      const cached = await memory.readCache()
      if (!cached || lifecycle.isClosed()) return undefined
      update({ isRemembered: true })
      if (lifecycle.session()) return cached
      isKnownLegacy = cached.isLegacy && cached.ageMs < LEGACY_NOTE_MS
      const { info, capabilities, instructions } = cached
      update({ info, capabilities, instructions })
      return cached
    },
    showCachedTools: ({ tools }: CacheEntry) => showTools({ entries: tools, isCut: false }, true),
    /** Returns whether the stored tools are still fresh, so that this session need not list them. */
    hasFreshTools: (session: ServerSession) => memory.isFreshFor(selfDescription(session, redactor).info),
    describe(session: ServerSession, startMilliseconds: number): void {
      const { protocol, pid } = session
      isKnownLegacy = session.isLegacy
      update({ ...selfDescription(session, redactor), protocol, pid, startMilliseconds, stderr: '' })
    },
    /** Sets a new list of tools; without one, the last list is still valid. */
    async setTools(listed: Listed | undefined): Promise<void> {
      if (listed) memory.setTools(await showTools(listed, false), view.info, listed.ttlMs)
      else {
        update({ isCached: false })
        await options.onTools()
      }
    },
  }
}

type ToolList = Pick<Listed, 'entries' | 'isCut'>

/** Returns the tools of a list with secrets hidden, the entries to store, and what is wrong with them. */
async function readToolList({ entries, isCut }: ToolList, options: ServerRecordOptions) {
  const { config, redactor, lifecycle } = options
  const read = await readListedTools(entries, {
    config,
    clean: (entry) => redactor.list([entry])[0],
    mirrorsArguments: lifecycle.session()?.mirrorsArguments,
  })
  return { ...read, problems: isCut ? [truncatedList(entries.length), ...read.problems] : read.problems }
}

/** Returns a server's description of itself, with secrets hidden. */
function selfDescription(
  { info, capabilities, instructions }: ServerSession,
  redactor: Redactor,
): Pick<ConnectionView, 'info' | 'capabilities' | 'instructions'> {
  return {
    info: info && redactor.data(info),
    capabilities: redactor.data(capabilities),
    instructions: typeof instructions === 'string' ? redactor.text(instructions) : undefined,
  }
}

function truncatedList(count: number): ToolProblem {
  const message = `its list is too long or endless; only the first ${count} entries are used`
  return { tool: 'all', kind: 'limited', message }
}

/** What an earlier run stored, and how long ago, in milliseconds. */
type CacheEntry = CachedServer & { readonly ageMs: number }

type ServerMemoryOptions = ServerListsOptions & {
  readonly config: ServerConfig
  readonly cache: DefinitionCache | undefined
  readonly clientCapabilities: () => CachedServer['clientCapabilities']
}

function createServerMemory(options: ServerMemoryOptions) {
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
