// Reads recorded events from audit files: the newest of all files in the order of time, then each new one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventBatch, EventFeed, ReadEventsOptions } from './feed.ts'
import { type Log, openLog } from './log.ts'

/** Options of `createFileFeed`. */
export type FileFeedOptions = {
  /** Older events are skipped. Default: 100,000. */
  readonly maxEvents?: number
  /** Milliseconds between two looks at a file that did not grow. */
  readonly pollMs?: number
}

const MAX_EVENTS = 100_000
const POLL_MS = 250
/** Lines that one batch holds. */
const BATCH = 500

/**
 * Creates a source from files. They need not exist yet; other processes may append to them and rotate them meanwhile.
 */
export function createFileFeed(files: readonly string[], options: FileFeedOptions = {}): EventFeed {
  const { maxEvents = MAX_EVENTS, pollMs = POLL_MS } = options
  async function* read({ signal, since, isFollowing }: ReadEventsOptions): AsyncGenerator<EventBatch, void> {
    const logs = await openAll(files)
    try {
      const count = { events: 0, broken: 0 }
      const keep = (line: string) => {
        const record = readRecord(line)
        if (record === undefined && line.trim() !== '') count.broken++
        return record !== undefined && (since === undefined || record.time >= since) ? record : undefined
      }
      await seekNewest(logs, maxEvents)
      for await (const lines of merged(logs.map((log) => recordsOf(log, keep, signal)))) {
        if (signal.aborted) return
        count.events += lines.length
        yield { lines }
      }
      let skipped = 0
      for (const log of logs) skipped += await log.countSkipped(signal)
      const halves = logs.reduce((sum, log) => sum + log.broken(), 0)
      yield { caughtUp: { events: count.events, skipped, broken: count.broken + halves } }
      if (isFollowing) yield* following(logs, keep, { signal, pollMs })
    } finally {
      await closeAll(logs)
    }
  }
  return { files, read }
}

async function openAll(files: readonly string[]): Promise<Log[]> {
  const logs: Log[] = []
  try {
    for (const file of files) logs.push(await openLog(file))
    return logs
  } catch (error) {
    await closeAll(logs)
    throw error
  }
}

async function closeAll(logs: readonly Log[]): Promise<void> {
  await Promise.allSettled(logs.map((log) => log.close()))
}

/** Divides the limit evenly among the logs; the others get what a short log does not need. */
async function seekNewest(logs: readonly Log[], maxLines: number): Promise<void> {
  const counted: { log: Log; lines: number }[] = []
  for (const log of logs) counted.push({ log, lines: await log.seekBack(maxLines) })
  if (counted.reduce((sum, { lines }) => sum + lines, 0) <= maxLines) return
  counted.sort((one, other) => one.lines - other.lines)
  let room = maxLines
  for (const [index, { log, lines }] of counted.entries()) {
    const share = Math.min(lines, Math.floor(room / (counted.length - index)))
    if (share < lines) await log.seekBack(share)
    room -= share
  }
}

type Line = { readonly line: string; readonly time: string }
type Keep = (line: string) => Line | undefined

async function* recordsOf(log: Log, keep: Keep, signal: AbortSignal): AsyncGenerator<Line[], void> {
  for (let lines = await log.next(); lines && !signal.aborted; lines = await log.next()) {
    yield lines.flatMap((line) => keep(line) ?? [])
  }
}

/** Merges logs by time; each is in the order of time already, more or less. */
async function* merged(logs: readonly AsyncGenerator<Line[], void>[]): AsyncGenerator<string[], void> {
  const [only] = logs
  if (only && logs.length === 1) {
    for await (const lines of only) if (lines.length > 0) yield lines.map(({ line }) => line)
    return
  }
  const heads: { readonly log: AsyncGenerator<Line[], void>; lines: Line[]; at: number }[] = []
  for (const log of logs) heads.push({ log, lines: [], at: 0 })
  let batch: string[] = []
  for (;;) {
    for (const head of [...heads]) {
      while (head.at >= head.lines.length) {
        const next = await head.log.next()
        if (next.done) {
          heads.splice(heads.indexOf(head), 1)
          break
        }
        head.lines = next.value
        head.at = 0
      }
    }
    const [first, ...others] = heads
    if (!first) break
    const earliest = others.reduce(
      (best, head) => (head.lines[head.at]!.time < best.lines[best.at]!.time ? head : best),
      first,
    )
    batch.push(earliest.lines[earliest.at++]!.line)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function* following(
  logs: readonly Log[],
  keep: Keep,
  { signal, pollMs }: { readonly signal: AbortSignal; readonly pollMs: number },
): AsyncGenerator<EventBatch, void> {
  while (!signal.aborted) {
    let isQuiet = true
    for (const log of logs) {
      const appended = await log.fresh()
      if (appended) isQuiet = false
      const lines = (appended ?? []).flatMap((line) => keep(line)?.line ?? [])
      if (lines.length > 0) yield { lines }
    }
    if (isQuiet) await sleep(pollMs, undefined, { signal }).catch(() => {})
  }
}

/** A line that is a record of ours; undefined for any other. */
function readRecord(line: string): Line | undefined {
  try {
    const record = JSON.parse(line) as { readonly [field: string]: unknown } | null
    const isRecord =
      record?.version === 1 &&
      typeof record.type === 'string' &&
      record.type !== 'caught-up' &&
      typeof record.time === 'string' &&
      Number.isSafeInteger(record.processId) &&
      Number.isSafeInteger(record.sequence)
    return isRecord ? { line, time: record.time as string } : undefined
  } catch {
    return undefined
  }
}
