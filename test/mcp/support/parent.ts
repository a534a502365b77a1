// A process with a host, to be ended in every way: `parent.ts <ending> <file for the starts of its servers>`. It says
// "ready" when all servers are connected. Endings: close | exit | throw | reject | wait (for a signal) | start (waits,
// and is ready while its server is not).
import { createMcpHost } from '../../../packages/mcp/src/host/host.ts'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import { quietShelf } from '../../../packages/testkit/src/talk.ts'
import { startsIn, until } from './processes.ts'
import { local } from './servers.ts'

const [ending = 'close', file = ''] = process.argv.slice(2)

const env = { STARTS_FILE: file }
const family = local('family', 'stubborn family', { env })
const serversFor: { readonly [ending: string]: readonly ServerConfig[] } = {
  start: [local('hanging', 'hang deaf', { env })],
  close: [local('healthy', 'healthy', { env }), family],
}
const servers = serversFor[ending] ?? [family]
const host = createMcpHost({ shelf: quietShelf(), servers, cacheFolder: false })
host.start()

/** The family has a child. */
const processes = servers.length + (servers.includes(family) ? 1 : 0)
await until(() => startsIn(file).length >= processes, 'all servers are started')
if (ending !== 'start') await host.settled()
console.log('ready')

const endings: { readonly [ending: string]: () => unknown } = {
  close: () => host.close(),
  exit: () => process.exit(0),
  throw: () =>
    setImmediate(() => {
      throw new Error('a fault of our own')
    }),
  reject: () => void Promise.reject(new Error('a fault of our own')),
}
await endings[ending]?.()
