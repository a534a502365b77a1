// Buffers of large bodies are reused: nothing that was read from one may change with it, and none is used twice at once.
import { describe, expect, it } from 'vitest'
import { jsonBytes } from '../../src/messages/json/index.ts'
import { createRequestReader } from '../../src/messages/server/read-request.ts'
import { createMessagesUpstream } from '../../src/messages/upstream/index.ts'
import { createBufferPool, freeBuffer } from '../../src/node/index.ts'
import { post, record, start } from './support/gateways.ts'

const slice = { isOver: () => false, next: async () => {} }

describe('the pool', () => {
  it('returns a buffer of the size asked for, and reuses its memory only once it was given back', () => {
    const pool = createBufferPool()
    const [one, two] = [pool.take(100_000), pool.take(100_000)]
    expect(one.length).toBe(100_000)
    expect(two.buffer).not.toBe(one.buffer)
    pool.giveBack(one)
    const three = pool.take(120_000)
    expect(three.buffer).toBe(one.buffer)
    expect(three.length).toBe(120_000)
    expect(pool.take(120_000).buffer).not.toBe(one.buffer)
  })

  it('ignores a buffer that is given back twice, or that is not its own', () => {
    const pool = createBufferPool()
    const one = pool.take(100_000)
    pool.giveBack(one)
    pool.giveBack(one)
    const foreign = Buffer.alloc(131_072)
    pool.giveBack(foreign)
    const taken = [pool.take(100_000), pool.take(100_000), pool.take(100_000)].map(({ buffer }) => buffer)
    expect(new Set(taken).size).toBe(3)
    expect(taken).not.toContain(foreign.buffer)
  })

  it('keeps no small, no very large and not too many free buffers', () => {
    const pool = createBufferPool(300_000)
    for (const size of [10, 1000, 5_000_000]) {
      const one = pool.take(size)
      expect(one.length).toBe(size)
      pool.giveBack(one)
      expect(pool.take(size).buffer).not.toBe(one.buffer)
    }
    for (const size of [65_536, 4_194_304]) {
      const wide = createBufferPool(4_194_304)
      const edge = wide.take(size)
      for (let time = 0; time < 65; time++) {
        wide.giveBack(edge)
        expect(wide.take(size).buffer).toBe(edge.buffer)
      }
    }
    const all = Array.from({ length: 4 }, () => pool.take(131_072))
    for (const one of all) pool.giveBack(one)
    const known = new Set(all.map(({ buffer }) => buffer))
    const again = Array.from({ length: 4 }, () => pool.take(131_072))
    expect(again.filter(({ buffer }) => known.has(buffer))).toHaveLength(2)
  })
})

describe('a buffer that is freed', () => {
  it('is empty, if it is large and has its memory to itself', () => {
    const all = [16_384, 65_536].map((size) => Buffer.allocUnsafeSlow(size))
    for (const alone of all) freeBuffer(alone)
    expect(all.map(({ length }) => length)).toEqual([0, 0])
  })

  it('is left alone, if it is small, freed already or shares its memory', () => {
    const [small, whole] = [Buffer.allocUnsafeSlow(16_383), Buffer.alloc(65_536, 'x')]
    const shared = Buffer.from(new SharedArrayBuffer(65_536))
    for (const one of [small, whole.subarray(0, 20_000), shared, Buffer.alloc(0)]) freeBuffer(one)
    expect([small, whole, shared].map(({ length }) => length)).toEqual([16_383, 65_536, 65_536])
  })
})

/** JSON with a number that JavaScript cannot hold: such values keep the text they came with. */
function bodyOf(...messages: object[]): string {
  const system = [{ type: 'text', text: 'Be brief. '.repeat(1000), number: 'N' }]
  const thinking = { type: 'enabled', budget_tokens: 1024 }
  const tools = [{ name: 'a', input_schema: { type: 'object' } }]
  return JSON.stringify({ model: 'any', system, thinking, tools, messages }).replace(
    '"N"',
    '12345678901234567',
  )
}

describe('a request that was read', () => {
  const small = { role: 'user', content: 'small' }
  const large = { role: 'user', content: [{ type: 'text', text: 'x'.repeat(300_000) }] }

  it('stays the same when the buffer of its body is overwritten', async () => {
    const text = bodyOf(small, small)
    const body = Buffer.from(text)
    let isReferred = false
    const read = await createRequestReader().read(body, 'me', slice, () => {
      isReferred = true
    })
    expect(isReferred).toBe(false)
    body.fill('?')
    expect(Buffer.concat(jsonBytes(read)).toString()).toBe(text)
    expect(read).toEqual(JSON.parse(text))
  })

  it('says that it refers to its body where a large message was not copied', async () => {
    let isReferred = false
    await createRequestReader().read(Buffer.from(bodyOf(small, large)), 'me', slice, () => {
      isReferred = true
    })
    expect(isReferred).toBe(true)
  })
})

it('large requests at the same time reach the upstream unmixed', async () => {
  const message = {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'any', content: [] },
    ...{ stop_reason: 'end_turn', stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
  }
  const headers = { 'content-type': 'application/json' }
  const { url, requests } = await record({ status: 200, headers, body: JSON.stringify(message) })
  const gateway = await start(createMessagesUpstream({ url, wire: 'append' }), { mode: 'off' })
  const bodies = Array.from({ length: 16 }, (_, client) =>
    JSON.stringify({
      model: 'any',
      max_tokens: 10,
      messages: [{ role: 'user', content: `${client} `.repeat(26_000 + client * 1000) }],
    }),
  )
  const answers = []
  for (let from = 0; from < bodies.length; from += 8)
    answers.push(...(await Promise.all(bodies.slice(from, from + 8).map((body) => post(gateway, body)))))
  expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200))
  expect(new Set(requests.map(({ body }) => body))).toEqual(new Set(bodies))
})
