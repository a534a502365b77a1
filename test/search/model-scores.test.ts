// The encoder's part in a search: it is used as far as it has come, and nobody waits for it.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmbedder } from '../../src/embed/index.ts'
import { createModelScores } from '../../src/rankers/model-scores.ts'
import { createHybrid } from '../../src/search/index.ts'
import { temporaryFolder } from '../embed/support.ts'
import { toolsOf } from './tools.ts'

const DIMENSIONS = 384

/** An engine that embeds by the letters of a text; `gate` is awaited ahead of each batch. */
function setUp(gate: { wait: Promise<void> } = { wait: Promise.resolve() }) {
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
  return { embedded, embedder, encoder: createModelScores(embedder, 60_000) }
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
  test('goes on without the encoder while its model loads, which the search starts', async () => {
    const gate = { wait: new Promise<void>(() => {}) }
    const { embedded, encoder } = setUp(gate)
    const rank = createHybrid({ vectors: undefined, model: encoder.scores })
    const tools = many(3)
    const { hits } = await rank(tools, 'tool a0', 1)
    expect(hits[0]?.tool).toBe(tools[0])
    await until(() => embedded.length > 0)
    expect(await encoder.scores(tools, 'tool a0')).toBeUndefined()
  })

  test('uses the vectors that there are; a tool without one has the score 0', async () => {
    const gate = { wait: Promise.resolve() }
    const { embedder, encoder } = setUp(gate)
    const tools = many(30)
    expect(await encoder.ready(tools.slice(0, 3))).toBe(true)
    gate.wait = new Promise(() => {})
    const query = embedder.embedQuery
    embedder.embedQuery = async (text) => Float32Array.from(letters(text))
    const scores = await encoder.scores(tools, 'tool b1')
    embedder.embedQuery = query
    expect(scores).toHaveLength(30)
    expect([...scores!].map((score) => score > 0)).toEqual([true, true, true, ...new Array(27).fill(false)])
  })

  test('has its hits read ahead of the other tools, and ahead of those of older searches', async () => {
    let open = () => {}
    const gate = {
      wait: new Promise<void>((resolve) => {
        open = resolve
      }),
    }
    const { embedded, embedder, encoder } = setUp(gate)
    const tools = many(60)
    await encoder.scores(tools, 'anything')
    await until(() => embedded.length > 1)
    const begun = embedded.length
    encoder.readFirst(tools.slice(40, 42))
    encoder.readFirst(tools.slice(50, 52))
    open()
    await embedder.ready()
    const order = embedded.slice(begun).filter((text) => text !== '')
    const names = [50, 51, 40, 41].map((place) => `tool ${'abcdefghij'[place % 10]} ${place}`)
    expect(order.slice(0, 4).map((text) => text.split('.')[0])).toEqual(names)
    expect(new Set(embedded.filter((text) => text !== '')).size).toBe(60)
  })

  test('has nothing to wait for when all tools are read', async () => {
    const { embedded, encoder } = setUp()
    const tools = many(20)
    expect(await encoder.ready(tools)).toBe(true)
    const count = embedded.length
    encoder.readFirst(tools)
    expect(await encoder.scores(tools, 'tool a0')).toHaveLength(20)
    expect(embedded.length).toBe(count + 1)
  })
})
