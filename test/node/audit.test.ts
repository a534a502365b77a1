// The audit file and the stream in front of it: what a line holds, and what happens when the file is full, old, gone,
// foreign or broken.
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Trace, TraceRecord } from '../../packages/core/src/events.ts'
import { type AuditFileOptions, openAuditFile } from '../../packages/core/src/node/audit-file.ts'
import {
  createChildSpan,
  createTraceStream,
  type EventStamp,
  traceIdOf,
} from '../../packages/core/src/node/trace-stream.ts'

const ID = '0af7651916cd43dd8448eb211c80319c'
const PARENT = `00-${ID}-00f067aa0ba902b7-01`

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'logs', 'audit.jsonl')
}

function opened(file: string, options: Partial<AuditFileOptions> = {}) {
  const told: string[] = []
  const notify = (message: string) => void told.push(message)
  const audit = openAuditFile(file, { redact: (text) => text, notify, ...options })
  onTestFinished(() => audit.close())
  return { told, trace: createTraceStream(audit.write).trace }
}

const linesIn = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1)
const read = (file: string) => linesIn(file).map((line) => JSON.parse(line))
const DESCRIPTORS = '/proc/self/fd'
/** The file behind a descriptor; undefined for one that is closed meanwhile. */
const targetOf = (descriptor: string) => {
  try {
    return readlinkSync(join(DESCRIPTORS, descriptor))
  } catch {
    return undefined
  }
}
const warning = (message = 'careful'): Trace => ({ type: 'warning', message })
const call: Trace = { type: 'call', id: '1', name: 'send', content: { text: 'a private word' } }

describe('the stream', () => {
  it('stamps version, time, conversation and sequence', () => {
    const records: TraceRecord[] = []
    const stream = createTraceStream((one) => void records.push(one), { now: () => 0 })
    const [one, other] = [stream.open('library'), stream.open('mcp', { traceparent: PARENT })]
    one.trace(warning())
    other.trace(warning())
    stream.trace(warning())
    const time = '1970-01-01T00:00:00.000Z'
    const stamped = { version: 1, time, processId: process.pid, ...warning() }
    expect(records).toEqual([
      expect.objectContaining({ type: 'opened', kind: 'library', sequence: 1, conversation: one.id }),
      expect.objectContaining({ type: 'opened', kind: 'mcp', sequence: 2, conversation: ID }),
      { ...stamped, sequence: 3, conversation: one.id },
      { ...stamped, sequence: 4, conversation: ID },
      { ...stamped, sequence: 5 },
    ])
    expect(one.id).toMatch(/^[0-9a-f]{32}$/)
  })

  it('hands events and stamps to those who make no records, shortens clients, and has ids for spans', () => {
    const kept: unknown[] = []
    const keep = (event: Trace, stamp: EventStamp) => void kept.push(event, stamp)
    const stream = createTraceStream(undefined, { keep, hasSpans: true, now: () => 5 })
    const client = { name: 'n'.repeat(200), version: 'v'.repeat(200) }
    const { trace } = stream.open('mcp', { client, user: 'ann', traceparent: PARENT })
    const short = { name: expect.stringMatching(/^n{99}…$/), version: expect.stringMatching(/^v{99}…$/) }
    expect(kept).toEqual([
      { type: 'opened', kind: 'mcp', client: short, user: 'ann', traceparent: PARENT },
      { at: 5, sequence: 1, conversation: ID },
    ])
    expect(trace.traceId).toBe(ID)
    expect(createTraceStream(undefined).open('mcp').trace.traceId).toBeUndefined()
    stream.open('mcp', { client: { name: 'c' } })
    expect(kept[2]).toMatchObject({ client: { name: 'c' } })
    expect(kept[2]).not.toHaveProperty('client.version')
  })

  it.each([
    [undefined, `00-${'f'.repeat(32)}-<span>-01`],
    [PARENT.replace(/01$/, '00'), `00-${ID}-<span>-00`],
    [PARENT.replace(/^00/, 'ff'), `00-${'f'.repeat(32)}-<span>-01`],
  ])('makes a span below %s', (parent, expected) => {
    const { spanId, traceparent } = createChildSpan('f'.repeat(32), parent)
    expect(spanId).toMatch(/^[0-9a-f]{16}$/)
    expect(traceparent.replace(spanId, '<span>')).toBe(expected)
  })

  it.each([
    [PARENT, ID],
    [`01-${ID}-00f067aa0ba902b7-01-more`, ID],
    [`${PARENT}-more`, undefined],
    [`ff-${ID}-00f067aa0ba902b7-01`, undefined],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    [`00-${ID}-${'0'.repeat(16)}-01`, undefined],
    [PARENT.toUpperCase(), undefined],
    ['', undefined],
    [7, undefined],
  ])('reads the trace id of %s', (given, id) => {
    expect(traceIdOf(given)).toBe(id)
  })
})

