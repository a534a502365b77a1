// Where the inspector's events come from: recorded files, also while others append and rotate them, and the memory of the
// process itself.
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TraceRecord } from '../../packages/core/src/events.ts'
import { openAuditFile } from '../../packages/core/src/node/audit-file.ts'
import { createTraceStream } from '../../packages/core/src/node/trace-stream.ts'
import { createFileFeed, type EventBatch, type EventFeed } from '../../packages/inspector/src/events/files.ts'
import { createEventRing } from '../../packages/inspector/src/events/ring.ts'

const START = Date.parse('2026-01-01T00:00:00Z')

function record(sequence: number, more: object = {}): TraceRecord {
  const time = new Date(START + sequence * 1000).toISOString()
  return {
    version: 1,
    time,
    processId: 1,
    sequence,
    type: 'warning',
    message: `m${sequence}`,
    ...more,
  } as TraceRecord
}

const linesOf = (from: number, to: number, more?: object) => {
  let text = ''
  for (let sequence = from; sequence <= to; sequence++) text += `${JSON.stringify(record(sequence, more))}\n`
  return text
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-events-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const sequences = (lines: readonly string[]) =>
  lines.map((line) => (JSON.parse(line) as TraceRecord).sequence)

async function recorded(feed: EventFeed, since?: string) {
  const lines: string[] = []
  let caughtUp: object | undefined
  const signal = new AbortController().signal
  for await (const batch of feed.read({ signal, since, isFollowing: false })) {
    if ('lines' in batch) lines.push(...batch.lines)
    else caughtUp = batch.caughtUp
  }
  return { lines, caughtUp }
}

/** Follows a feed; `next` resolves with the sequences once so many have come in all. */
function follow(feed: EventFeed) {
  const ending = new AbortController()
  const events: number[] = []
  let news = () => {}
  const done = (async () => {
    for await (const batch of feed.read({ signal: ending.signal, isFollowing: true })) {
      if ('lines' in batch) events.push(...sequences(batch.lines))
      news()
    }
  })()
  onTestFinished(async () => {
    ending.abort()
    await done
  })
  return {
    stop: async () => {
      ending.abort()
      await done
    },
    until: (count: number) =>
      new Promise<number[]>((resolve) => {
        news = () => {
          if (events.length >= count) resolve(events)
        }
        news()
      }),
  }
}

describe('recorded files', () => {
  it('are read with their rotated siblings, oldest first', async () => {
    const file = join(newFolder(), 'a.jsonl')
    writeFileSync(file, linesOf(5, 6))
    writeFileSync(`${file}.1`, linesOf(3, 4))
    writeFileSync(`${file}.2`, linesOf(1, 2))
    writeFileSync(`${file}.bak`, linesOf(90, 91))
    const { lines, caughtUp } = await recorded(createFileFeed([file]))
    expect(sequences(lines)).toEqual([1, 2, 3, 4, 5, 6])
    expect(caughtUp).toEqual({ events: 6, skipped: 0, broken: 0 })
  })

  it('of several names are merged by time', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'odd'), [1, 3, 5, 9].map((one) => linesOf(one, one)).join(''))
    writeFileSync(join(folder, 'even'), [2, 4, 6].map((one) => linesOf(one, one)).join(''))
    const { lines } = await recorded(createFileFeed([join(folder, 'odd'), join(folder, 'even')]))
    expect(sequences(lines)).toEqual([1, 2, 3, 4, 5, 6, 9])
  })

  it('count half, broken, foreign and endless lines', async () => {
    const file = join(newFolder(), 'a.jsonl')
    const foreign = ['null', '[]', '"text"', '{"type":"caught-up","events":1}', '{"version":2}', '{"a":']
    writeFileSync(
      file,
      `${linesOf(1, 1)}${foreign.join('\n')}\n\n${'x'.repeat(600_000)}\n${linesOf(2, 2)}{"ver`,
    )
    const { lines, caughtUp } = await recorded(createFileFeed([file]))
    expect(sequences(lines)).toEqual([1, 2])
    expect(caughtUp).toMatchObject({ events: 2, broken: foreign.length + 1 })
  })

  it('keep the newest and report the rest as skipped, across siblings and block borders', async () => {
    const file = join(newFolder(), 'a.jsonl')
    const long = { message: 'y'.repeat(700) }
    writeFileSync(`${file}.1`, linesOf(1, 900, long))
    writeFileSync(file, linesOf(901, 1500, long))
    for (const maxEvents of [1, 599, 600, 601, 1000, 1500, 2000]) {
      const { lines, caughtUp } = await recorded(createFileFeed([file], { maxEvents }))
      const kept = Math.min(maxEvents, 1500)
      expect(sequences(lines)).toEqual(Array.from({ length: kept }, (_, index) => 1501 - kept + index))
      expect(caughtUp).toEqual({ events: kept, skipped: 1500 - kept, broken: 0 })
    }
  })

  it('share the limit: a short one is kept whole', async () => {
    const folder = newFolder()
    const [long, short] = [join(folder, 'long'), join(folder, 'short')]
    writeFileSync(long, linesOf(1, 100))
    writeFileSync(short, linesOf(1, 5))
    const { lines, caughtUp } = await recorded(createFileFeed([long, short], { maxEvents: 20 }))
    expect(lines).toHaveLength(20)
    expect(caughtUp).toEqual({ events: 20, skipped: 85, broken: 0 })
  })

  it('continue from a given time', async () => {
    const file = join(newFolder(), 'a.jsonl')
    writeFileSync(file, linesOf(1, 5))
    const { lines } = await recorded(createFileFeed([file]), record(4).time)
    expect(sequences(lines)).toEqual([4, 5])
  })

  it('must be regular files', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'a.jsonl'))
    await expect(recorded(createFileFeed([join(folder, 'a.jsonl')]))).rejects.toThrow('not a regular file')
  })
})

