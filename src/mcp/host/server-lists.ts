// Keeps what one server lists besides its tools: prompts, resources and resource templates. A list stays known when the
// server is away, until the server itself lists another.
import type { KeptList, KeptLists, ListKind } from '../cache/index.ts'
import type { Listed, ServerSession } from '../session/index.ts'

type ListSource = { readonly method: string; readonly capability: 'prompts' | 'resources' }

const SOURCES: { readonly [kind in ListKind]: ListSource } = {
  prompts: { method: 'prompts/list', capability: 'prompts' },
  resources: { method: 'resources/list', capability: 'resources' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources' },
}

const KINDS = Object.keys(SOURCES) as ListKind[]

/** Entries of each kind; undefined while they are not known. */
export type KnownLists = { readonly [kind in ListKind]: readonly unknown[] | undefined } & {
  /** All of them are of this run. */
  readonly hasListed: boolean
}

export type ServerLists = {
  known(): KnownLists
  /** For the next start. */
  kept(): KeptLists
  /** Takes over what an earlier start has kept. */
  recall(kept: KeptLists | undefined): void
  /** Lists the kinds that are due. Never rejects. */
  refresh(session: ServerSession, reason: RefreshReason): Promise<void>
}

/** The server has connected, somebody wants to see its lists, or it has said that these have changed. */
export type RefreshReason = 'connected' | 'accessed' | 'prompts' | 'resources'

export type ServerListsOptions = {
  /** Without secrets, as they are shown and kept. */
  readonly clean: (entries: readonly unknown[]) => readonly unknown[]
  readonly onChange: (capability: 'prompts' | 'resources') => void
}

/** One slow server must not hold up the others' lists. */
const LONGEST_LISTING = 10_000
/** Milliseconds after which a list that could not be had is asked for again. */
const PAUSE_AFTER_FAILURE = 30_000
/** Of one list. The lists of all servers are one message, and some clients end the connection at one of 10 MB. */
const MOST_CHARACTERS = 2_000_000

export function createServerLists({ clean, onChange }: ServerListsOptions): ServerLists {
  const lists = new Map<ListKind, KeptList>()
  const listing = new Map<ListKind, Promise<void>>()
  const listed = new Set<ListKind>()
  const queued = new Map<ListKind, Promise<void>>()
  const failedAt = new Map<ListKind, number>()

  const isFresh = (kind: ListKind) => (lists.get(kind)?.freshUntil ?? 0) > Date.now()
  const hasJustFailed = (kind: ListKind) => Date.now() - (failedAt.get(kind) ?? 0) < PAUSE_AFTER_FAILURE

  /** A list that the server gave no time for stays until the server says that it has changed. */
  function isDue(kind: ListKind, reason: RefreshReason): boolean {
    if (reason === 'connected') return !isFresh(kind)
    if (reason !== 'accessed') return SOURCES[kind].capability === reason
    const list = lists.get(kind)
    return list ? list.freshUntil > 0 && !isFresh(kind) : !hasJustFailed(kind)
  }

  function set(kind: ListKind, { entries, ttlMs }: Listed): void {
    const list = { entries: cut(clean(entries)), freshUntil: freshUntil(ttlMs) }
    const before = lists.get(kind)?.entries ?? []
    lists.set(kind, list)
    listed.add(kind)
    if (JSON.stringify(before) !== JSON.stringify(list.entries)) onChange(SOURCES[kind].capability)
  }

  async function list(kind: ListKind, session: ServerSession): Promise<void> {
    const { method, capability } = SOURCES[kind]
    try {
      const isThere = session.capabilities[capability] !== undefined
      const found = isThere ? await session.list(method, kind, LONGEST_LISTING) : NOTHING
      failedAt.delete(kind)
      set(kind, found)
    } catch {
      // Some declare what they do not have. What is known of it stays known.
      failedAt.set(kind, Date.now())
    }
  }

  /** Once at a time; whoever asks meanwhile gets the next one, all of them the same. */
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
    kept: () => Object.fromEntries(lists),
    recall(kept) {
      for (const kind of KINDS) {
        const list = kept?.[kind]
        if (Array.isArray(list?.entries) && !lists.has(kind)) lists.set(kind, list)
      }
    },
    async refresh(session, reason) {
      const due = KINDS.filter((kind) => isDue(kind, reason))
      await Promise.all(
        due.map((kind) => (reason === 'accessed' && listing.get(kind)) || refreshOne(kind, session)),
      )
    },
  }
}

const NOTHING: Listed = { entries: [], isCut: false, ttlMs: undefined }

/** When a list that says to be fresh for so long is stale; 0, which is always past, for one that does not say. */
export function freshUntil(ttlMs: number | undefined): number {
  return ttlMs === undefined || !(ttlMs > 0) ? 0 : Date.now() + Math.min(ttlMs, LONGEST_FRESH)
}

/** A server that once said "for ever" is still asked now and then. */
const LONGEST_FRESH = 7 * 24 * 3_600_000

function cut(entries: readonly unknown[]): readonly unknown[] {
  let size = 0
  return entries.filter((entry) => {
    const length = lengthOf(entry)
    size += length ?? 0
    return length !== undefined && size <= MOST_CHARACTERS
  })
}

/** Undefined for what is nested too deeply to be written. */
function lengthOf(entry: unknown): number | undefined {
  try {
    return JSON.stringify(entry)?.length ?? 0
  } catch {
    return undefined
  }
}