describe('a line', () => {
  it('is private, one per event, and has no arguments or results', () => {
    const file = place()
    const { trace, told } = opened(file)
    trace(call)
    trace(warning('two\nlines'))
    expect(read(file)).toMatchObject([{ type: 'call', name: 'send' }, { message: 'two\nlines' }])
    expect(linesIn(file).join()).not.toContain('private')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700)
    expect(told).toEqual([])
  })

  it('makes a file private that was not', () => {
    const file = place()
    mkdirSync(join(file, '..'))
    writeFileSync(file, '', { mode: 0o644 })
    opened(file).trace(warning())
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('has content if asked, secrets hidden in texts and keys', () => {
    const file = place()
    const redact = (text: string) => text.replaceAll('s3cret', '[hidden]')
    const { trace } = opened(file, { hasContent: true, redact })
    trace({ ...call, content: { s3cret: ['my s3cret'], n: 1 } })
    trace(warning('the s3cret again'))
    expect(read(file)).toMatchObject([
      { content: { '[hidden]': ['my [hidden]'], n: 1 } },
      { message: 'the [hidden] again' },
    ])
  })

  it.each([
    [16_000, 'object'],
    [16_001, 'string'],
  ])('has content of %i characters as %s', (length, type) => {
    const file = place()
    const { trace } = opened(file, { hasContent: true })
    trace({ ...call, content: ['x'.repeat(length - 4)] })
    expect(typeof read(file)[0].content).toBe(type)
  })

  it('has no secrets in its head', () => {
    const file = place()
    opened(file, { redact: (text) => text.replaceAll('processId', '[hidden]') }).trace(warning())
    expect(read(file)).toMatchObject([{ processId: process.pid }])
  })

  it('stays short, whatever an event holds', () => {
    const file = place()
    const { trace, told } = opened(file, { hasContent: true })
    const loop: { self?: unknown } = {}
    loop.self = loop
    trace({ ...call, content: Array.from({ length: 5000 }, () => 'long words') })
    trace({ ...call, content: loop })
    trace({ ...call, content: 1n })
    trace({ type: 'loaded', names: Array.from({ length: 20_000 }, () => 'name'), by: 'search' })
    trace(warning('x'.repeat(1_000_000)))
    for (const line of linesIn(file)) expect(line.length).toBeLessThan(65_000)
    expect(read(file)[3]).toMatchObject({ type: 'loaded', isCut: true, sequence: 4 })
    expect(told).toEqual([])
  })
})

describe('the file', () => {
  it('begins anew at its size, and the oldest goes', () => {
    const file = place()
    const { trace } = opened(file, { maxBytes: 1, maxFiles: 3 })
    for (let number = 1; number <= 5; number++) trace(warning(String(number)))
    const kept = [file, `${file}.1`, `${file}.2`].map((one) => read(one).map(({ message }) => message))
    expect(kept).toEqual([['5'], ['4'], ['3']])
    expect(statSync(`${file}.3`, { throwIfNoEntry: false })).toBeUndefined()
  })

  it('that a crash left with half a line continues on a new line', () => {
    const file = place()
    opened(file).trace(warning('whole'))
    writeFileSync(file, '{"version":1,"ti', { flag: 'a' })
    opened(file).trace(warning('next'))
    expect(linesIn(file)).toHaveLength(3)
    expect(JSON.parse(linesIn(file)[2] ?? '')).toMatchObject({ message: 'next' })
  })

  it.skipIf(!existsSync(DESCRIPTORS))(
    'is opened again if something else closed it, and loses no line',
    () => {
      const file = place()
      const { trace, told } = opened(file)
      trace(warning('first'))
      const descriptor = readdirSync(DESCRIPTORS).find((name) => targetOf(name) === file)
      closeSync(Number(descriptor))
      trace(warning('second'))
      expect(read(file).map(({ message }) => message)).toEqual(['first', 'second'])
      expect(told).toEqual([])
    },
  )

  it('that is a link is not followed', () => {
    const file = place()
    mkdirSync(join(file, '..'))
    const target = join(file, '..', 'other')
    writeFileSync(target, 'mine')
    chmodSync(target, 0o644)
    symlinkSync(target, file)
    const { trace, told } = opened(file)
    trace(warning())
    expect(readFileSync(target, 'utf8')).toBe('mine')
    expect(told).toHaveLength(1)
  })
})
