// Copies the tools and servers of one shelf to another, for users who also have tools of their own.
import type { Shelf, Tool } from '../../core/index.ts'

/** Keeps the copy up to date. */
export type Mirror = {
  /** Copies changes of one server, or of all. */
  sync(server?: string): void
}

type Grouped = ReadonlyMap<string, readonly Tool[]>

/** Tools by server, grouped once for all mirrors of a shelf, since a pool is immutable. */
const groups = new WeakMap<object, Grouped>()

/**
 * Creates the mirror.
 *
 * @param isOwn - Returns whether a server belongs to the target shelf alone.
 */
export function mirrorShelf(from: Shelf, to: Shelf, isOwn: (server: string) => boolean): Mirror {
  const shown = new Map<string, readonly Tool[]>()

  function syncServer(server: string, tools: readonly Tool[]): void {
    const details = from.servers().get(server)
    if (isOwn(server) || !details) return
    const before = shown.get(server)
    if (!before || !isSame(before, tools)) {
      shown.set(server, tools)
      to.replace(server, tools)
    }
    to.setServer(server, details)
  }

  return {
    sync(server) {
      const all = toolsOf(from)
      const names = server === undefined ? from.servers().keys() : [server]
      for (const name of names) syncServer(name, all.get(name) ?? [])
    },
  }
}

function toolsOf(shelf: Shelf): Grouped {
  const { pool } = shelf.partition()
  let grouped = groups.get(pool)
  if (!grouped) {
    const found = new Map<string, Tool[]>()
    for (const { server, tool } of pool.tools) {
      if (server === undefined) continue
      const own = found.get(server) ?? []
      own.push(tool)
      found.set(server, own)
    }
    grouped = found
    groups.set(pool, grouped)
  }
  return grouped
}

function isSame(one: readonly Tool[], other: readonly Tool[]): boolean {
  return one.length === other.length && one.every((tool, index) => tool === other[index])
}
