// Keeps the prompts, resources and resource templates of one server. A list stays known while the server is
// disconnected, until the server lists it again.
import type { KeptList, KeptLists, ListKind } from '../cache/definition-cache.ts'
import type { Listed, ServerSession } from '../session/session.ts'

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

/** Entries of each kind; undefined while they are not known. */
export type KnownLists = { readonly [kind in ListKind]: readonly unknown[] | undefined } & {
  readonly hasListed: boolean
}

export type ServerLists = ReturnType<typeof createServerLists>

/** Why to refresh: the server has connected, a client reads the lists, or the server reports a change. */
export type RefreshReason = 'connected' | 'accessed' | 'prompts' | 'resources'

export type ServerListsOptions = {
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

/** Creates the lists of a server, all unknown. */
export function createServerLists({ clean, onChange }: ServerListsOptions) {
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
