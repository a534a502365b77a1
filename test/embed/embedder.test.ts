// What the embedder promises, with a tiny engine in place of the model.
import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createEmbedder,
  type Embedder,
  type EmbedderOptions,
} from '../../packages/core/src/embed/embedder.ts'
import { type FakeEngine, fakeEngine, temporaryFolder, textsOf, vectorOf } from './support.ts'

type Setup = { embedder: Embedder; engine: FakeEngine; messages: string[]; folder: string }

function setUp({
  engine = fakeEngine(),
  folder = temporaryFolder(),
  ...options
}: Partial<Setup> & EmbedderOptions = {}): Setup {
  const messages: string[] = []
  const embedder = createEmbedder({
    cacheFolder: folder,
    notify: (message) => messages.push(message),
    load: async () => engine,
    ...options,
  })
  onTestFinished(() => embedder.close())
  return { embedder, engine, messages, folder }
}

const isReady = (embedder: Embedder, texts: string[]) =>
  embedder.vectors(texts).map((vector) => vector !== undefined)

/** Lets the background come to its next halt. */
async function settle(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate()
}

describe('background work', () => {
  test('nothing is loaded before the first use', async () => {
    let loads = 0
    const { embedder } = setUp({
      load: async () => {
        loads++
        return fakeEngine()
      },
    })
    expect(embedder.state).toEqual({ status: 'idle' })
    expect(embedder.vectors(['a'])).toEqual([undefined])
    await embedder.ready()
    embedder.prepare([])
    expect(embedder.state).toEqual({ status: 'idle' })
    expect(loads).toBe(0)
    await embedder.embedQuery('a')
    embedder.prepare(['a', 'b'])
    await embedder.ready()
    expect(loads).toBe(1)
  })

  test('the model can be loaded ahead of the first query, once, without holding the process', async () => {
    const { embedder, engine } = setUp()
    expect(embedder.isLoaded).toBe(false)
    embedder.wake()
    embedder.wake()
    await settle(() => embedder.isLoaded)
    embedder.wake()
    expect(engine.embedded).toEqual([''])
    expect(engine.holds).toEqual([false])
  })

  test('a text without a usable vector is passed over', async () => {
    const engine = fakeEngine((text) => (text === 'b' ? [] : vectorOf(text)))
    const { embedder } = setUp({ engine })
    embedder.prepare(['a', 'b', 'c'])
    await embedder.ready()
    expect(isReady(embedder, ['a', 'b', 'c'])).toEqual([true, false, true])
    expect(embedder.state).toEqual({ status: 'ready' })
  })
})

describe('queries', () => {
  test('are answered with a vector, also in the middle of other work', async () => {
    const { embedder, engine } = setUp()
    const open = engine.block()
    embedder.prepare(textsOf(100))
    await settle(() => engine.embedded.length > 0)
    const query = embedder.embedQuery('find me')
    open()
    expect(await query).toEqual(Float32Array.from(vectorOf('find me')))
    expect(embedder.state.status).toBe('working')
    expect(isReady(embedder, ['find me'])).toEqual([false])
  })
})

describe('without the encoder', () => {
  test('reports missing packages once, and does nothing else', async () => {
    const { embedder, messages } = setUp({
      load: async () => {
        throw new Error("Cannot find package '@lat.md/embed'")
      },
    })
    embedder.prepare(textsOf(10))
    expect(await embedder.embedQuery('a')).toBeUndefined()
    await embedder.ready()
    embedder.prepare(['b'])
    expect(await embedder.embedQuery('b')).toBeUndefined()
    expect(embedder.vectors(['a', 'b'])).toEqual([undefined, undefined])
    expect(embedder.state).toEqual({ status: 'unavailable', reason: messages[0] })
    const { peerDependencies } = JSON.parse(
      readFileSync(new URL('../../packages/core/package.json', import.meta.url), 'utf8'),
    )
    const wanted = Object.entries(peerDependencies).map(([name, version]) => `${name}@${version}`)
    expect(messages).toEqual([
      expect.stringContaining(
        `needs a sentence encoder that is not installed: run "npm install ${wanted.join(' ')}"`,
      ),
    ])
  })

  test('reports an engine that fails once, and keeps what it had made', async () => {
    const engine = fakeEngine((text) => {
      if (text === 'bad') throw new Error('out of memory')
      return vectorOf(text)
    })
    const { embedder, messages } = setUp({ engine })
    embedder.prepare(['good'])
    await embedder.ready()
    embedder.prepare(['bad', ...textsOf(20)])
    await embedder.ready()
    expect(await embedder.embedQuery('good')).toBeUndefined()
    expect(isReady(embedder, ['good', 'bad'])).toEqual([true, false])
    expect(embedder.state.status).toBe('unavailable')
    expect(messages).toEqual([expect.stringContaining('out of memory')])
  })
})

describe('close', () => {
  test('ends the work, and reports nothing', async () => {
    const { embedder, engine, messages } = setUp()
    const open = engine.block()
    embedder.prepare(textsOf(100))
    const query = embedder.embedQuery('a')
    await settle(() => engine.embedded.length > 0)
    const closing = embedder.close()
    open()
    await closing
    expect(await query).toBeUndefined()
    await embedder.ready()
    expect(engine.isClosed).toBe(true)
    expect(engine.embedded.length).toBeLessThan(100)
    expect(embedder.state).toEqual({ status: 'unavailable', reason: 'it was closed' })
    expect(await embedder.embedQuery('b')).toBeUndefined()
    expect(messages).toEqual([])
  })
})
