// What each server listed last, on disk: search works before a server is up, and a lazy one need not start for it.
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { ServerConfig } from '../types.ts'

/** As the server sent it; read with the same care as the server's own answer. */
export type CachedServer = {
  readonly tools: readonly unknown[]
  readonly info: { readonly name: string; readonly version: string } | undefined
  readonly capabilities: { readonly [name: string]: unknown }
  readonly instructions: string | undefined
  /** It spoke only the older protocol, so that asking for the newer one can be spared for a while. */
  readonly isLegacy: boolean
}

export type DefinitionCache = {
  /** Undefined for a server never seen, or configured otherwise then. Never rejects. */
  read(config: ServerConfig): Promise<(CachedServer & { readonly age: number }) | undefined>
  write(config: ServerConfig, server: CachedServer): Promise<void>
}

const VERSION = 1

/** `$XDG_CACHE_HOME/toolshelf/definitions`, else `~/.cache/toolshelf/definitions`. */
export function defaultCacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const { XDG_CACHE_HOME: cache } = environment
  const base = cache !== undefined && isAbsolute(cache) ? cache : join(homedir(), '.cache')
  return join(base, 'toolshelf', 'definitions')
}

export function openDefinitionCache(
  folder: string,
  notify: (message: string) => void,
  now: () => number = Date.now,
): DefinitionCache {
  let count = 0
  return {
    async read(config) {
      try {
        const text = await readFile(join(folder, fileFor(config)), 'utf8')
        const { version, at, server } = JSON.parse(text) as {
          version: number
          at: number
          server: CachedServer
        }
        if (version !== VERSION || !Array.isArray(server.tools)) return undefined
        return { ...server, age: now() - at }
      } catch {
        // Missing or broken: the server itself will tell.
        return undefined
      }
    },
    async write(config, server) {
      const path = join(folder, fileFor(config))
      const temporary = `${path}.${process.pid}.${count++}`
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await writeFile(temporary, JSON.stringify({ version: VERSION, at: now(), server }), { mode: 0o600 })
        await rename(temporary, path)
      } catch (error) {
        notify(`definitions are not kept for the next start: ${(error as Error).message}`)
        await rm(temporary, { force: true }).catch(() => {})
      }
    },
  }
}

/** By name and everything that decides which server this is. */
function fileFor({ name, transport }: ServerConfig): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([name, transport]))
    .digest('hex')
    .slice(0, 24)
  const readable = name.replace(/[^A-Za-z0-9-]+/g, '_').slice(0, 40)
  return `${readable}-${hash}.json`
}
