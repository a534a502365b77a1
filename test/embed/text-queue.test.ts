// The texts that wait for the encoder: bounded in number and size, the newest list first.
import { describe, expect, it } from 'vitest'
import { createEmbedder } from '../../src/embed/index.ts'
import { createTextQueue } from '../../src/embed/text-queue.ts'
import { fakeEngine, temporaryFolder, textsOf } from './support.ts'

describe('texts that wait', () => {
  it('come in the order of their list, the list that was asked for last first', () => {
    const queue = createTextQueue()
    queue.add(['a', 'b', 'c'])
    queue.add(['d', 'b'])
    expect([...queue.texts()]).toEqual(['d', 'b', 'a', 'c'])
    expect(queue.size).toBe(4)
    queue.delete('b')
    expect([...queue.texts()]).toEqual(['d', 'a', 'c'])
  })

  it('are at most so many: what was asked for first is dropped', () => {
    const queue = createTextQueue({ maxTexts: 10 })
    for (let client = 0; client < 1000; client++) queue.add(textsOf(4, `client ${client}`))
    expect(queue.size).toBeLessThanOrEqual(10)
    expect([...queue.texts()].slice(0, 4)).toEqual(textsOf(4, 'client 999'))
    queue.add(textsOf(100, 'large'))
    expect([...queue.texts()]).toEqual(textsOf(10, 'large'))
  })

  it('have at most so many characters together', () => {
    const queue = createTextQueue({ maxCharacters: 1000 })
    queue.add(['small'])
    queue.add(['x'.repeat(600), 'y'.repeat(600)])
    expect([...queue.texts()]).toEqual(['x'.repeat(600)])
    queue.add(['z'.repeat(5000)])
    expect(queue.size).toBe(0)
    queue.add(['small'])
    expect([...queue.texts()]).toEqual(['small'])
  })
})

describe('an encoder that is busy', () => {
  it('answers a query before the texts that wait', async () => {
    const engine = fakeEngine()
    const embedder = createEmbedder({ cacheFolder: temporaryFolder(), load: async () => engine })
    embedder.prepare(textsOf(5000))
    await embedder.embedQuery('find me')
    expect(engine.embedded.indexOf('find me')).toBeLessThan(100)
    await embedder.close()
  })

  it('lets a search continue without it when too many queries wait', async () => {
    const engine = fakeEngine()
    const open = engine.block()
    const embedder = createEmbedder({ cacheFolder: temporaryFolder(), load: async () => engine })
    const asked = textsOf(32, 'query').map((text) => embedder.embedQuery(text))
    expect(await embedder.embedQuery('one more')).toBeUndefined()
    open()
    expect(await Promise.all(asked)).not.toContain(undefined)
    expect(await embedder.embedQuery('one more')).toBeDefined()
    await embedder.close()
  })
})
