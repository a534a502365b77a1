// `npm run bench messages-soak [minutes]`: mixed traffic through one gateway, with clients that disconnect and an upstream
// that fails. Checks that memory stays flat and that everything is released in the end.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  build,
  endAll,
  endAllOnSignal,
  openFilesOf,
  type Running,
  residentOf,
  startGateway,
  startUpstream,
} from './messages-processes.ts'
import { createTraffic, type Traffic } from './messages-traffic.ts'
import { report, table } from './report.ts'

const STREAMS = 30
/** Memory rises and falls with garbage collection, so the minimum of each interval of this length counts. */
const SAMPLE_SECONDS = 30
/** Warm-up as a share of the whole time: until everything is compiled, loaded and cached. */
const WARM_UP = 0.2
/** Largest growth over the measured time, relative to the memory in its middle, that counts as flat. */
const MAX_GROWTH = 0.05
/** Shortest run that is written to RESULTS.md, in minutes. */
const LONG = 10

const minutes = Number(process.argv[2] ?? LONG)
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
const say = (message: string) => console.log(`bench messages-soak: ${message}`)
endAllOnSignal()
try {
  if (!(minutes > 0)) throw new Error('bench messages-soak: the number of minutes must be above 0.')
  build()
  await soak()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()

type Sample = { readonly minute: number; readonly resident: number }

async function soak(): Promise<void> {
  const upstream = await startUpstream()
  const gateway = await startGateway(folder, '--upstream', upstream.url)
  const before = { files: openFilesOf(gateway.pid), resident: residentOf(gateway.pid) }
  const traffic = createTraffic(gateway.url)
  say(`${STREAMS} streams for ${minutes} minutes; ${before.resident.toFixed(0)} MB before the first request`)
  const end = performance.now() + minutes * 60_000
  const clients = Array.from({ length: STREAMS }, async () => {
    while (performance.now() < end) await traffic.one()
  })
  const samples = await watch(gateway, end)
  await Promise.all(clients)
  traffic.close()
  await sleep(2000)
  const after = { files: openFilesOf(gateway.pid), resident: residentOf(gateway.pid) }
  const active = Number(/^toolshelf_active_requests\{[^}]*\} (\d+)/m.exec(await metricsOf(gateway))?.[1])
  const lines = [...verdict(samples), '', ...outcomes(traffic), '', leftovers(before, after, active)]
  if (minutes >= LONG) report('Messages gateway, soak', `npm run bench messages-soak ${minutes}`, lines)
  else console.log(`\n${lines.join('\n')}\n`)
}

async function watch({ pid }: Running, end: number): Promise<Sample[]> {
  const started = performance.now()
  const each = Math.min(SAMPLE_SECONDS, minutes * 6) * 1000
  const samples: Sample[] = []
  for (let until = started + each; until <= end + 1; until += each) {
    let lowest = Number.POSITIVE_INFINITY
    while (performance.now() < until) {
      await sleep(Math.min(500, Math.max(until - performance.now(), 1)))
      lowest = Math.min(lowest, residentOf(pid))
    }
    const minute = (until - started) / 60_000
    samples.push({ minute, resident: lowest })
    say(`${minute.toFixed(1)} min  ${lowest.toFixed(1)} MB  ${openFilesOf(pid)} open files`)
  }
  return samples
}

function verdict(samples: readonly Sample[]): string[] {
  const measured = samples.filter(({ minute }) => minute > minutes * WARM_UP)
  const slope = slopeOf(measured)
  const middle = measured.reduce((sum, { resident }) => sum + resident, 0) / measured.length
  const growth = (slope * minutes * (1 - WARM_UP)) / middle
  const isFlat = growth < MAX_GROWTH
  if (!isFlat) process.exitCode = 1
  const shown = samples.map(({ minute, resident }) => [minute.toFixed(1), resident.toFixed(1)])
  return [
    ...table(['minute', 'RSS MB, lowest'], shown),
    '',
    `After a warm-up of ${(minutes * WARM_UP).toFixed(1)} minutes: ${middle.toFixed(0)} MB, ${slope >= 0 ? '+' : ''}${slope.toFixed(2)} MB a minute, ${(growth * 100).toFixed(1)} % over the rest (flat: below ${MAX_GROWTH * 100} %): ${isFlat ? 'flat' : 'not flat'}.`,
  ]
}

/** Megabytes a minute, by least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (value: (sample: Sample) => number) =>
    samples.reduce((sum, sample) => sum + value(sample), 0) / samples.length
  const [minute, resident] = [mean((sample) => sample.minute), mean((sample) => sample.resident)]
  const together = mean((sample) => (sample.minute - minute) * (sample.resident - resident))
  return together / mean((sample) => (sample.minute - minute) ** 2)
}

function outcomes({ counts, wrong }: Traffic): string[] {
  if (wrong.length > 0) process.exitCode = 1
  const rows = [...counts].map(([mode, of]) => [mode, of.whole, of.left, of.failed, of.wrong])
  return [
    ...table(['mode', 'whole replies', 'clients that left', 'upstreams that failed', 'wrong'], rows),
    ...wrong.slice(0, 10).map((visit) => `wrong: ${JSON.stringify(visit)}`),
  ]
}

function leftovers(
  before: { files: number; resident: number },
  after: { files: number; resident: number },
  active: number,
): string {
  if (active > 1) process.exitCode = 1
  return `After all: ${active - 1} requests still active, ${after.files} open files (${before.files} before; connections to the upstream are kept), ${after.resident.toFixed(0)} MB (${before.resident.toFixed(0)} before).`
}

async function metricsOf({ url }: Running): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}
