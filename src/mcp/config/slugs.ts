// Names servers so that the names of their tools are unique and lead back to them, whatever the files call them.
// Implements H3.
import { slugsOf } from '../../core/tools/index.ts'
import type { ServerConfig } from '../types.ts'

/**
 * Returns the servers with names that no other one has; the names are the same for any order of the servers. Of several with
 * the same name and source, only the first is used.
 */
export function nameServers(servers: readonly ServerConfig[]): ServerConfig[] {
  const seen = new Set<string>()
  const used = servers.filter(({ name, folder }) => {
    const key = JSON.stringify([name, folder?.path])
    return !seen.has(key) && seen.add(key)
  })
  const slugs = slugsOf(used.map(({ name, folder }) => ({ name, source: folder?.path })))
  return used.map((server, index) => {
    const name = slugs[index] ?? server.name
    return name === server.name ? server : { ...server, name, original: server.original ?? server.name }
  })
}

/** Returns a server's name in its file. */
export function originalName({ name, original = name }: Pick<ServerConfig, 'name' | 'original'>): string {
  return original
}
