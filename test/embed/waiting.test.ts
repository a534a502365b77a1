// The texts that wait for the encoder: bounded in number and size, the newest list first.
import { describe, expect, it } from 'vitest'
import { createEmbedder } from '../../src/embed/index.ts'
import { createWaiting } from '../../src/embed/waiting.ts'
import { fakeEngine, temporaryFolder, textsOf } from './support.ts'

describe('texts that wait', () => {
  it('come in the order of their list, the list that was asked for last first', () => {
    const waiting = createWaiting()
    waiting.add(['a', 'b', 'c'])
    waiting.add(['d', 'b'])
    expect([...waiting.texts()]).toEqual(['d', 'b', 'a', 'c'])
    expect(waiting.size).toBe(4)
    waiting.delete('b')
    expect([...waiting.texts()]).toEqual(['d', 'a', 'c'])
  })

  it('are at most so many: what was asked for first is dropped', () => {
    const waiting = createWaiting({ maxTexts: 10 })
    for (let client = 0; client < 1000; client++) waiting.add(textsOf(4, `client ${client}`))
    expect(waiting.size).toBeLessThanOrEqual(10)
    expect([...waiting.texts()].slice(0, 4)).toEqual(textsOf(4, 'client 999'))
    waiting.add(textsOf(100, 'large'))
    expect([...waiting.texts()]).toEqual(textsOf(10, 'large'))
  })

  it('have at most so many characters together', () => {
    const waiting = createWaiting({ maxCharacters: 1000 })
    waiting.add(['small'])
    waiting.add(['x'.repeat(600), 'y'.repeat(600)])
    expect([...waiting.texts()]).toEqual(['x'.repeat(600)])
    waiting.add(['z'.repeat(5000)])
    expect(waiting.size).toBe(0)
    waiting.add(['small'])
    expect([...waiting.texts()]).toEqual(['small'])
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
