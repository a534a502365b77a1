// A process with a host, to be ended in every way: `parent.ts <ending> <file for the starts of its servers>`. It says
// "ready" when all servers are connected. Endings: close | exit | throw | reject | wait (for a signal) | start (waits,
// and is ready while its server is not).
import { createMcpHost } from '../../../src/mcp/host/index.ts'
import { quietShelf } from '../../support/talk.ts'
import { startsIn, until } from './processes.ts'
import { local } from './servers.ts'

const [ending = 'close', file = ''] = process.argv.slice(2)

const env = { STARTS_FILE: file }
const servers =
  ending === 'start'
    ? [local('hanging', 'hang deaf', { env })]
    : [local('healthy', 'healthy', { env }), local('family', 'stubborn family', { env })]
const host = createMcpHost({ shelf: quietShelf(), servers, cacheFolder: false })
host.start()

const SERVERS = servers.length === 1 ? 1 : 3
await until(() => startsIn(file).length >= SERVERS, 'all servers are started')
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
