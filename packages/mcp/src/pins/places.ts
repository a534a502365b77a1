// Where records are kept, as JSON by server: files of one machine, or the store that replicas share.
import { createHash } from 'node:crypto'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { StateStore } from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'

/** Keeps JSON by server. Methods reject while the place cannot be reached. */
export type PinPlace = {
  readonly name: string
  get(server: string): Promise<string | undefined>
  /** Sets a value; undefined deletes it. */
  set(server: string, json: string | undefined): Promise<unknown>
  all(): Promise<readonly string[]>
  /** Runs the work while no other process changes the value of this server. */
  alone<Result>(server: string, work: () => Promise<Result>): Promise<Result>
  /** Moves a broken value out of the way. */
  setAside?(server: string): Promise<void>
  /** Tells other processes that the user decided about a server. */
  announce?(server: string): Promise<void>
}

/** Keeps one file per server in a folder. */
export function filePlace(folder: string): PinPlace {
  const fileOf = (server: string) => new JsonFile(join(folder, fileNameOf(server)))
  return {
    name: folder,
    get: (server) => fileOf(server).read(),
    set: (server, json) => (json === undefined ? fileOf(server).remove() : fileOf(server).write(json)),
    async all() {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return []
        throw error
      })
      const files = names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name))
      return Promise.all(files.map(async (file) => (await new JsonFile(file).read().catch(() => '')) ?? ''))
    },
    alone: (server, work) => fileOf(server).alone(work),
    setAside: (server) => rename(fileOf(server).path, `${fileOf(server).path}.broken`),
  }
}

/** Returns a readable name and a hash, since servers may differ only in what a file name cannot contain. */
function fileNameOf(server: string): string {
  const readable = server.replace(/[^A-Za-z0-9-]+/g, '_').slice(0, 40)
  return `${readable}-${createHash('sha256').update(server).digest('hex').slice(0, 16)}.json`
}

const [CHANNEL, PREFIX, LOCK_MS] = ['pins', 'pins/', 10_000]

/** Keeps them in a store, of which the parts are loaded with it: most gateways run without. */
export function storePlace(store: StateStore): PinPlace {
  return {
    name: `the ${store.kind} store`,
    get: async (server) => (await store.get(PREFIX + server))?.value,
    set: (server, json) =>
      json === undefined ? store.delete(PREFIX + server) : store.set(PREFIX + server, json),
    async all() {
      const { entriesIn } = await import('@toolshelf/core/internal')
      const found: string[] = []
      for await (const { value } of entriesIn(store, PREFIX)) found.push(value)
      return found
    },
    alone: async (server, work) =>
      (await import('@toolshelf/core/internal/node')).withLock(store, `lock/pins/${server}`, LOCK_MS, work),
    announce: (server) => store.publish(CHANNEL, server),
  }
}

/** Calls the listener with each server about which another process decided; without a name after a gap. */
export async function watchPins(store: StateStore, listener: (server: string | undefined) => void) {
  const stopGaps = store.onGap(() => listener(undefined))
  const stop = await store.subscribe(CHANNEL, listener)
  return async () => {
    stopGaps()
    await stop()
  }
}
