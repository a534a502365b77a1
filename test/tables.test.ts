// The tables of searches: given ones, none, and damaged ones. Without the table of meanings, searches go by words, and the
// decision of each request says so.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { bridge } from '../packages/core/src/bridge.ts'
import { createRankers, createShelf, type Rank, rankers, type Tool } from '../packages/core/src/index.ts'
import { plainSha256, sha256 } from '../packages/core/src/lib/sha256.ts'
import { meaning } from '../packages/core/src/meaning.ts'
import { poolTools } from '../packages/core/src/search/evaluate.ts'
import { tables as tablesOfTheWeb } from '../packages/core/src/tables.web.ts'

const tools: Tool[] = [
  { name: 'refund_order', description: 'Gives a buyer the money of an order back' },
  { name: 'list_orders', description: 'Lists orders of the shop' },
  { name: 'create_invoice', description: 'Creates an invoice' },
].map((tool) => ({ ...tool, server: 'shop' }))
const entries = poolTools(tools)

const best = async (rank: Rank, query: string) => (await rank(entries, query, 3)).hits[0]?.tool.original

async function decisionOf(rank: Rank) {
  const shelf = createShelf({ tools, rank, toolSearch: true, environment: {} })
  const { decision } = await shelf.prepare({
    model: 'claude-opus-4-6',
    messages: [{ role: 'user' as const, content: 'hello' }],
  })
  return decision
}

let warn: ReturnType<typeof vi.spyOn>
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => warn.mockRestore())

test('given tables rank as those of the runtime do', async () => {
  const given = createRankers({ meaning: await meaning(), bridge })
  for (const query of ['reimburse the customer', 'neue Rechnung anlegen', 'orders'])
    expect(await given.hybrid(entries, query, 3)).toEqual(await rankers.hybrid(entries, query, 3))
  expect(await best(given.hybrid, 'reimburse the customer')).toBe('refund_order')
  expect(await best(given.hybrid, 'neue Rechnung anlegen')).toBe('create_invoice')
  expect(await decisionOf(given.hybrid)).not.toHaveProperty('lacks')
  expect(warn).not.toHaveBeenCalled()
})

test('where there is no table, the lexical ranker serves, and the decision says so', async () => {
  const { hybrid, lexical, bm25 } = createRankers(tablesOfTheWeb)
  const found = await hybrid(entries, 'list orders', 3)
  expect(found.ranker).toBe('lexical')
  expect(found.hits).toEqual((await lexical(entries, 'list orders', 3)).hits)
  expect(await best(hybrid, 'reimburse the customer')).toBeUndefined()
  const decision = await decisionOf(hybrid)
  expect(decision.open).toBe(true)
  expect(decision.lacks).toBe(
    'no table of meanings: searches rank by words alone; no table of languages: queries are not translated',
  )
  expect(await decisionOf(bm25)).not.toHaveProperty('lacks')
  expect(warn).toHaveBeenCalledTimes(1)
})

test('queries are translated without the table of meanings too', async () => {
  const { hybrid } = createRankers({ bridge })
  expect(await best(hybrid, 'neue Rechnung anlegen')).toBe('create_invoice')
  expect((await decisionOf(hybrid)).lacks).toBe('no table of meanings: searches rank by words alone')
})

test('an encoder of the host counts as soon as it has read the tools', async () => {
  let cosines: Float32Array | undefined
  const { hybrid } = createRankers({ model: async () => cosines })
  expect(await best(hybrid, 'recompense')).toBeUndefined()
  cosines = Float32Array.of(0.9, 0.1, 0.2)
  expect(await best(hybrid, 'recompense')).toBe('refund_order')
})

test('a damaged table is as good as none, and is reported once', async () => {
  const { hybrid } = createRankers({ meaning: async () => (await meaning()).subarray(0, 1000), bridge })
  expect(await decisionOf(hybrid)).not.toHaveProperty('lacks')
  for (const query of ['orders', 'list']) expect(await best(hybrid, query)).toBe('list_orders')
  const { lacks } = await decisionOf(hybrid)
  expect(lacks).toMatch(/^cannot read the table of meanings: searches rank by words alone \(.*truncated/)
  expect(warn.mock.calls).toEqual([[`toolshelf: ${lacks}`]])
})

test('texts have the same ids with and without Node', () => {
  for (let length = 0; length < 300; length++) {
    const text = 'aé😀\ud800x'.repeat(length).slice(0, length)
    expect(Buffer.from(plainSha256(text))).toEqual(sha256(text))
  }
})
