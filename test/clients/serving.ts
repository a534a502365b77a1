// `toolshelf serve` as people start it, with its log in our hands; it can be ended and started again at the same
// address.
import { createInterface } from 'node:readline'
import { openUpstream } from '../../packages/cli/src/gateway/messages-options.ts'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { parseModeSetting } from '../../packages/messages/src/plan.ts'
import type { UpstreamWire } from '../../packages/messages/src/types.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import type { Home } from './gateway.ts'
import { startProcess } from './process.ts'

/** What the log says of a request. */
export type Entry = {
  readonly status: number
  readonly mode: string
  readonly wire: string
  readonly toolsGiven: number
  readonly toolsVisible: number
  readonly loaded: readonly string[]
  readonly searches: number
  /** Input tokens of all that went upstream. */
  readonly tokensWith: number
  readonly tokensSaved: number
  /** How often the upstream was asked. */
  readonly rounds: number
}

export type Serving = {
  readonly url: string
  /** Of all requests that had tools or failed, also those from before a restart. */
  readonly log: readonly Entry[]
  /** Ends the process and starts another at the same port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export async function startServing(
  node: string,
  { folder: cwd, environment: env }: Pick<Home, 'folder' | 'environment'>,
  ...options: readonly string[]
): Promise<Serving> {
  const log: Entry[] = []

  async function start(port: string) {
    const words = [...binary, 'serve', ...options, '--port', port, '--json']
    const started = await startProcess(node, words, { cwd, env }, /ready at (\S+)/)
    createInterface(started.child.stdout).on('line', (line) => {
      const entry = JSON.parse(line) as Entry
      if (entry.toolsGiven > 0 || entry.status !== 200) log.push(entry)
    })
    return started
  }

  let running = await start('0')
  const { url } = running
  return {
    url,
    log,
    async restart() {
      await running.stop()
      running = await start(new URL(url).port)
    },
    stop: () => running.stop(),
  }
}

export type ServingHere = {
  /** As `--upstream` and `--mode` spell them. */
  readonly upstream: string
  readonly mode?: string
  readonly wire?: UpstreamWire
}

/**
 * The same gateway in this process, for tests of a client that has already met the command: to start it twice takes two CPU
 * seconds. A restart makes a new gateway, which has nothing of the old one.
 */
export async function serveHere({ upstream: where, mode = 'auto', wire }: ServingHere): Promise<Serving> {
  const log: Entry[] = []
  const setting = parseModeSetting(mode)
  if (!setting) throw new Error(`${mode} is not a mode`)

  async function start(port: number) {
    const gateway = createMessagesGateway({ upstream: await openUpstream(where, wire, {}), notify: () => {} })
    return serveMessagesGateway({
      ...{ gateway, setting, port },
      onDone({ status, outcome }) {
        const entry = { status, ...outcome, ...outcome?.figures() } as Entry
        if (entry.toolsGiven > 0 || status !== 200) log.push(entry)
      },
    })
  }

  let running = await start(0)
  const { url } = running
  return {
    url,
    log,
    async restart() {
      await running.close()
      running = await start(Number(new URL(url).port))
    },
    stop: () => running.close(),
  }
}
