import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmbedder } from '../../packages/core/src/embed/embedder.ts'
import {
  createEngine,
  type Engine,
  type EngineModules,
  packages,
} from '../../packages/core/src/embed/engine.ts'
import { floatsOf, temporaryFolder } from './support.ts'

const manifest = `export default { id: 'small', dimensions: 4 }`
const simple = `
export async function createEmbedder({ model }) {
  return {
    async embed(texts) {
      return texts.map((text) => [text.length, model.dimensions, 0, 1])
    },
  }
}`

function modulesOf(embed: string, model = manifest): EngineModules {
  const folder = temporaryFolder()
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return pathToFileURL(join(folder, name)).href
  }
  return { embed: write('embed.mjs', embed), model: write('model.mjs', model) }
}

async function engineOf(embed: string, options: { idleMs?: number } = {}): Promise<Engine> {
  const engine = await createEngine(modulesOf(embed), options)
  onTestFinished(() => engine.close())
  engine.hold(true)
  return engine
}

describe('the worker', () => {
  test('embeds with the modules that it is given', async () => {
    const engine = await engineOf(simple)
    expect(engine).toMatchObject({ model: 'small', dimensions: 4 })
    const [one, two] = await Promise.all([engine.embed(['a', 'bb']), engine.embed(['ccc'])])
    expect(one).toEqual([Float32Array.of(1, 4, 0, 1), Float32Array.of(2, 4, 0, 1)])
    expect(two).toEqual([Float32Array.of(3, 4, 0, 1)])
  })

  test('ends when it is idle, and starts again with the next text', async () => {
    const counting = `
      import { threadId } from 'node:worker_threads'
      export const createEmbedder = async () => ({ embed: async (texts) => texts.map(() => [threadId, 0, 0, 1]) })`
    const engine = await engineOf(counting, { idleMs: 1 })
    expect(engine.isLoaded).toBe(false)
    const threads = new Set<number>()
    for (let life = 0; life < 2; life++) {
      const [vector] = await engine.embed(['a'])
      threads.add(vector![0]!)
      while (engine.isLoaded) await setImmediate()
    }
    expect(threads.size).toBe(2)
  })

  test.each([
    [
      'a model that does not load',
      `export async function createEmbedder() { throw new Error('no memory') }`,
      'no memory',
    ],
    ['a module that is broken', 'export const = 1', 'Unexpected token'],
    ['a worker that dies', `export async function createEmbedder() { process.exit(3) }`, 'code 3'],
    [
      'a worker that throws where nobody listens',
      `export async function createEmbedder() { setImmediate(() => { throw new Error('aside') }); return new Promise(() => {}) }`,
      'aside',
    ],
  ])('%s rejects', async (_, embed, message) => {
    const engine = await engineOf(embed)
    await expect(engine.embed(['a'])).rejects.toThrow(message)
    await expect(engine.embed(['b'])).rejects.toThrow(message)
  })

  test('closing rejects running and later requests', async () => {
    const engine = await engineOf(`export const createEmbedder = () => new Promise(() => {})`)
    const asked = expect(engine.embed(['a'])).rejects.toThrow('closed')
    await engine.close()
    await asked
    await expect(engine.embed(['b'])).rejects.toThrow('closed')
  })
})

const isInstalled = Object.values(packages).every((name) => {
  try {
    return import.meta.resolve(name) !== ''
  } catch {
    return false
  }
})
const why = isInstalled ? '' : ` (skipped: ${Object.values(packages).join(' or ')} is not installed)`

test.skipIf(!isInstalled)(`the real model finds what is near in meaning${why}`, async () => {
  const messages: string[] = []
  const embedder = createEmbedder({ cacheFolder: temporaryFolder(), notify: (text) => messages.push(text) })
  onTestFinished(() => embedder.close())
  const texts = ['send email. Sends a message to a recipient.', 'get weather. The forecast for a city.', '']
  embedder.prepare(texts)
  const query = await embedder.embedQuery('will it rain tomorrow?')
  await embedder.ready()
  expect(messages).toEqual([])
  const [mail, weather] = embedder.vectors(texts).map((vector) => dot(floatsOf(vector!), query!))
  expect(dot(query!, query!)).toBeCloseTo(1, 4)
  expect(weather).toBeGreaterThan(mail! + 0.1)
})

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, index) => sum + number * b[index]!, 0)
}
