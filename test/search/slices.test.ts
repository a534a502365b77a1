// Many tools are read in slices: others get a turn, the ranking is the same, and a search that cannot wait says so.
import { describe, expect, it } from 'vitest'
import { createShelf } from '../../src/index.ts'
import type { Breaks } from '../../src/search/index.ts'
import { createHybrid } from '../../src/search/index.ts'
import { toolsOf } from './tools.ts'

const many = (count: number, word = 'record') =>
  toolsOf(
    ...Array.from({ length: count }, (_, index) => ({
      name: `mcp__big__${word}_${index}`,
      server: 'big',
      description: `Handles ${word} number ${index} of the catalogue. ${'It reads and writes. '.repeat(10)}`,
    })),
  )

/** Breaks that a test counts, and whose startTimeout ends when it says so. A shut gate holds up whoever comes first. */
function counted() {
  const breaks = { pauses: 0, end: () => {} }
  const startTimeout = () => ({
    over: new Promise<void>((resolve) => {
      breaks.end = resolve
    }),
    cancel: () => {},
  })
  let held: (() => void) | undefined
  const gate = { isShut: false, open: () => held?.() }
  const pause = () => {
    breaks.pauses++
    return new Promise<void>((resolve) => {
      if (gate.isShut && !held) held = resolve
      else resolve()
    })
  }
  return { breaks, gate, given: { pause, startTimeout } satisfies Breaks }
}

describe('tools that are read in slices', () => {
  it('S15 others get a turn again and again, once: the second search reads nothing, and only takes its turn', async () => {
    const { breaks, given } = counted()
    const rank = createHybrid({ vectors: undefined, breaks: given })
    const tools = many(1000)
    await rank(tools, 'record', 5)
    const { pauses } = breaks
    expect(pauses).toBeGreaterThan(5)
    await rank(tools, 'catalogue', 5)
    expect(breaks.pauses).toBe(pauses + 1)
  })

  it('S7 rank as those that are read at once', async () => {
    const tools = [...many(600), ...many(600, 'letter')]
    const atOnce = createHybrid({ vectors: undefined })
    const inSlices = createHybrid({ vectors: undefined, breaks: counted().given })
    for (const query of ['letter number 7', 'record', 'writes the catalogue']) {
      const [one, other] = [await atOnce(tools, query, 10), await inSlices(tools, query, 10)]
      expect(other.hits).toEqual(one.hits)
    }
  })

  it('searches at the same time share the reading', async () => {
    const { breaks, given } = counted()
    const rank = createHybrid({ vectors: undefined, breaks: given })
    const tools = many(1000)
    await Promise.all([rank(tools, 'record', 5), rank(tools, 'catalogue', 5)])
    const together = breaks.pauses
    await createHybrid({ vectors: undefined, breaks: given })(tools, 'record', 5)
    expect(breaks.pauses - together).toBe(together - 1)
  })

  it('S13 a search that has waited long enough gets what was read before, and how many tools that leaves out', async () => {
    const { breaks, gate, given } = counted()
    const rank = createHybrid({ vectors: undefined, breaks: given })
    const few = many(5)
    await rank(few, 'record', 5)
    gate.isShut = true
    const more = [...few, ...many(1000, 'letter')]
    const late = rank(more, 'record', 5)
    breaks.end()
    expect(await late).toMatchObject({ unread: 1000, hits: { length: 5 } })
    gate.isShut = false
    gate.open()
    expect(await rank(more, 'letter', 3)).toMatchObject({ unread: 0, hits: { length: 3 } })
  })

  it('a search that has waited long enough never finds tools of another list', async () => {
    const { breaks, gate, given } = counted()
    const rank = createHybrid({ vectors: undefined, breaks: given })
    await rank(many(5), 'record', 5)
    gate.isShut = true
    const late = rank(many(2000), 'record', 5)
    breaks.end()
    expect(await late).toEqual({ hits: [], matched: 0, unread: 2000 })
    gate.isShut = false
    gate.open()
  })

  it('nor does it show what words the tools of that other list have', async () => {
    const own = many(5)
    const hidden = many(40)
    const more = [...own, ...many(2000, 'letter')]
    const lateAfter = async (before: ReturnType<typeof many>) => {
      const { breaks, gate, given } = counted()
      const rank = createHybrid({ vectors: undefined, breaks: given })
      await rank(before, 'record', 5)
      gate.isShut = true
      const late = rank(more, 'catalogue of record number 3', 5)
      breaks.end()
      const found = await late
      gate.isShut = false
      gate.open()
      return found
    }
    const alone = await lateAfter(own)
    expect(alone.hits).toHaveLength(5)
    expect(await lateAfter([...hidden, ...own])).toEqual(alone)
  })

  it('a small list does not wait for a large one', async () => {
    const { gate, given } = counted()
    const rank = createHybrid({ vectors: undefined, breaks: given })
    gate.isShut = true
    const large = rank(many(2000), 'record', 5)
    await Promise.resolve()
    expect(await rank(many(5), 'record', 5)).toMatchObject({ unread: 0, hits: { length: 5 } })
    gate.isShut = false
    gate.open()
    expect(await large).toMatchObject({ unread: 0 })
  })

  it('S13 the answer of a search says so', async () => {
    const shelf = createShelf({
      tools: [{ name: 'walk', server: 'legs', description: 'Walks' }],
      environment: {},
      rank: () => ({ hits: [], matched: 0, unread: 1 }),
    })
    expect((await shelf.search({ query: 'walk home' })).remark).toContain(
      '1 tools were not searched, because they are still being read; try again shortly.',
    )
  })
})
