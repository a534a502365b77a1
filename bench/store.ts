// `npm run bench store`: what an operation of each store takes, in microseconds and as a multiple of the store in memory, and
// how many bytes it sends and receives. Stores alternate, so that other load on the machine affects all of them alike.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { openStateStore, type StateStore } from '../src/store/index.ts'
import { startRedis } from '../test/support/store-servers.ts'
import { report, table } from './report.ts'

const ROUNDS = 30
const CALLS = 25
const WARM_ROUNDS = 4
/** A value, such as the login to a server. */
const VALUE = 'v'.repeat(600)
const MINUTE = 60_000

type Kind = { readonly name: string; readonly url: string }
type Operation = (store: StateStore, other: StateStore, number: number) => Promise<unknown>

const operations: { readonly [name: string]: Operation } = {
  get: (store) => store.get('bench/value'),
  set: (store, _, number) => store.set(`bench/${number % 100}`, VALUE, { ttlMs: MINUTE }),
  'set if version': async (store) => {
    const found = await store.get('bench/value')
    await store.set('bench/value', VALUE, { ttlMs: MINUTE, ifVersion: found?.version ?? null })
  },
  add: (store) => store.add('bench/count', 1, MINUTE),
  publish: (store) => store.publish('bench/none', VALUE),
  'publish until heard': async (store, other) => {
    let heard = () => {}
    const arrived = new Promise<void>((resolve) => {
      heard = resolve
    })
    const stop = await other.subscribe('bench/heard', () => heard())
    const begun = performance.now()
    await store.publish('bench/heard', VALUE)
    await arrived
    const took = performance.now() - begun
    await stop()
    return took
  },
}

/** Microseconds of each call of every store, in turns. */
async function measure(kinds: readonly Kind[], operation: Operation): Promise<Map<string, number[]>> {
  const opened = await Promise.all(
    kinds.map(async ({ name, url }) => {
      const one = await openStateStore(url)
      return { name, one, other: name === 'memory' ? one : await openStateStore(url), times: [] as number[] }
    }),
  )
  for (const { one } of opened) await one.set('bench/value', VALUE)
  for (let round = 0; round < ROUNDS + WARM_ROUNDS; round++)
    for (const { one, other, times } of opened)
      for (let call = 0; call < CALLS; call++) {
        const begun = performance.now()
        const measured = await operation(one, other, round * CALLS + call)
        const took =
          typeof measured === 'number' && operation === operations['publish until heard']
            ? measured
            : performance.now() - begun
        if (round >= WARM_ROUNDS) times.push(took * 1000)
      }
  for (const { one, other } of opened) await Promise.all([one.close(), other.close()])
  return new Map(opened.map(({ name, times }) => [name, times.sort((a, b) => a - b)]))
}

const round = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0))
const quantile = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? 0

/** Forwards connections and counts what passes. */
async function startCounter(port: number) {
  const sockets = new Set<Socket>()
  const passed = { sent: 0, received: 0 }
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (bytes) => {
      passed.sent += bytes.length
    })
    upstream.on('data', (bytes) => {
      passed.received += bytes.length
    })
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    passed,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Bytes sent and received by a call, of a connection that is open and has run it before. */
async function bytesOf({ url }: Kind, operation: Operation): Promise<string> {
  const { port } = new URL(url)
  const counter = await startCounter(Number(port))
  const [one, other] = await Promise.all(
    [1, 2].map(() => openStateStore(url.replace(`:${port}`, `:${counter.port}`))),
  )
  if (!one || !other) return ''
  for (let call = 0; call < 20; call++) await operation(one, other, call)
  const before = { ...counter.passed }
  for (let call = 0; call < CALLS; call++) await operation(one, other, call)
  const sent = Math.round((counter.passed.sent - before.sent) / CALLS)
  const received = Math.round((counter.passed.received - before.received) / CALLS)
  await Promise.all([one.close(), other.close()])
  counter.close()
  return `${sent} + ${received}`
}

const redis = await startRedis()
const kinds: Kind[] = [
  { name: 'memory', url: 'memory:' },
  ...(redis ? [{ name: 'redis', url: redis.url }] : []),
]
try {
  const rows: string[][] = []
  for (const [what, operation] of Object.entries(operations)) {
    const found = await measure(kinds, operation)
    // The lower decile is the cost while the machine does little else.
    const base = quantile(found.get('memory') ?? [], 0.1)
    for (const kind of kinds) {
      const times = found.get(kind.name) ?? []
      const [p10, p50, p99] = [0.1, 0.5, 0.99].map((share) => quantile(times, share)) as [
        number,
        number,
        number,
      ]
      const bytes = kind.name === 'redis' ? await bytesOf(kind, operation) : ''
      rows.push([what, kind.name, ...[p10, p50, p99].map(round), `${(p10 / base).toFixed(0)} ×`, bytes])
    }
  }
  report(
    'Stores',
    'npm run bench store',
    table(
      ['operation', 'store', 'p10 µs', 'p50 µs', 'p99 µs', 'p10 to memory', 'bytes sent + received'],
      rows,
    ),
  )
} finally {
  await redis?.stop()
}
