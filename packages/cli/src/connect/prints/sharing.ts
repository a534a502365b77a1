// Says which servers a client will see once `toolshelf connect --apply` has changed it: all of one file, not only its own.
import type { ClientChange } from '../apply.ts'
import type { PlannedServer } from '../plan.ts'
import type { ConnectTarget } from './plan.ts'

/** Returns the notice; undefined if a single client moves and sees nothing but its own servers. */
export function sharingNotice(changes: readonly ClientChange[], target: ConnectTarget): string | undefined {
  const clients = [...new Set(changes.flatMap((change) => change.clients))]
  const moving = [...new Set(changes.flatMap(({ servers }) => servers))]
  const added = moving.filter(({ state }) => state === 'new')
  const ownNames = new Set(moving.flatMap(({ name, server }) => [name, server.name]))
  const isShared = clients.length > 1 || target.names.some((name) => !ownNames.has(name))
  if (changes.length === 0 || !isShared) return undefined
  const names = [...target.names, ...added.map(shownName)]
  const who = clients.length > 1 ? 'All clients changed here' : (clients[0] ?? 'The client')
  return [
    `${who} will see ${theServers(names.length)} of ${target.file}: ${names.join(', ')}.`,
    'To keep a client apart, give it a file of its own: toolshelf connect --apply --from <its file> --to <another file>',
  ].join('\n')
}

function theServers(servers: number): string {
  if (servers === 1) return 'the server'
  return servers === 2 ? 'both servers' : `all ${servers} servers`
}

function shownName({ name, clients, server }: PlannedServer): string {
  return name === server.name ? name : `${name} (${clients.join(' and ')}'s ${server.name}, renamed)`
}
