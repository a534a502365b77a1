// Decides whether two entries are the same server: nothing that one of them sets may get lost or change with the other.
import { isDeepStrictEqual } from 'node:util'
import { isFields } from '@toolshelf/core/internal'
import type { ServerConfig } from '@toolshelf/mcp'
import { programOf, type ServerEntry } from '@toolshelf/mcp/internal'

/** The settings of an entry, compared as they would be written: paths are absolute, references unexpanded. */
export type EntrySettings = {
  /** What every client can set. */
  readonly common: {
    readonly transport: object
    readonly disabled: boolean
    /** Sorted; without patterns, all tools are allowed. */
    readonly allow: readonly string[]
    readonly deny: readonly string[]
    readonly connectTimeoutMs: number
    readonly callTimeoutMs: number
  }
  /** Timeouts that the entry itself sets. */
  readonly timeouts: readonly ('connectTimeoutMs' | 'callTimeoutMs')[]
  /** What only Toolshelf's own file sets, such as `lazy`; without those that are not set. */
  readonly own: { readonly [key: string]: unknown }
}

export function settingsOf(entry: ServerEntry, server: ServerConfig): EntrySettings {
  const { name: _name, source: _source, variables: _variables, blocked: _blocked, ...settings } = server
  const { transport: _transport, disabled, allow, deny, connectTimeoutMs, callTimeoutMs, ...own } = settings
  const timeouts = (['connectTimeout', 'callTimeout'] as const)
    .filter((key) => entry.fields[key] != null)
    .map((key) => `${key}Ms` as const)
  return {
    common: {
      transport: programOf(entry, server),
      disabled,
      allow: allow.includes('*') ? [] : sorted(allow),
      deny: sorted(deny),
      connectTimeoutMs,
      callTimeoutMs,
    },
    timeouts,
    own: Object.fromEntries(Object.entries(own).filter(([, value]) => isSet(value))),
  }
}

const sorted = (texts: readonly string[]) => [...new Set(texts)].sort()

const isSet = (value: unknown) =>
  value !== undefined && value !== false && !(isFields(value) && Object.keys(value).length === 0)

export function isSame(one: EntrySettings, other: EntrySettings): boolean {
  return isDeepStrictEqual(one.common, other.common) && isDeepStrictEqual(one.own, other.own)
}

/** Returns whether a server of our file is the one of a client's entry; what only our file can set may be added to it. */
export function isSameInOurs(ours: EntrySettings, theirs: EntrySettings): boolean {
  return isDeepStrictEqual(ours.common, theirs.common) && hasOwn(ours, theirs)
}

/**
 * Returns whether a server of our file is the one of a client's entry, perhaps narrowed by the user: fewer tools, disabled,
 * other timeouts. Nothing that the entry sets may be missing.
 */
export function isNarrowedInOurs(ours: EntrySettings, theirs: EntrySettings): boolean {
  const [mine, given] = [ours.common, theirs.common]
  return (
    isDeepStrictEqual(mine.transport, given.transport) &&
    (mine.disabled || !given.disabled) &&
    (given.allow.length === 0 || isDeepStrictEqual(mine.allow, given.allow)) &&
    given.deny.every((pattern) => mine.deny.includes(pattern)) &&
    theirs.timeouts.every((key) => mine[key] === given[key]) &&
    hasOwn(ours, theirs)
  )
}

function hasOwn(ours: EntrySettings, theirs: EntrySettings): boolean {
  return Object.entries(theirs.own).every(([key, value]) => isDeepStrictEqual(ours.own[key], value))
}
