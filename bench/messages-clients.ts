// Runs the clients of the Messages bench in their own process: takes jobs from the bench and returns figures.
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReader, now, replies } from './messages-events.ts'

export type Job = {
  readonly url: string
  readonly body: string
  /** The API of the request; the Messages API if left out. */
  readonly api?: keyof typeof replies
  readonly streams: number
  /** Of each stream. */
  readonly events: number
  /** Milliseconds between two events of a stream; 0 for as fast as it can. */
  readonly pause: number
  /** The model searches once in each stream, by words. */
  readonly isSearching?: boolean
  /** While the streams run, one more client asks for the first byte of short replies, again and again. */
  readonly isProbing: boolean
}

/** Short replies, one after the other on one connection. */
export type ShortJob = Pick<Job, 'url' | 'body' | 'api'> & { readonly requests: number }

export type Figures = {
  readonly received: number
  /** From the first request to the last end. */
  readonly seconds: number
  readonly lag: Spread
  readonly firstByte: Spread
}

/** The milliseconds to the first byte of each reply; the first of all opens the connection and does not count. */
export type FirstBytes = readonly number[]

export type Spread = {
  readonly p50: number
  readonly p95: number
  readonly worst: number
  readonly count: number
}

/** Requests start spread over this many milliseconds, so that events of different streams do not coincide. */
const START = 1000
/** Milliseconds from one short reply to the next request. */
const REST = 10

process.on('message', ({ id, job }: { id: number; job: Job | ShortJob }) => {
  const done: Promise<unknown> = 'requests' in job ? askInTurn(job) : perform(job)
  done.then(
    (figures) => process.send?.({ id, figures }),
    (error: unknown) => process.send?.({ id, error: `bench messages: ${job.url}: ${error}` }),
  )
})
process.once('disconnect', () => process.exit())
process.send?.({ url: '' })

async function perform(job: Job): Promise<Figures> {
  const agent = new Agent({ keepAlive: true })
  const lags: number[] = []
  const firsts: number[] = []
  const started = now()
  const pacedBy = job.pause > 0 ? START : 0
  let isOver = false
  const streams = Array.from({ length: job.streams }, async () => {
    await sleep(Math.random() * pacedBy)
    const first = await stream(job, agent, (lag) => lags.push(lag))
    if (!job.isProbing) firsts.push(first)
  })
  const all = Promise.all(streams).finally(() => {
    isOver = true
  })
  const probes = job.isProbing ? probe(job, agent, () => isOver, started) : []
  await all
  firsts.push(...(await probes))
  const seconds = (now() - started) / 1000
  agent.destroy()
  return { received: lags.length, seconds, lag: spread(lags), firstByte: spread(firsts) }
}

async function askInTurn({ requests, ...job }: ShortJob): Promise<FirstBytes> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const short = { ...job, streams: 1, events: 1, pause: 0, isProbing: false }
  const times: number[] = []
  for (let turn = 0; turn <= requests; turn++) times.push(await stream(short, agent, () => {}))
  agent.destroy()
  return times.slice(1)
}

/** Without streams, measures for as long as one would have run. */
async function probe(job: Job, agent: Agent, isOver: () => boolean, started: number): Promise<number[]> {
  const end = started + START + job.events * job.pause
  const times: number[] = []
  await sleep(START)
  while (job.streams > 0 ? !isOver() : now() < end) {
    times.push(await stream({ ...job, events: 1, pause: 0 }, agent, () => {}))
    await sleep(REST)
  }
  return times
}

/** Reads one reply to its end; returns the milliseconds to its first byte. */
function stream(
  { url, body, api = 'messages', events, pause, isSearching }: Job,
  agent: Agent,
  onLag: (lag: number) => void,
): Promise<number> {
  const asked = now()
  const { path, mark } = replies[api]
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-api-key': 'bench',
    'x-events': events,
    'x-pause': pause,
    ...(isSearching ? { 'x-search': 'ToolSearch' } : {}),
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(url + path, { method: 'POST', agent, headers }, (incoming) => {
      if (incoming.statusCode !== 200)
        return void text(incoming).then((said) => reject(new Error(said)), reject)
      const reader = createReader(mark)
      let first = 0
      incoming.on('data', (chunk: Buffer) => {
        const seen = now()
        if (first === 0) first = seen - asked
        reader.read(chunk, (sent) => onLag(seen - sent))
      })
      incoming.once('error', reject)
      incoming.once('end', () => resolve(first))
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

function spread(values: number[]): Spread {
  values.sort((a, b) => a - b)
  const at = (share: number) => values[Math.floor(values.length * share)] ?? 0
  return { p50: at(0.5), p95: at(0.95), worst: values.at(-1) ?? 0, count: values.length }
}
