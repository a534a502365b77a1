// Measures streams of the Messages API: directly, through a bare proxy, and through the gateway. What each adds to the first byte
// and to every event, and what it costs. All ways take turns in one run.
import { ratio, takeTurns } from './mcp-turns.ts'
import type { Figures, Job } from './messages-clients.ts'
import { type Clients, cpuOf, type Running, residentOf } from './messages-processes.ts'
import { median, table } from './report.ts'

export type Way = {
  readonly name: string
  readonly url: string
  readonly body: string
  readonly api?: Job['api']
  /** The process between the clients and the upstream. */
  readonly pid: number | undefined
}

export type Bench = {
  readonly ways: readonly Way[]
  readonly clients: Clients
  readonly upstream: Running
  readonly counts: readonly number[]
  readonly rounds: number
  /** Duration of a stream at model speed. */
  readonly seconds: number
  readonly say: (message: string) => void
}

export const DIRECT = 'direct'
export const BARE = 'bare proxy'
export const PASS = 'toolshelf, pass'

/** Events a second of one stream. */
const MODEL_SPEED = 50
/** Events of all streams together, as fast as possible. */
const FAST_EVENTS = 200_000
/** Milliseconds that pass may add: to a direct request, and to what the bare proxy adds. */
const MAX_ADDED = 1
const MAX_BESIDE_BARE = 0.5
const MAX_CPU = 1.3
/** A stream that is this many milliseconds late has fallen behind. */
const BEHIND = 1000

type Run = {
  readonly figures: Figures
  readonly sent: number
  readonly cpu: number
  readonly resident: number
}

type Measured = { readonly paced: Run; readonly probed: Figures }

export async function measureStreams(bench: Bench): Promise<string[]> {
  const { ways, counts, rounds, seconds, say } = bench
  const results = new Map<number, Map<string, Measured[]>>()
  for (const streams of counts) {
    say(`${streams} streams at model speed`)
    const turns = new Map(ways.map((way) => [way.name, () => measure(bench, way, streams)]))
    results.set(streams, await takeTurns(turns, rounds))
  }
  const rows = [...results].flatMap(([streams, all]) => waysIn(all, streams, seconds))
  const latency = rows.map(({ streams, name, first, event }) => [
    streams,
    name,
    ...[first.p50, first.p95, first.added50, first.added95].map(milliseconds),
    ...[event.p50, event.p95, event.added50, event.added95, event.worst].map(milliseconds),
  ])
  const load = rows.map(({ streams, name, cpu, toBare, resident, received, sent, kept }) => [
    streams,
    name,
    ...(name === DIRECT ? ['', '', ''] : [cpu.toFixed(1), `${toBare.toFixed(2)}×`, resident.toFixed(0)]),
    `${received} / ${sent}`,
    `${kept.toFixed(1)} %`,
  ])
  const wait = ['first byte p50 ms', 'p95', 'added p50', 'added p95']
  const lag = ['event p50 ms', 'p95', 'added p50', 'added p95', 'worst']
  return [
    `At model speed: ${MODEL_SPEED} events a second for ${seconds} s in each stream. Request bodies have ${kilobytes(ways)} kB. Medians of ${rounds} rounds, the worst of all. First byte: of a further short reply while the streams run (at one stream: it is the one). An event's time: from the upstream's write to the client's read.`,
    '',
    ...table(['streams', 'way', ...wait, ...lag], latency),
    '',
    ...table(
      [
        'streams',
        'way',
        'CPU ms per stream',
        'to bare proxy',
        'RSS MB',
        'events received / sent',
        'of the speed',
      ],
      load,
    ),
    '',
    ...goals(rows),
  ]
}

async function measure({ clients, upstream, seconds }: Bench, way: Way, streams: number): Promise<Measured> {
  const pause = 1000 / MODEL_SPEED
  const events = seconds * MODEL_SPEED
  const job: Job = { ...way, streams, events, pause, isProbing: false }
  const paced = await perform(clients, upstream, way, job)
  const probed = await clients.perform({ ...job, streams: streams - 1, isProbing: true })
  return { paced, probed }
}

async function perform(clients: Clients, upstream: Running, { pid }: Way, job: Job): Promise<Run> {
  const before = { sent: await sentBy(upstream), cpu: pid ? cpuOf(pid) : 0 }
  let resident = 0
  const watch = setInterval(() => {
    if (pid) resident = Math.max(resident, residentOf(pid))
  }, 250)
  const figures = await clients.perform(job).finally(() => clearInterval(watch))
  const cpu = pid ? cpuOf(pid) - before.cpu : 0
  return { figures, sent: (await sentBy(upstream)) - before.sent, cpu, resident }
}

async function sentBy({ url }: Running): Promise<number> {
  const { sent } = (await (await fetch(`${url}/sent`)).json()) as { sent: number }
  return sent
}

type Times = { p50: number; p95: number; added50: number; added95: number; worst: number }

