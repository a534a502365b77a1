// Runs the clients of the Messages bench in their own process: takes jobs from the bench and returns figures.
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { replies } from './messages-events.ts'

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
}

/** Short replies, one after the other on one connection. */
export type ShortJob = Pick<Job, 'url' | 'body' | 'api'> & { readonly requests: number }

/** The milliseconds to the first byte of each reply; the first of all opens the connection and does not count. */
export type FirstBytes = readonly number[]

/** Requests start spread over this many milliseconds, so that events of different streams do not coincide. */
const START = 1000

process.on('message', ({ id, job }: { id: number; job: Job | ShortJob }) => {
  const done: Promise<unknown> = 'requests' in job ? askInTurn(job) : perform(job)
  done.then(
    (figures) => process.send?.({ id, figures }),
    (error: unknown) => process.send?.({ id, error: `bench messages: ${job.url}: ${error}` }),
  )
})
process.once('disconnect', () => process.exit())
process.send?.({ url: '' })

async function perform(job: Job): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const pacedBy = job.pause > 0 ? START : 0
  const streams = Array.from({ length: job.streams }, async () => {
    await sleep(Math.random() * pacedBy)
    await stream(job, agent)
  })
  await Promise.all(streams)
  agent.destroy()
}

async function askInTurn({ requests, ...job }: ShortJob): Promise<FirstBytes> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const short = { ...job, streams: 1, events: 1, pause: 0 }
  const times: number[] = []
  for (let turn = 0; turn <= requests; turn++) times.push(await stream(short, agent))
  agent.destroy()
  return times.slice(1)
}

/** Reads one reply to its end; returns the milliseconds to its first byte. */
function stream({ url, body, api = 'messages', events, pause }: Job, agent: Agent): Promise<number> {
  const asked = performance.now()
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-api-key': 'bench',
    'x-events': events,
    'x-pause': pause,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(url + replies[api].path, { method: 'POST', agent, headers }, (incoming) => {
      if (incoming.statusCode !== 200)
        return void text(incoming).then((said) => reject(new Error(said)), reject)
      let first = 0
      incoming.on('data', () => {
        if (first === 0) first = performance.now() - asked
      })
      incoming.once('error', reject)
      incoming.once('end', () => resolve(first))
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
