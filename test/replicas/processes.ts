// Replicas as processes: `toolshelf mcp --http --store …`, as an operator starts them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { binary } from '../../packages/testkit/src/binary.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import { until } from '../mcp/support/processes.ts'

export type ReplicaProcess = {
  readonly url: string
  signal(signal: NodeJS.Signals): void
  /** Signals it, and resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>
}

export type ReplicaProcessOptions = {
  readonly store: string | undefined
  /** File with the configuration of the servers. */
  readonly config: string
  /** Home folder; replicas on different machines have different ones. */
  readonly home: string
  /** The port of an ended replica whose place it takes; any free one by default. */
  readonly port?: number
  readonly words?: readonly string[]
}

/** Starts a replica and waits until it is ready. */
export async function startReplica(options: ReplicaProcessOptions): Promise<ReplicaProcess> {
  const { store, config, home, port = 0, words = [] } = options
  const shared = store === undefined ? [] : ['--store', store]
  const args = [
    'mcp',
    '--http',
    '--no-inspect',
    '--port',
    String(port),
    '--config',
    config,
    ...shared,
    ...words,
  ]
  const child: ChildProcess = spawn(process.execPath, [...binary, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: home, XDG_CACHE_HOME: home, XDG_STATE_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  const { told } = heardFrom(child)
  await until(
    () => told().includes('ready at ') || child.exitCode !== null,
    () => `it is ready: ${told()}`,
  )
  const url = /ready at (\S+)/.exec(told())?.[1]
  if (url === undefined) throw new Error(`the replica did not start: ${told()}`)
  return {
    url,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await ended
    },
  }
}
