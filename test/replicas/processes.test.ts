// Replicas as processes behind a balancer, on a server of Redis: killed, restarted and cut off.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Balancer, startBalancer } from '../../packages/testkit/src/balancer.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { isThorough, sizeOf } from '../../packages/testkit/src/runs.ts'
import { type StoreServer, startRedis } from '../../packages/testkit/src/store-servers.ts'
import { makeFolder } from '../mcp/support/folder.ts'
import { type ClientOptions, connectWith, everyCapability, textOf } from '../mcp/support/gateway.ts'
import { until } from '../mcp/support/processes.ts'
import { here } from '../mcp/support/server-here.ts'
import { listed, neighbour, tool } from '../mcp/support/small-servers.ts'
import { type ReplicaProcess, startReplica } from './processes.ts'

const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
}

/** Two show all that three do; starting one takes a second of CPU time. */
const COUNT = sizeOf({ quick: 2, full: 3 })
const ALL = Array.from({ length: COUNT }, (_, index) => index)
/** Milliseconds between two calls of a client under load: the balancer in this process needs time, too. */
const PAUSE_MS = sizeOf({ quick: 60, full: 20 })

describe('redis', () => {
  const folder = makeFolder()
  const pinned = listed('pinned', [tool('walk')])
  const works: (() => Promise<void>)[] = []
  let server: StoreServer | undefined
  let replicas: ReplicaProcess[] = []
  let balancer: Balancer

  const optionsOf = (index: number) => {
    const home = join(folder.path, `home-${index}`)
    mkdirSync(home, { recursive: true })
    return {
      store: server?.url,
      config: join(folder.path, 'servers.json'),
      home,
      // As long as the balancer takes to notice: the test ends the delay then.
      words: ['--drain-delay', '300', '--mode', 'list', '--ranker', 'lexical'],
    }
  }

  beforeAll(async () => {
    server = await startRedis()
    if (!server) return
    // In this process: as processes they would be started again with each replica.
    const servers = [neighbour(), here('library', 'gateway-library'), pinned.config]
    const mcpServers = Object.fromEntries(servers.map(({ name, transport }) => [name, transport]))
    writeFileSync(
      join(folder.path, 'servers.json'),
      JSON.stringify({ mcpServers, gateway: { onChange: 'hold' } }),
    )
    replicas = await Promise.all(ALL.map((index) => startReplica(optionsOf(index))))
    balancer = await startBalancer(
      replicas.map(({ url }) => url),
      { healthPath: '/ready' },
    )
  })
  afterEach(async () => {
    for (const work of works.splice(0).reverse()) await work()
    balancer?.rotate()
    balancer?.choose(undefined)
  })
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.end('SIGKILL')))
    await balancer?.close()
    await server?.stop()
    folder.remove()
  })

  async function connect(options: ClientOptions = {}) {
    const transport = new StreamableHTTPClientTransport(new URL(balancer.url))
    const desk = await connectWith(transport, { atEnd: (work) => void works.push(work), ...options })
    return { ...desk, transport }
  }

  const port = (index: number) => Number(new URL(replicas[index]?.url ?? '').port)

  /** Restarts a replica as an operator would, with a delay that ends when the balancer has noticed. */
  async function restart(index: number): Promise<void> {
    const place = { ...optionsOf(index), port: port(index) }
    replicas[index]?.signal('SIGTERM')
    await until(() => balancer.isLeft(index), `the balancer has left ${index}`)
    await replicas[index]?.end('SIGTERM')
    replicas[index] = await startReplica(place)
    await until(() => balancer.isReady(index), `the balancer uses ${index} again`)
  }

  /** Takes seconds. */
  const itThorough = it.runIf(isThorough)

  it('search, call and answer at any replica', async () => {
    if (!server) return console.warn('skipped: redis is not there')
    const desk = await connect({ era: 'modern', capabilities: everyCapability })
    for (const name of ['neighbour__add', 'library__ask'])
      expect(await desk.search(`select:${name}`)).toContain(name)
    for (const b of [1, 2, 3, 4])
      expect(textOf(await desk.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
    for (const _ of [1, 2, 3, 4]) expect(textOf(await desk.run('library__ask', question))).toContain('Ada')
    expect(desk.asked).toHaveLength(4)
    expect(new Set(balancer.chosen).size).toBe(COUNT)
  })

  it('a change accepted at one replica holds at all', async () => {
    if (!server) return
    const desks = await Promise.all(ALL.map(() => connect({ era: 'modern' })))
    /** Searches at each replica until it answers this. */
    const untilAnswered = async (query: string, answer: string) => {
      for (const [index, desk] of desks.entries()) {
        balancer.only(index)
        await until(async () => (await desk.search(query)).includes(answer), `${answer}, at ${index}`)
      }
    }
    await untilAnswered('select:pinned__walk', 'The tool walk')
    pinned.write([tool('walk', { description: 'Walks elsewhere' })])
    await untilAnswered('walk', 'held back')
    expect(textOf(await desks.at(-1)?.run('pinned__walk', {}))).toContain('toolshelf trust pinned')
    const { home, store } = optionsOf(1)
    const environment = { HOME: home, XDG_STATE_HOME: home, TOOLSHELF_STORE: store ?? '' }
    const accepted = await runHere({ folder: home, environment }, ['trust', 'pinned', '--yes'])
    expect(accepted.code).toBe(0)
    await untilAnswered('select:pinned__walk', 'elsewhere')
  })

  it('a rolling restart under load fails no request', async () => {
    if (!server) return
    let isOver = false
    let calls = 0
    const desks = await Promise.all(
      Array.from({ length: sizeOf({ quick: 2, full: 20 }) }, () => connect({ era: 'modern' })),
    )
    const working = desks.map(async (desk) => {
      while (!isOver) {
        const b = ++calls
        expect(textOf(await desk.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
        await sleep(PAUSE_MS)
      }
    })
    const load = Promise.all(working)
    const restarted = isThorough ? ALL : ALL.slice(0, 1)
    for (const index of restarted) await Promise.race([restart(index), load])
    // As while the others are restarted, each of which takes a CPU second.
    balancer.rotate(restarted)
    const enough = calls + 2 * desks.length
    await Promise.race([until(() => calls > enough, 'all went on'), load])
    isOver = true
    await load
    expect(calls).toBeGreaterThan(desks.length)
  })

  // The last one: its replica stays dead. The units of a round wait a shorter time.
  itThorough('a replica killed in the middle of calls takes those with it, with a clear error', async () => {
    if (!server) return
    balancer.only(0)
    const answer = async () => {
      await replicas[0]?.end('SIGKILL')
      balancer.rotate(ALL.slice(1))
      return { action: 'accept', content: { name: 'Ada' } }
    }
    const asked = await connect({ era: 'modern', capabilities: everyCapability, answer: answer as never })
    await asked.run('neighbour__add', { a: 1, b: 2 })
    await expect(asked.run('library__ask', question)).rejects.toThrow(
      'the replica that runs the call has ended',
    )
    for (const b of [1, 2, 3])
      expect(textOf(await asked.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
  })
})
