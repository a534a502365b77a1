// Names servers so that the names of their tools are unique and lead back to them, whatever the files call them.
// Implements H3.
import { slugsOf } from '@toolshelf/core/internal'
import type { ServerConfig } from '../types.ts'

/**
 * Returns the servers with names that no other one has. The names are the same for any order of the servers, and the user's
 * own are named as if there were no others. Of several with the same name and source, only the first is used.
 */
export function nameServers(servers: readonly ServerConfig[]): ServerConfig[] {
  const seen = new Set<string>()
  const used = servers.filter(({ name, folder }) => {
    const key = JSON.stringify([name, folder?.path])
    return !seen.has(key) && seen.add(key)
  })
  const own = used.filter(({ folder }) => !folder)
  const others = used.filter(({ folder }) => folder)
  const taken = slugsOf(own)
  const slugs = [
    ...taken,
    ...slugsOf(
      others.map(({ name, folder }) => ({ name, source: folder?.path })),
      taken,
    ),
  ]
  const named = new Map([...own, ...others].map((server, index) => [server, slugs[index]]))
  return used.map((server) => {
    const { name: original } = server
    const name = named.get(server) ?? original
    return name === original ? server : { original, ...server, name }
  })
}
