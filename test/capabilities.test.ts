// G3: what models and back-ends can do is data: shipped in one table, replaced by option, file and URL.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  defaultCapabilities,
  keepCapabilitiesFresh,
  type Shelf,
  type ShelfOptions,
} from '../packages/core/src/index.ts'
import { capabilitiesFromFile, capabilitiesFromUrl } from '../packages/core/src/node.ts'
import { MODEL, mcp, quietShelf } from '../packages/testkit/src/talk.ts'
import { until } from './mcp/support/processes.ts'

const HAIKU = 'claude-haiku-4-5'

async function reasonFor(shelf: Shelf, model: string): Promise<string> {
  return (await shelf.prepare({ model, messages: [{ role: 'user', content: 'hi' }] })).decision.reason
}

function shelfWith(options: ShelfOptions = {}): Shelf {
  return quietShelf({ tools: [mcp('a', 'x')], ...options })
}

describe('G3 the deny list', () => {
  it.each(
    `
      claude-instant-1.2 anthropic.claude-instant-v1 claude-1.3 claude-v1 claude-2 claude-2.0 claude-2.1
      anthropic.claude-v2 anthropic.claude-v2:1 anthropic/claude-2.1:beta claude-3-opus-20240229
      claude-3-sonnet@20240229 claude-3-haiku-20240307 claude-3-5-haiku-latest
      anthropic.claude-3-haiku-20240307-v1:0 anthropic.claude-3-sonnet-20240229-v1:0:28k
      eu.anthropic.claude-3-5-sonnet-20240620-v1:0 claude-3-5-sonnet-v2@20241022 anthropic/claude-3.5-sonnet
      anthropic/claude-3.5-haiku:beta claude-3-7-sonnet-20250219 claude-3-7-sonnet@20250219
      anthropic/claude-3.7-sonnet:thinking databricks-claude-3-7-sonnet Claude-Sonnet-3.7 Claude-Haiku-3.5
      claude-opus-4 claude-opus-4-0 claude-opus-4-20250514 claude-opus-4@20250514
      us.anthropic.claude-opus-4-20250514-v1:0 anthropic/claude-opus-4 anthropic/claude-4-opus
      claude-opus-4-1 claude-opus-4-1-20250805 claude-opus-4-1@20250805
      anthropic.claude-opus-4-1-20250805-v1:0 anthropic/claude-opus-4.1 claude-4.1-opus claude-opus-41
      claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-20250514 claude-sonnet-4@20250514
      claude-sonnet-4[1m] claude-sonnet-4-20250514[1m] apac.anthropic.claude-sonnet-4-20250514-v1:0
      arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0
      anthropic/claude-sonnet-4:beta claude-4-sonnet databricks-claude-sonnet-4 CLAUDE-OPUS-4-20250514
      Claude-3-Opus
    `
      .trim()
      .split(/\s+/),
  )('G3 has %s', async (model) => {
    expect(await reasonFor(shelfWith(), model)).toBe('model')
  })

  it.each(
    `
      claude-opus-4-5 claude-opus-4-5-20251101 claude-opus-4-5@20251101
      anthropic.claude-opus-4-5-20251101-v1:0 global.anthropic.claude-opus-4-5-20251101-v1:0
      anthropic/claude-opus-4.5 claude-4.5-opus claude-opus-4-6 claude-opus-4-8 claude-opus-4-10
      claude-opus-45 claude-opus-5 claude-opus-5-5 claude-sonnet-4-5 claude-sonnet-4-5[1m]
      claude-sonnet-4-5-20250929 claude-sonnet-4-5@20250929 us.anthropic.claude-sonnet-4-5-20250929-v1:0
      anthropic/claude-sonnet-4.5 claude-4-5-sonnet databricks-claude-sonnet-4-5 claude-sonnet-4-6
      claude-sonnet-4-6@default claude-sonnet-5-5 claude-haiku-4-5 claude-haiku-4-5-20251001
      claude-haiku-4-5@20251001 anthropic.claude-haiku-4-5-20251001-v1:0 anthropic/claude-haiku-4.5
      CLAUDE-HAIKU-4-5 claude-fable-5-1 a-model-nobody-knows
    `
      .trim()
      .split(/\s+/)
      .concat(''),
  )('G3 does not have %s', async (model) => {
    expect(await reasonFor(shelfWith(), model)).toBe('open')
  })

  it('G3 an endless model id is answered too', async () => {
    expect(await reasonFor(shelfWith(), `claude-3-${'-'.repeat(1_000_000)}`)).toBe('model')
  })
})

