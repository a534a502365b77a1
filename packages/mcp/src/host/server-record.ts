// Records everything known about one server: its description of itself, its tools, and what earlier runs stored on disk.
// The last good list outlives every failure.
import { isDeepStrictEqual } from 'node:util'
import type { Fields } from '@toolshelf/core/internal'
import type { CachedServer, KeptList, KeptLists, ListKind } from '../cache/definition-cache.ts'
import { type ConnectionFailure, withErrorLine } from '../protocol/protocol.ts'
import type { Redactor } from '../redact.ts'
import type { Listed, ServerSession } from '../session/session.ts'
import type { ServerConfig, ServerStatus, ToolProblem } from '../types.ts'
import type { ConnectionOptions, Lifecycle } from './connection.ts'
import { readListedTools } from './definitions.ts'

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
  function update(change: Partial<PlainView>): void {
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
    report(change: Partial<PlainView>): void {
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

/** What is known about a server now: its status, without what rules and pins make of it. */
export type ConnectionView = Omit<
  ServerStatus,
  'name' | 'config' | 'pageTools' | 'hidden' | 'held' | 'changes'
>

/** The part of a view that says that nothing has failed. */
export const NO_FAILURE = { reason: undefined, category: undefined } as const

/** A view without the lists that `createServerLists` keeps. */
type PlainView = Omit<ConnectionView, ListKind | 'hasListed'>

/** Returns the view of a server before anything is known about it. */
function emptyView(config: ServerConfig): PlainView {
  return {
    state: config.disabled ? 'disabled' : 'pending',
    ...NO_FAILURE,
    tools: [],
    problems: [],
    isCached: false,
    isRemembered: false,
    info: undefined,
    protocol: undefined,
    capabilities: {},
    instructions: undefined,
    startMilliseconds: undefined,
    pid: undefined,
    stderr: '',
  }
}

/** What an earlier run stored, and how long ago, in milliseconds. */
type CacheEntry = CachedServer & { readonly ageMs: number }

type ServerMemoryOptions = ServerListsOptions &
  Pick<ServerRecordOptions, 'config' | 'cache' | 'clientCapabilities'>

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

type ListSource = {
  readonly method: string
  readonly capability: 'prompts' | 'resources'
}

const SOURCES: { readonly [kind in ListKind]: ListSource } = {
  prompts: { method: 'prompts/list', capability: 'prompts' },
  resources: { method: 'resources/list', capability: 'resources' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources' },
}

const KINDS = Object.keys(SOURCES) as ListKind[]

/** Why to refresh: the server has connected, a client reads the lists, or the server reports a change. */
type RefreshReason = 'connected' | 'accessed' | 'prompts' | 'resources'

type ServerListsOptions = {
  /** Removes secrets from entries before they are shown and stored. */
  readonly clean: (entries: readonly unknown[]) => readonly unknown[]
  readonly onChange: (list: 'prompts' | 'resources') => void
}

/** Milliseconds; a slow server must not delay the lists of the others. */
const MAX_LISTING_MS = 10_000
/** Milliseconds after which a list that failed is requested again. */
const PAUSE_AFTER_FAILURE_MS = 30_000
/** Characters per list. The lists of all servers form one message, and some clients disconnect at a message of 10 MB. */
const MAX_CHARACTERS = 2_000_000

/** Creates the lists of a server, all unknown. A known one stays known until the server lists it again. */
function createServerLists({ clean, onChange }: ServerListsOptions) {
  const lists = new Map<ListKind, KeptList>()
  const listing = new Map<ListKind, Promise<void>>()
  const listed = new Set<ListKind>()
  const queued = new Map<ListKind, Promise<void>>()
  const failedAt = new Map<ListKind, number>()

  const isFresh = (kind: ListKind) => (lists.get(kind)?.freshUntil ?? 0) > Date.now()
  const hasJustFailed = (kind: ListKind) => Date.now() - (failedAt.get(kind) ?? 0) < PAUSE_AFTER_FAILURE_MS

  /** Returns whether to refresh a list; one without a time-to-live stays valid until the server reports a change. */
  function isDue(kind: ListKind, reason: RefreshReason): boolean {
    if (reason === 'connected') return !isFresh(kind)
    if (reason !== 'accessed') return SOURCES[kind].capability === reason
    const list = lists.get(kind)
    return list ? list.freshUntil > 0 && !isFresh(kind) : !hasJustFailed(kind)
  }

  function set(kind: ListKind, { entries, ttlMs }: Listed): void {
    const before = lists.get(kind)?.entries ?? []
    const after = sameOrNew(before, withinSizeLimit(clean(entries)))
    lists.set(kind, { entries: after, freshUntil: freshUntil(ttlMs) })
    // That there are no prompts is known from the first list on: prompts that come later are new.
    const isFirst = kind === 'prompts' && !listed.has(kind)
    listed.add(kind)
    if (after !== before || isFirst) onChange(SOURCES[kind].capability)
  }

  async function list(kind: ListKind, session: ServerSession): Promise<void> {
    const source = SOURCES[kind]
    try {
      const isThere = session.capabilities[source.capability] !== undefined
      const found = isThere ? await session.list(source.method, kind, MAX_LISTING_MS) : NOTHING
      failedAt.delete(kind)
      set(kind, found)
    } catch {
      // Some servers declare capabilities that they do not have. Keeps the known list.
      failedAt.set(kind, Date.now())
    }
  }

  /** Runs one refresh at a time; concurrent callers share the next one. */
  function refreshOne(kind: ListKind, session: ServerSession): Promise<void> {
    const running = listing.get(kind)
    if (!running) {
      const started = list(kind, session).finally(() => listing.delete(kind))
      listing.set(kind, started)
      return started
    }
    const next =
      queued.get(kind) ??
      running.then(() => {
        queued.delete(kind)
        return refreshOne(kind, session)
      })
    queued.set(kind, next)
    return next
  }

  return {
    known: () => ({
      prompts: lists.get('prompts')?.entries,
      resources: lists.get('resources')?.entries,
      resourceTemplates: lists.get('resourceTemplates')?.entries,
      hasListed: KINDS.every((kind) => listed.has(kind) || isFresh(kind)),
    }),
    /** Returns the lists to store for the next start. */
    kept: () => Object.fromEntries(lists),
    /** Restores the lists that an earlier run stored. */
    restore(kept: KeptLists | undefined) {
      for (const kind of KINDS) {
        const list = kept?.[kind]
        if (Array.isArray(list?.entries) && !lists.has(kind)) lists.set(kind, list)
      }
    },
    /** Refreshes the lists that are due. Never rejects. */
    async refresh(session: ServerSession, reason: RefreshReason) {
      const due = KINDS.filter((kind) => isDue(kind, reason))
      await Promise.all(
        due.map((kind) => (reason === 'accessed' && listing.get(kind)) || refreshOne(kind, session)),
      )
    },
  }
}

/** Returns the old object for an equal list, because others cache it by identity and may be comparing it right now. */
function sameOrNew(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return JSON.stringify(before) === JSON.stringify(after) ? before : after
}

const NOTHING: Listed = { entries: [], isCut: false, ttlMs: undefined }

/** Returns when a list with this time-to-live becomes stale; 0, which is always in the past, without one. */
export function freshUntil(ttlMs: number | undefined): number {
  return ttlMs === undefined || !(ttlMs > 0) ? 0 : Date.now() + Math.min(ttlMs, MAX_FRESH_MS)
}

/** Longest time-to-live that a server may set. */
const MAX_FRESH_MS = 7 * 24 * 3_600_000

function withinSizeLimit(entries: readonly unknown[]): readonly unknown[] {
  let size = 0
  return entries.filter((entry) => {
    const length = lengthOf(entry)
    size += length ?? 0
    return length !== undefined && size <= MAX_CHARACTERS
  })
}

/** Returns the length of the JSON; undefined if it is nested too deeply to be serialised. */
function lengthOf(entry: unknown): number | undefined {
  try {
    return JSON.stringify(entry)?.length ?? 0
  } catch {
    return undefined
  }
}