describe('a file that grows', () => {
  it('is followed from before it exists, through half lines and rotations, without a loss', async () => {
    const file = join(newFolder(), 'deep', 'a.jsonl')
    const followed = follow(createFileFeed([file], { pollMs: 5 }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    mkdirSync(join(file, '..'))
    writeFileSync(file, linesOf(1, 2))
    await followed.until(2)
    const [line = ''] = linesOf(3, 3).split('\n')
    appendFileSync(file, line.slice(0, 20))
    await new Promise((resolve) => setTimeout(resolve, 20))
    appendFileSync(file, `${line.slice(20)}\n`)
    await followed.until(3)
    // Two rotations between two looks.
    renameSync(file, `${file}.1`)
    writeFileSync(file, linesOf(4, 5))
    renameSync(`${file}.1`, `${file}.2`)
    renameSync(file, `${file}.1`)
    writeFileSync(file, linesOf(6, 6))
    expect(await followed.until(6)).toEqual([1, 2, 3, 4, 5, 6])
    // Emptied and begun anew.
    writeFileSync(file, '')
    await new Promise((resolve) => setTimeout(resolve, 30))
    appendFileSync(file, linesOf(7, 7))
    expect(await followed.until(7)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it('is followed while its writer rotates it', async () => {
    const file = join(newFolder(), 'a.jsonl')
    const followed = follow(createFileFeed([file], { pollMs: 1 }))
    const notify = (message: string) => expect.fail(message)
    const { write } = openAuditFile(file, { redact: (text) => text, notify, maxBytes: 1000, maxFiles: 50 })
    const { trace } = createTraceStream(write)
    for (let count = 1; count <= 200; count++) {
      trace({ type: 'warning', message: `m${count}` })
      if (count % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 4))
    }
    expect(await followed.until(200)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
  })
})

describe('the memory of the process', () => {
  const redact = (text: string) => text.replaceAll('secret', '[hidden]')

  it('keeps the newest, without secrets and without content', async () => {
    const ring = createEventRing({ redact, maxEvents: 3 })
    for (let sequence = 1; sequence <= 10; sequence++)
      ring.add(record(sequence, { message: 'a secret', content: { text: 'said' } }))
    const { lines, caughtUp } = await recorded(ring)
    expect(sequences(lines)).toEqual([8, 9, 10])
    expect(lines.join()).not.toMatch(/secret|said/)
    expect(caughtUp).toEqual({ events: 3, skipped: 7, broken: 0 })
  })

  it('keeps events of requests as they are, and makes records of them when they are read', async () => {
    const ring = createEventRing({ redact, maxEvents: 4 })
    const { open, trace } = createTraceStream(undefined, { keep: ring.addStamped, now: () => 0 })
    const own = open('serve')
    own.trace({ type: 'call', id: '1', name: 'secret', content: { text: 'said' } })
    own.trace({ type: 'sampled', model: 'm', api: 'messages', error: 'a secret' })
    own.trace({ type: 'prefix', isKept: true, causes: [], left: 0 })
    trace({ type: 'warning', message: 'a secret' })
    const { lines } = await recorded(ring)
    const head = { version: 1, time: '1970-01-01T00:00:00.000Z', processId: process.pid }
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { ...head, sequence: 2, conversation: own.id, type: 'call', id: '1', name: '[hidden]' },
      {
        ...head,
        sequence: 3,
        conversation: own.id,
        type: 'sampled',
        model: 'm',
        api: 'messages',
        error: 'a [hidden]',
      },
      { ...head, sequence: 4, conversation: own.id, type: 'prefix', isKept: true, causes: [], left: 0 },
      { ...head, sequence: 5, type: 'warning', message: 'a [hidden]' },
    ])
  })

  it('bounds the characters of events that it keeps as they are', async () => {
    const ring = createEventRing({ redact, maxCharacters: 2000 })
    const { trace } = createTraceStream(undefined, { keep: ring.addStamped })
    for (let count = 0; count < 20; count++)
      trace({ type: 'call', id: '1', name: 'x'.repeat(count), content: 1 })
    const { lines } = await recorded(ring)
    expect(lines.length).toBeGreaterThan(2)
    expect(lines.join('').length).toBeLessThan(2000)
  })

  it('is bounded in characters, also by one event that is too large', async () => {
    const ring = createEventRing({ redact, maxCharacters: 1000 })
    ring.add(record(1))
    ring.add(record(2, { message: 'x'.repeat(5000) }))
    for (let sequence = 3; sequence <= 9; sequence++) ring.add(record(sequence, { message: 'x'.repeat(200) }))
    const { lines } = await recorded(ring)
    expect(sequences(lines)).toEqual([7, 8, 9])
  })

  it('feeds several readers; one that stopped reading loses the oldest and holds nothing', async () => {
    const ring = createEventRing({ redact, maxEvents: 50 })
    const quick = follow(ring)
    const ending = new AbortController()
    const slow = ring.read({ signal: ending.signal, isFollowing: true })
    const first = await slow.next()
    expect(first.value).toEqual({ caughtUp: { events: 0, skipped: 0, broken: 0 } })
    for (let sequence = 1; sequence <= 500; sequence++) {
      ring.add(record(sequence))
      await Promise.resolve()
      if (sequence % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await quick.until(500)).toHaveLength(500)
    const late = (await slow.next()).value as EventBatch & { lines: string[] }
    expect(sequences(late.lines)[0]).toBe(451)
    ending.abort()
    await slow.return()
  })
})
