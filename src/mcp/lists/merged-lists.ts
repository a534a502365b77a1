// Collects what all servers list of one kind (resources, resource templates or prompts), up to a size that clients
// accept.
import type { Fields } from '../../lib/index.ts'
import type { ListKind } from '../cache/index.ts'
import type { McpHost } from '../types.ts'
import { listablePrompt, listableResource, listableTemplate } from './listable.ts'

/** A kind of list, and a function that makes its entries acceptable to clients. */
export type MergedKind = {
  readonly list: ListKind
  readonly listable: (entry: unknown) => Fields[]
}

/** An entry of a list, its server, and its name there. */
export type MergedEntry = { readonly server: string; readonly own: string; readonly entry: Fields }

/** The lists of all servers. */
export type MergedLists = {
  /** Returns the entries of one kind from every server, as far as known. */
  collect(kind: MergedKind): Promise<MergedEntry[]>
  /** Resolves when each server has failed or has listed everything, or after a timeout. */
  untilListed(): Promise<void>
}

/** Lists of prompts. */
export const PROMPTS_LIST: MergedKind = { list: 'prompts', listable: listablePrompt }
/** Lists of resources. */
export const RESOURCES_LIST: MergedKind = { list: 'resources', listable: listableResource }
/** Lists of resource templates. */
export const TEMPLATES_LIST: MergedKind = { list: 'resourceTemplates', listable: listableTemplate }

type SizedEntry = { readonly entry: Fields; readonly bytes: number }

const PAGE_TIMEOUT_MS = 5000
/**
 * Bytes per server. The lists of all servers form one message, and some clients disconnect at a message of more than 10
 * MB.
 */
const MAX_OF_ONE = 2_000_000
const MAX_OF_ALL = 8_000_000
/**
 * Milliseconds to wait at the very first start, when nothing is known about any server: many clients request these
 * lists only once.
 */
const FIRST_WAIT_MS = 3000
/** Milliseconds for the connected servers if another server used up all the time. */
const MIN_WAIT_MS = 200

/** Creates the merged lists of a host. */
export function createMergedLists(host: McpHost): MergedLists {
  const known = new WeakMap<readonly unknown[], SizedEntry[]>()
  let firstWait: Promise<void> | undefined
  host.watchLists()

  /** Cached by identity: the same lists are sent again and again. */
  function sized(listed: readonly unknown[], { listable }: MergedKind): SizedEntry[] {
    let entries = known.get(listed)
    if (!entries) {
      entries = listed
        .flatMap(listable)
        .map((entry) => ({ entry, bytes: Buffer.byteLength(JSON.stringify(entry)) }))
      known.set(listed, entries)
    }
    return entries
  }

  return {
    async collect(kind) {
      firstWait ??= onFirstStart(host)
      await firstWait
      void host.refreshStaleLists({ timeoutMs: PAGE_TIMEOUT_MS })
      const servers = host.status().filter(({ state }) => state !== 'disabled')
      return servers.flatMap(({ name: server, [kind.list]: listed = [] }) => {
        let size = 0
        const fitting = sized(listed, kind).filter(({ bytes }) => {
          size += bytes
          return size <= Math.min(MAX_OF_ONE, MAX_OF_ALL / servers.length)
        })
        return fitting.map(({ entry }) => ({ server, own: String(entry.name ?? ''), entry }))
      })
    },
    untilListed: () => untilListed(host),
  }
}

/** Waits for the servers if nothing is known about any of them. */
async function onFirstStart(host: McpHost): Promise<void> {
  await host.readCache()
  if (!host.status().some(({ isRemembered }) => isRemembered)) await untilListed(host)
}

async function untilListed(host: McpHost): Promise<void> {
  const startedAt = performance.now()
  await host.settled({ timeoutMs: FIRST_WAIT_MS })
  await host.refreshStaleLists({
    timeoutMs: Math.max(MIN_WAIT_MS, FIRST_WAIT_MS - (performance.now() - startedAt)),
  })
}
