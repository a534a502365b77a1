// The ranker `model`: the encoder is used for what it has read, and no search waits for it.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmbedder } from '../../src/embed/index.ts'
import { createModelRank } from '../../src/rankers/model-rank.ts'
import { createHybrid } from '../../src/search/index.ts'
import { temporaryFolder } from '../embed/support.ts'
import { toolsOf } from './tools.ts'

const DIMENSIONS = 384

/** An engine that embeds by the letters of a text; `gate` is awaited ahead of each batch. */
function setUp(gate: { wait: Promise<void> } = { wait: Promise.resolve() }, timeoutMs = 60_000) {
  const embedded: string[] = []
  let isLoaded = false
  const embedder = createEmbedder({
    cacheFolder: temporaryFolder(),
    load: async () => ({
      model: 'letters',
      dimensions: DIMENSIONS,
      get isLoaded() {
        return isLoaded
      },
      async embed(texts) {
        embedded.push(...texts)
        await gate.wait
        isLoaded = true
        return texts.map(letters)
      },
      hold: () => {},
      close: async () => {},
    }),
  })
  onTestFinished(() => embedder.close())
  /** The cosines that the fusion got. */
  const fused: Float32Array[] = []
  const { rank, ready, patient } = createModelRank({
    embedder,
    timeoutMs,
    createHybrid: (model) =>
      createHybrid({
        vectors: undefined,
        model: async (tools, query) => {
          const scores = await model(tools, query)
          if (scores) fused.push(scores)
          return scores
        },
      }),
  })
  return { embedded, embedder, rank, ready, patient, fused }
}

function letters(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0)
  for (const character of `${text}.`) vector[character.charCodeAt(0) % DIMENSIONS]! += 1
  const length = Math.hypot(...vector)
  return vector.map((number) => number / length)
}

const many = (count: number) =>
  toolsOf(
    ...Array.from({ length: count }, (_, index) => ({ name: `tool_${'abcdefghij'[index % 10]}${index}` })),
  )

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate()
}

describe('a search', () => {
  test('ranks as hybrid while the model loads, which the search starts', async () => {
    const { embedded, rank } = setUp({ wait: new Promise<void>(() => {}) })
    const tools = many(30)
    expect((await rank(tools, 'tool a 0', 1)).hits.map(({ tool }) => tool)).toEqual([tools[0]])
    await until(() => embedded.length > 0)
    expect((await rank(tools, 'tool a 0', 1)).hits[0]?.tool).toBe(tools[0])
  })

  test('uses the encoder once all that it finds is read, before the other tools are', async () => {
    const gate = { wait: Promise.resolve() }
    const { embedded, ready, rank, fused } = setUp(gate)
    const [near, ...rest] = toolsOf(
      { name: 'zap', description: 'report' },
      { name: 'nil', description: 'report' },
      ...Array.from({ length: 30 }, (_, index) => ({ name: `other_${index}`, description: 'else' })),
    )
    const tools = [near!, ...rest]
    expect(await ready([near!])).toBe(true)
    await rank(tools.slice(0, 2), 'report', 2)
    expect(fused).toEqual([])
    await until(() => embedded.includes('nil. report'))
    await until(() => embedded.length > 2)
    while (fused.length === 0) {
      await rank(tools, 'report', 2)
      await setImmediate()
    }
    const [scores] = fused
    expect([...scores!].map((score) => score > 0)).toEqual([true, true, ...new Array(30).fill(false)])
  })

  test('has its candidates read ahead of the other tools, and of those of older searches', async () => {
    let open = () => {}
    const gate = {
      wait: new Promise<void>((resolve) => {
        open = resolve
      }),
    }
    const { embedded, embedder, rank } = setUp(gate)
    const tools = toolsOf(
      ...Array.from({ length: 60 }, (_, index) => ({
        name: `tool_${index}`,
        description: index >= 58 ? 'newer' : index >= 56 ? 'older' : 'plain',
      })),
    )
    await rank(tools, 'nothing at all', 5)
    await until(() => embedded.length > 1)
    const begun = embedded.length
    await rank(tools, 'older', 5)
    await rank(tools, 'newer', 5)
    open()
    await embedder.ready()
    const order = embedded.slice(begun).filter((text) => text !== '')
    expect(order.slice(0, 4).map((text) => text.split('. ')[1])).toEqual(['newer', 'newer', 'older', 'older'])
    expect(new Set(embedded.filter((text) => text !== '')).size).toBe(60)
  })

  test('has nothing read again when all tools are read', async () => {
    const { embedded, ready, rank, fused } = setUp()
    const tools = many(20)
    const steps: number[] = []
    expect(await ready(tools, (done) => steps.push(done))).toBe(true)
    expect(steps.at(-1)).toBe(20)
    const count = embedded.length
    await rank(tools, 'tool a 0', 5)
    await rank(tools, 'tool a 0', 5)
    expect(embedded.slice(count)).toEqual(['tool a 0', 'tool a 0'])
    expect(fused).toHaveLength(2)
  })

  test('does not wait for the vector of its query longer than it may', async () => {
    const gate = { wait: Promise.resolve() }
    const { ready, rank, fused } = setUp(gate, 1)
    const tools = many(20)
    expect(await ready(tools)).toBe(true)
    gate.wait = new Promise<void>(() => {})
    expect((await rank(tools, 'tool a 0', 1)).hits[0]?.tool).toBe(tools[0])
    expect(fused).toEqual([])
  })

  test('reads nothing of a tool, and asks nothing of a query, without a Latin word', async () => {
    const { embedded, embedder, rank, ready, fused } = setUp()
    const tools = toolsOf(
      { name: '送信', description: '送信します。' },
      { name: 'send', description: 'Sends. 送信', arguments: { toAddress: {} } },
    )
    await rank(tools, '送信', 2)
    await embedder.ready()
    expect(embedded).toEqual(['send. Sends.. to address'])
    expect(await ready(tools)).toBe(true)
    const count = embedded.length
    await rank(tools, '送信', 2)
    expect([embedded.length, fused]).toEqual([count, []])
    const { hits } = await rank(tools, 'send 送信', 2)
    expect(hits.map(({ tool }) => tool.name)).toContain('送信')
    expect(embedded.at(-1)).toBe('send')
    expect(fused.map((scores) => [...scores].map((score) => score > 0))).toEqual([[false, true]])
  })

  test.each([1, 30])('has its best twenty read, also where %d are asked for', async (limit) => {
    const { embedded, patient } = setUp()
    const { hits } = await patient()(many(40), 'tool', limit)
    expect(hits).toHaveLength(limit)
    expect(embedded.slice(-2)).toEqual(['ready', 'tool'])
    expect(embedded).toHaveLength(22)
  })

  test('may be of digits alone', async () => {
    const { embedded, patient } = setUp()
    await patient()(toolsOf({ name: 'x', description: '2024' }), '2024', 1)
    expect(embedded).toEqual(['x. 2024', 'ready', '2024'])
  })

  test('that is patient reads what it finds and nothing else, and uses it', async () => {
    const { embedded, patient, fused } = setUp()
    const tools = toolsOf(
      { name: 'zap', description: 'report' },
      ...Array.from({ length: 60 }, (_, index) => ({ name: `other_${index}`, description: 'else' })),
    )
    const steps: [number, number][] = []
    const { hits } = await patient((done, total) => steps.push([done, total]))(tools, 'report', 5)
    expect(hits[0]?.tool).toBe(tools[0])
    expect(embedded).toEqual(['zap. report', 'ready', 'report'])
    expect(steps).toEqual([[1, 1]])
    expect(fused).toHaveLength(1)
  })
})