describe('G3 replaced by option', () => {
  it('G3 the documents’ list, haiku, works as a replacement', async () => {
    const shelf = shelfWith({ capabilities: { withoutReferences: ['haiku'] } })
    expect(await reasonFor(shelf, HAIKU)).toBe('model')
    expect(await reasonFor(shelf, 'claude-3-HAIKU-20240307')).toBe('model')
    expect(await reasonFor(shelf, 'claude-opus-4-20250514')).toBe('open')
    expect(await reasonFor(shelf, 'claude-3-opus-20240229')).toBe('open')
  })

  it('G3 an empty list denies nothing', async () => {
    const shelf = shelfWith({ capabilities: { withoutReferences: [] } })
    expect(await reasonFor(shelf, 'claude-2')).toBe('open')
  })

  it('G3 the parts that a replacement leaves out stay, and the shipped table is not touched', async () => {
    const shipped = JSON.stringify(defaultCapabilities)
    const models = [{ match: 'mine', contextWindow: 1_000 }]
    const shelf = shelfWith({ capabilities: { models }, toolSearch: 'auto' })
    expect(await reasonFor(shelf, 'claude-2')).toBe('model')
    const { decision } = await shelf.prepare({ model: 'mine-1', messages: [{ role: 'user', content: 'hi' }] })
    expect(decision.thresholdCheck?.threshold).toBe(250)
    expect(JSON.stringify(defaultCapabilities)).toBe(shipped)
  })

  it('G3 the table is plain data: written out and read back it is the same', async () => {
    const copy = JSON.parse(JSON.stringify(defaultCapabilities))
    expect(copy).toEqual(defaultCapabilities)
    expect(await reasonFor(shelfWith({ capabilities: copy }), 'claude-opus-4-1')).toBe('model')
  })

  it.each([
    ['not an object', 'haiku'],
    ['a list', ['haiku']],
    ['a list of the wrong kind', { withoutReferences: 'haiku' }],
    ['a broken pattern', { withoutReferences: ['opus-4('] }],
    ['an empty pattern', { withoutReferences: [''] }],
    ['a number for a pattern', { withoutReferences: [4] }],
    ['a model without a pattern', { models: [{ contextWindow: 1 }] }],
    ['a provider with an unknown wire', { providers: [{ provider: 'x', references: true, wire: 'pigeon' }] }],
    ['a provider that is null', { providers: [null] }],
  ])('G3 %s is an error at once', (_, table) => {
    expect(() => shelfWith({ capabilities: table as object })).toThrow(/BAD_CAPABILITIES/)
  })
})

