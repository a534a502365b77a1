// However a process with a host ends, nothing that it started outlives it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { bundled } from '../../packages/testkit/src/bundled.ts'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { temporaryFolder } from './support/folder.ts'
import { descendantsOf, isAlive, startsIn, until } from './support/processes.ts'

let script = ''
beforeAll(async () => {
  script = await bundled({ file: fileURLToPath(new URL('./support/parent.ts', import.meta.url)) })
})
const LONGEST = 30_000

/** A parent in a group of its own, ready, and all that it has started. */
async function parent(ending: string) {
  const file = join(temporaryFolder(), 'starts')
  const child = spawn(process.execPath, [script, ending, file], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  const over = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const family = () => [...startsIn(file), ...descendants]
  const descendants: number[] = []
  onTestFinished(() => {
    for (const pid of [child.pid!, ...family()]) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  await once(createInterface({ input: child.stdout }), 'line')
  descendants.push(...(isAlive(child.pid!) ? descendantsOf(child.pid!) : []))
  return { child, over, family, servers: startsIn(file) }
}

async function expectNobodyLeft({ over, family }: Awaited<ReturnType<typeof parent>>): Promise<void> {
  await over
  const left = () => family().filter(isAlive)
  await until(
    () => left().length === 0,
    () => `none of ${family()} is left; ${left()} are`,
    LONGEST,
  )
}

const signal = (name: NodeJS.Signals) => (child: ChildProcess) => void child.kill(name)

describe('child processes never outlive us', () => {
  // That closing a host ends its servers, stubborn ones among them, is tested in its own process.
  it.each(['throw', ...(isThorough ? ['close', 'exit', 'reject'] : [])])(
    'the parent ends by itself: %s',
    async (ending) => {
      const ready = await parent(ending)
      expect(ready.servers).toHaveLength(ending === 'close' ? 3 : 2)
      await expectNobodyLeft(ready)
    },
  )

  // After SIGKILL the parent can do nothing; what the other signals do besides is the same for all of them, as for Ctrl-C.
  // That it can be killed is seen below, too.
  it.each(isThorough ? (['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const) : [])(
    'the parent is ended by %s',
    async (name) => {
      const ready = await parent('wait')
      expect(ready.servers.every(isAlive)).toBe(true)
      signal(name)(ready.child)
      await expectNobodyLeft(ready)
    },
  )

  it('Ctrl-C reaches the whole group of the parent', async () => {
    const ready = await parent('wait')
    process.kill(-ready.child.pid!, 'SIGINT')
    await expectNobodyLeft(ready)
  })

  it('the whole group of the parent is killed', async () => {
    const ready = await parent('wait')
    process.kill(-ready.child.pid!, 'SIGKILL')
    await expectNobodyLeft(ready)
  })

  it.runIf(process.platform === 'linux')(
    'who watches over the servers is killed before the parent',
    async () => {
      const ready = await parent('wait')
      const watchers = () => descendantsOf(ready.child.pid!).filter((pid) => !ready.servers.includes(pid))
      const first = watchers()
      expect(first).toHaveLength(1)
      process.kill(first[0]!, 'SIGKILL')
      await until(() => watchers().some((pid) => pid !== first[0]), 'another one watches')
      signal('SIGKILL')(ready.child)
      await expectNobodyLeft(ready)
    },
  )

  it('the parent is killed while a server is still starting', async () => {
    const ready = await parent('start')
    signal('SIGKILL')(ready.child)
    await expectNobodyLeft(ready)
  })
})
