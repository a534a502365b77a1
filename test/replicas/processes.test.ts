// Three replicas as processes behind a balancer, on servers of Redis and Postgres: killed, restarted and cut off.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../mcp/support/folder.ts'
import {
  type ClientOptions,
  connectWith,
  eras,
  everyCapability,
  textOf,
  tool,
} from '../mcp/support/gateway.ts'
import { until } from '../mcp/support/processes.ts'
import { scriptPath } from '../mcp/support/servers.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { binary } from '../support/binary.ts'
import { isThorough, sizeOf } from '../support/runs.ts'
import { type StoreServer, startPostgres, startRedis } from '../support/store-servers.ts'
import { type ReplicaProcess, startReplica } from './processes.ts'

const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
}

const kinds = [
  ['redis', startRedis],
  ['postgres', startPostgres],
] as const

// The two differ behind the store's interface, whose own suite runs over both; all scenarios over both take two minutes.
describe.each(isThorough ? kinds : kinds.slice(0, 1))('%s', (kind, start) => {
  const folder = makeFolder()
  const toolsFile = join(folder.path, 'tools.json')
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
      words: ['--drain-delay', '1', '--mode', 'list'],
    }
  }

  beforeAll(async () => {
    server = await start()
    if (!server) return
    const script = (name: string, env = {}) => ({ command: process.execPath, args: [scriptPath(name)], env })
    const mcpServers = {
      neighbour: script('healthy'),
      library: script('gateway-library'),
      pinned: script('gateway-listed', { TOOLS_FILE: toolsFile, NAME: 'pinned' }),
    }
    writeFileSync(toolsFile, JSON.stringify({ tools: [tool('walk')] }))
    writeFileSync(
      join(folder.path, 'servers.json'),
      JSON.stringify({ mcpServers, gateway: { onChange: 'hold' } }),
    )
    replicas = await Promise.all([0, 1, 2].map((index) => startReplica(optionsOf(index))))
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

  async function restart(index: number, signal: NodeJS.Signals): Promise<void> {
    const place = { ...optionsOf(index), port: port(index) }
    await replicas[index]?.end(signal)
    replicas[index] = await startReplica(place)
  }

  it.each(eras)('search, call and answer at any replica: %s', async (era) => {
    if (!server) return console.warn(`skipped: ${kind} is not there`)
    const desk = await connect({ era, capabilities: everyCapability })
    for (const name of ['neighbour__add', 'library__ask'])
      expect(await desk.search(`select:${name}`)).toContain(name)
    for (const b of [1, 2, 3, 4])
      expect(textOf(await desk.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
    for (const _ of [1, 2, 3, 4]) expect(textOf(await desk.run('library__ask', question))).toContain('Ada')
    expect(desk.asked).toHaveLength(4)
    expect(new Set(balancer.chosen).size).toBe(3)
  })

  it('a replica killed in the middle of a call takes that call with it, and nothing else', async () => {
    if (!server) return
    balancer.only(0)
    const desk = await connect({ capabilities: everyCapability })
    await desk.search('select:neighbour__add')
    const lost = desk.run('library__wait').then(
      () => 'answered',
      () => 'failed',
    )
    await desk.run('neighbour__add', { a: 1, b: 2 })
    const place = { ...optionsOf(0), port: port(0) }
    await replicas[0]?.end('SIGKILL')
    balancer.rotate()
    for (const b of [1, 2, 3])
      expect(textOf(await desk.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
    expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__add'])
    expect(await Promise.race([lost, Promise.resolve('open')])).not.toBe('answered')
    replicas[0] = await startReplica(place)
  })

  it('a question whose replica was killed is answered with a clear error', async () => {
    if (!server) return
    balancer.choose((_, body) => (body.includes('"requestState"') ? 1 : 2))
    const answer = async () => {
      await restart(2, 'SIGKILL')
      return { action: 'accept', content: { name: 'Ada' } }
    }
    const desk = await connect({ era: 'modern', capabilities: everyCapability, answer: answer as never })
    await expect(desk.run('library__ask', question)).rejects.toThrow(
      'the replica that runs the call has ended',
    )
  })

  it('a change accepted at one replica holds at all', async () => {
    if (!server) return
    const desks = await Promise.all([0, 1, 2].map(() => connect()))
    /** Searches at each replica until it answers this. */
    const untilAnswered = async (query: string, answer: string) => {
      for (const [index, desk] of desks.entries()) {
        balancer.only(index)
        await until(async () => (await desk.search(query)).includes(answer), `${answer}, at ${index}`)
      }
    }
    await untilAnswered('select:pinned__walk', 'The tool walk')
    writeFileSync(toolsFile, JSON.stringify({ tools: [tool('walk', { description: 'Walks elsewhere' })] }))
    await untilAnswered('walk', 'Held back')
    const { home, store } = optionsOf(1)
    const args = ['pins', 'accept', 'pinned', '--store', store ?? '']
    const accept = spawn(process.execPath, [...binary, ...args], {
      env: { PATH: process.env.PATH ?? '', HOME: home, XDG_STATE_HOME: home },
    })
    expect(await once(accept, 'exit')).toEqual([0, null])
    await untilAnswered('select:pinned__walk', 'elsewhere')
  })

  it('without the store open sessions go on; afterwards everything does', async () => {
    if (!server?.isOwn) return
    balancer.only(0)
    const desk = await connect()
    await desk.search('select:neighbour__add')
    await server.kill()
    const end = Date.now() + sizeOf({ quick: 1000, full: 10_000 })
    do expect(textOf(await desk.run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
    while (Date.now() < end)
    balancer.only(1)
    await expect(desk.names()).rejects.toThrow('does not answer')
    await server.restart()
    const names = () => desk.names().catch((): string[] => [])
    await until(async () => (await names()).includes('neighbour__add'), 'the session goes on elsewhere')
    const accepts = () =>
      connect().then(
        () => true,
        () => false,
      )
    for (const index of [0, 1, 2]) {
      balancer.only(index)
      await until(accepts, `replica ${index} accepts new sessions`)
    }
  })

  it('a rolling restart under load fails no request', async () => {
    if (!server) return
    let isOver = false
    let calls = 0
    const desks = await Promise.all(
      Array.from({ length: sizeOf({ quick: 4, full: 20 }) }, (_, index) =>
        connect({ era: index % 2 === 0 ? 'legacy' : 'modern' }),
      ),
    )
    const working = desks.map(async (desk) => {
      while (!isOver) {
        const b = ++calls
        expect(textOf(await desk.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
      }
    })
    const load = Promise.all(working)
    for (const index of [0, 1, 2]) await Promise.race([restart(index, 'SIGTERM'), load])
    isOver = true
    await load
    expect(calls).toBeGreaterThan(desks.length)
  })
})
