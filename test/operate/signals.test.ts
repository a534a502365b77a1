// What signals do: SIGHUP reads files again, the first of the others ends gently, the second at once.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { untilSignalled } from '../../packages/cli/src/gateway/until-signalled.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { textOf } from '../mcp/support/gateway.ts'
import { descendantsOf, isAlive, until } from '../mcp/support/processes.ts'
import { scriptPath } from '../mcp/support/servers.ts'
import { script } from '../mcp/support/shell-server.ts'
import { connectTo } from './support/clients.ts'

describe('a service', () => {
  /** Hears signals as if they were sent to this process. */
  function service(hasTerminal: boolean) {
    const did: string[] = []
    let finish = () => {}
    const drained = new Promise<void>((resolve) => {
      finish = resolve
    })
    const ended = untilSignalled(
      {
        reload: async () => void did.push('reload'),
        drain: (isUrgent) => {
          did.push(isUrgent ? 'drain now' : 'drain')
          return drained
        },
        close: async () => void did.push('close'),
      },
      { hasTerminal },
    )
    const hear = (signal: NodeJS.Signals) => {
      process.emit(signal, signal)
      return new Promise((resolve) => setImmediate(resolve))
    }
    return { did, finish, ended, hear }
  }
  // Others may stop listening meanwhile: a signal of these tests reaches them too.
  const listeners = () =>
    (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).flatMap((signal) => process.listeners(signal))

  it('without a terminal reloads at SIGHUP, also while it ends', async () => {
    const before = listeners()
    const { did, finish, ended, hear } = service(false)
    await hear('SIGHUP')
    await hear('SIGTERM')
    await hear('SIGHUP')
    finish()
    await ended
    expect(did).toEqual(['reload', 'drain', 'reload'])
    expect(before).toEqual(expect.arrayContaining(listeners()))
  })

  it('with a terminal ends at SIGHUP, which means that it was closed, without waiting for balancers', async () => {
    const before = listeners()
    const { did, finish, ended, hear } = service(true)
    await hear('SIGHUP')
    finish()
    await ended
    expect(did).toEqual(['drain now'])
    expect(before).toEqual(expect.arrayContaining(listeners()))
  })

  it('ends at once with the second signal', async () => {
    const { did, ended, hear } = service(false)
    await hear('SIGINT')
    await hear('SIGTERM')
    await ended
    expect(did).toEqual(['drain now', 'close'])
  })
})

type Served = { readonly child: ChildProcess; readonly url: string; readonly told: () => string }

/** `toolshelf mcp --http` with the servers of a configuration. */
async function start(folder: string, config: string, ...words: string[]): Promise<Served> {
  const child = spawn(
    process.execPath,
    [...binary, 'mcp', '--http', '--port', '0', '--config', config, ...words],
    {
      env: { PATH: process.env.PATH ?? '', HOME: folder, XDG_CACHE_HOME: folder, XDG_STATE_HOME: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const { told } = heardFrom(child)
  await until(
    () => told().includes('ready at ') || child.exitCode !== null,
    () => `it is ready: ${told()}`,
  )
  return { child, url: /ready at (\S+)/.exec(told())?.[1] ?? '', told }
}

function write(file: string, ...scripts: string[]): void {
  // What is not called is a shell, which starts in a few milliseconds.
  const servers = scripts.map((name) => [
    name,
    name === 'results' ? { command: process.execPath, args: [scriptPath(name)] } : script({}),
  ])
  writeFileSync(`${file}.new`, JSON.stringify({ mcpServers: Object.fromEntries(servers) }))
  renameSync(`${file}.new`, file)
}

it('toolshelf mcp --http: SIGHUP keeps sessions, SIGTERM finishes calls', async () => {
  const folder = temporaryFolder()
  const config = join(folder, 'servers.json')
  write(config, 'results', 'healthy')
  const { child, url, told } = await start(folder, config, '--drain-delay', '0.2')
  const exit = once(child, 'exit')
  expect((await fetch(new URL('/health', url))).status).toBe(200)
  const desk = await connectTo(url)
  await desk.search('select:results__slow')

  write(config, 'results', 'lists')
  child.kill('SIGHUP')
  await until(() => /added lists; removed healthy/.test(told()), 'the configuration is applied')
  expect(told()).toContain('reading the configuration again')
  expect(await desk.names()).toEqual(['ToolSearch', 'results__slow'])

  let isUnderWay = false
  const onprogress = () => {
    isUnderWay = true
  }
  const family = descendantsOf(child.pid ?? 0)
  const slow = desk.call('results__slow', { steps: 10, pause: 100 }, { onprogress })
  await until(() => isUnderWay, 'the call runs')
  child.kill('SIGTERM')
  expect(textOf(await slow)).toContain('10')
  expect(await exit).toEqual([0, null])
  expect(told()).toMatch(/finishing calls \(1\), .*sessions \(1\) end with this process/)
  await until(() => !family.some(isAlive), 'all processes are gone')
})