type Row = {
  streams: number
  name: string
  first: Times
  event: Times
  cpu: number
  toBare: number
  resident: number
  received: number
  sent: number
  /** Of the events that were due while the streams ran, per cent. */
  kept: number
}

function waysIn(all: ReadonlyMap<string, readonly Measured[]>, streams: number, seconds: number): Row[] {
  const direct = all.get(DIRECT)!
  const cpuPerStream = (runs: readonly Measured[]) => median(runs.map(({ paced }) => paced.cpu)) / streams
  const bare = cpuPerStream(all.get(BARE)!)
  return [...all].map(([name, runs]) => {
    const sum = (value: (run: Run) => number) => runs.reduce((total, { paced }) => total + value(paced), 0)
    const cpu = cpuPerStream(runs)
    // Streams start within a second, so all is over when that and the longest stream are.
    const late = Math.max(...runs.map(({ paced }) => paced.figures.seconds - seconds - 1), 0)
    return {
      streams,
      name,
      first: times(runs, direct, ({ probed }) => probed.firstByte),
      event: times(runs, direct, ({ paced }) => paced.figures.lag),
      cpu,
      toBare: cpu / bare,
      resident: Math.max(...runs.map(({ paced }) => paced.resident)),
      received: sum(({ figures }) => figures.received),
      sent: sum(({ sent }) => sent),
      kept: (seconds / (seconds + late)) * 100,
    }
  })
}

function times(
  runs: readonly Measured[],
  direct: readonly Measured[],
  of: (measured: Measured) => Figures['lag'],
): Times {
  const p50 = median(runs.map((run) => of(run).p50))
  const p95 = median(runs.map((run) => of(run).p95))
  return {
    p50,
    p95,
    added50: p50 - median(direct.map((run) => of(run).p50)),
    added95: p95 - median(direct.map((run) => of(run).p95)),
    worst: Math.max(...runs.map((run) => of(run).worst)),
  }
}

function goals(rows: readonly Row[]): string[] {
  const pass = rows.filter(({ name }) => name === PASS)
  const [one, most] = [pass[0]!, pass.at(-1)!]
  const added = Math.max(one.first.added50, one.event.added50)
  const cpu = most.toBare
  const bareFirst = rows.find(({ name, streams }) => name === BARE && streams === one.streams)!.first.p50
  const beside = one.first.p50 - bareFirst
  const isHeld = most.received === most.sent && most.event.worst < BEHIND
  const met = (is: boolean) => (is ? 'met' : 'missed')
  return [
    `- Pass adds ${milliseconds(added)} ms at p50 with one stream, the larger of first byte and event (goal: less than ${MAX_ADDED} ms): ${met(added < MAX_ADDED)}.`,
    `- Its first byte comes ${milliseconds(beside)} ms after the bare proxy's (goal: at most ${MAX_BESIDE_BARE} ms): ${met(beside <= MAX_BESIDE_BARE)}.`,
    `- Pass takes ${cpu.toFixed(2)}× the bare proxy's CPU per stream with ${most.streams} streams (goal: within ${MAX_CPU}×): ${met(cpu <= MAX_CPU)}.`,
    `- Pass with ${most.streams} streams: ${most.received} of ${most.sent} events, the worst ${milliseconds(most.event.worst)} ms late (goal: all, none ${BEHIND} ms late): ${met(isHeld)}.`,
  ]
}

/** Measures streams as fast as the upstream can write and the client can read. */
export async function measureFast(bench: Bench): Promise<string[]> {
  const { ways, clients, upstream, counts, rounds, say } = bench
  const rows: (string | number)[][] = []
  for (const streams of counts) {
    say(`${streams} streams as fast as they can`)
    const events = Math.ceil(FAST_EVENTS / streams)
    const turns = ways.map((way) => {
      const job: Job = { ...way, streams, events, pause: 0, isProbing: false }
      return [way.name, () => perform(clients, upstream, way, job)] as const
    })
    const all = await takeTurns(new Map(turns), rounds)
    const speed = (runs: readonly Run[]) =>
      median(runs.map(({ figures }) => figures.received / figures.seconds))
    const cost = (runs: readonly Run[]) => median(runs.map(({ cpu, sent }) => (cpu * 1000) / sent))
    const [direct, bare] = [speed(all.get(DIRECT)!), cost(all.get(BARE)!)]
    for (const [name, runs] of all)
      rows.push([
        streams,
        name,
        Math.round(speed(runs)).toLocaleString('en'),
        ratio(speed(runs), direct),
        ...(name === DIRECT ? ['', ''] : [cost(runs).toFixed(1), ratio(cost(runs), bare)]),
      ])
  }
  return [
    `As fast as they can: ${FAST_EVENTS.toLocaleString('en')} events in all streams together.`,
    '',
    ...table(['streams', 'way', 'events/s', 'to direct', 'CPU µs per event', 'to bare proxy'], rows),
  ]
}

function milliseconds(value: number): string {
  return value.toFixed(2)
}

function kilobytes(ways: readonly Way[]): string {
  return Math.round(median(ways.map(({ body }) => body.length)) / 1000).toString()
}