describe('G3 refreshed while running', () => {
  const denyHaiku = { withoutReferences: ['haiku'] }
  const broken: [string, () => unknown][] = [
    ['throws', () => expect.fail('no table')],
    ['rejects', () => Promise.reject(new Error('no table'))],
    ['gives nothing', () => undefined],
    ['gives null', () => null],
    ['gives a list', () => [denyHaiku]],
    ['gives a broken pattern', () => ({ withoutReferences: ['(', 'opus'] })],
    ['gives a good part and a bad one', () => ({ withoutReferences: ['opus'], models: 5 })],
  ]

  it('G3 a refresh holds from the next request on, for sub-agents too', async () => {
    const shelf = shelfWith()
    const agent = shelf.fork()
    expect(await reasonFor(shelf, HAIKU)).toBe('open')
    expect(await shelf.refreshCapabilities(() => denyHaiku)).toBe(true)
    expect(await reasonFor(shelf, HAIKU)).toBe('model')
    expect(await reasonFor(agent, HAIKU)).toBe('model')
    expect(await reasonFor(shelf.fork(), HAIKU)).toBe('model')
  })

  it.each(broken)('G3 keeps the last good list when a refresh %s, and warns the user', async (_, load) => {
    const told: string[] = []
    const shelf = shelfWith({ notify: (message) => void told.push(message) })
    await shelf.refreshCapabilities(() => denyHaiku)
    expect(await shelf.refreshCapabilities(load)).toBe(false)
    expect(await reasonFor(shelf, HAIKU)).toBe('model')
    expect(await reasonFor(shelf, MODEL)).toBe('open')
    expect(told).toHaveLength(1)
  })

  it('G3 by file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolshelf-'))
    const path = join(folder, 'capabilities.json')
    const shelf = shelfWith()
    try {
      expect(await shelf.refreshCapabilities(capabilitiesFromFile(path))).toBe(false)
      await writeFile(path, JSON.stringify(denyHaiku))
      expect(await shelf.refreshCapabilities(capabilitiesFromFile(path))).toBe(true)
      expect(await reasonFor(shelf, HAIKU)).toBe('model')
      await writeFile(path, '{ "withoutReferences": [')
      expect(await shelf.refreshCapabilities(capabilitiesFromFile(path))).toBe(false)
      expect(await reasonFor(shelf, HAIKU)).toBe('model')
      await writeFile(path, JSON.stringify({ withoutReferences: ['opus'] }))
      expect(await shelf.refreshCapabilities(capabilitiesFromFile(path))).toBe(true)
      expect(await reasonFor(shelf, HAIKU)).toBe('open')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('G3 by URL', async () => {
    const url = 'https://tables.example/capabilities.json'
    const answers: (() => Response)[] = [
      () => Response.json(denyHaiku),
      () => new Response('down', { status: 503 }),
      () => new Response('<html>', { status: 200 }),
      () => new Response(JSON.stringify({ withoutReferences: [], padding: 'x'.repeat(1_000_001) })),
      () => expect.fail('no network'),
      () => Response.json({ withoutReferences: ['opus'] }),
    ]
    const asked: string[] = []
    const fetchUrl = async (from: unknown) => {
      asked.push(String(from))
      return (answers.shift() as () => Response)()
    }
    const load = capabilitiesFromUrl(url, fetchUrl as typeof fetch)
    const shelf = shelfWith()
    expect(await shelf.refreshCapabilities(load)).toBe(true)
    for (let failure = 0; failure < 4; failure++) {
      expect(await shelf.refreshCapabilities(load)).toBe(false)
      expect(await reasonFor(shelf, HAIKU)).toBe('model')
    }
    expect(await shelf.refreshCapabilities(load)).toBe(true)
    expect(await reasonFor(shelf, HAIKU)).toBe('open')
    expect(await reasonFor(shelf, MODEL)).toBe('model')
    expect(asked).toEqual(Array(6).fill(url))
  })
})

describe('G3 kept fresh', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('G3 at once and then again and again, a failure aside, until stopped', async () => {
    // Intervals alone: what else runs in this process goes by the real clock, and so does the wait below.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const tables: (() => unknown)[] = [
      () => ({ withoutReferences: ['haiku'] }),
      () => expect.fail('no network'),
      () => ({ withoutReferences: ['opus'] }),
    ]
    let asked = 0
    const load = async () => tables[asked++]?.()
    const shelf = shelfWith()
    const untilReason = (model: string, reason: string) =>
      until(async () => (await reasonFor(shelf, model)) === reason, `${model}: ${reason}`)
    const { stop } = keepCapabilitiesFresh(shelf, load, 60_000)
    await untilReason(HAIKU, 'model')
    expect(asked).toBe(1)
    vi.advanceTimersByTime(60_000)
    await until(() => asked === 2, 'it asks again')
    expect(await reasonFor(shelf, HAIKU)).toBe('model')
    vi.advanceTimersByTime(60_000)
    await untilReason(HAIKU, 'open')
    expect(await reasonFor(shelf, MODEL)).toBe('model')
    stop()
    vi.advanceTimersByTime(600_000)
    expect(asked).toBe(3)
  })
})
