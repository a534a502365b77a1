// Failures around the loop: the agent reports them, loses nothing, and answers the next message.

import { expect, test } from 'vitest'
import type { Upstream } from '../../packages/messages/src/types.ts'
import {
  echo,
  endOf,
  heard,
  lines,
  type Model,
  over,
  refusals,
  SUMMARY,
  said,
  scripted,
  served,
  shelfWith,
  talking,
  whole,
} from './support.ts'

test('no tool starts once it was stopped, not even one that was allowed meanwhile', async () => {
  const stop = new AbortController()
  let runs = 0
  const tools = [echo('Write', { run: () => `${++runs}` })]
  const permission = async () => {
    stop.abort()
    return true as const
  }
  const talk = await talking(scripted({ do: [{ call: 'Write' }] }), { tools, permission })
  expect(endOf(await said(talk.agent, 'go', stop.signal)).reason).toBe('stopped')
  await new Promise((done) => setImmediate(done))
  expect(runs).toBe(0)
})

test('a message that is stopped while it is enriched is kept', async () => {
  const stop = new AbortController()
  const enrich = () => {
    stop.abort()
    return new Promise<never>(() => {})
  }
  const { agent } = over(whole(scripted({ do: [{ say: 'ok' }] })), { enrich })
  expect(lines(await said(agent, 'one', stop.signal)).at(-1)).toBe('end stopped')
  expect(agent.messages).toEqual([{ role: 'user', content: 'one' }])
})

test.each([null, undefined, 'no reason'])(
  'reports whatever is thrown, and ends the turn: %s',
  async (thrown) => {
    const fail = () => {
      throw thrown
    }
    const model = whole(scripted({ do: [{ say: 'ok' }] }))
    const told = lines(await said(over(model, { enrich: fail, preload: fail }).agent, 'go'))
    expect(told[0]).toBe(`notice Sending the message as it is: ${thrown}`)
    expect(told.at(-1)).toBe('end done')
    expect(endOf(await said(over(model, { onHistory: fail }).agent, 'go')).error).toBe(String(thrown))
    const messages = Array(5).fill({ role: 'user', content: 'hi' })
    const broken = over({ client: { messages: { create: fail } }, seen: [] }, { messages })
    expect(lines(await heard(broken.agent.compact()))[0]).toMatch(`; it stays as it is: ${thrown}`)
  },
)

/** Refuses the first requests with these answers. */
const failing =
  (...answers: { status: number; headers?: Record<string, string>; message?: string }[]) =>
  (upstream: Upstream): Upstream => ({
    ...upstream,
    async sample(request, call) {
      const answer = answers.shift()
      if (!answer) return upstream.sample(request, call)
      const { status, headers = {}, message = 'not now' } = answer
      const body = JSON.stringify({ type: 'error', error: { type: 'api_error', message } })
      return { refused: { status, headers: { 'content-type': 'application/json', ...headers }, body } }
    },
  })

const patient = (model: Model, more: object = {}) => {
  const waits: number[] = []
  const wait = async (milliseconds: number) => void waits.push(milliseconds)
  return { ...over(model, { wait, ...more }), waits }
}

test('what passes is tried again: as long as the server says, else longer each time', async () => {
  const faults = failing({ status: 429, headers: { 'retry-after': '7' } }, { status: 529 }, { status: 503 })
  const talk = patient(await served(scripted({ do: [{ say: 'ok' }] }), faults))
  const told = lines(await said(talk.agent, 'go'))
  expect(told.filter((line) => line.startsWith('retry'))).toEqual([
    'retry 1 after 7000',
    'retry 2 after 1000',
    'retry 3 after 2000',
  ])
  expect(told.at(-1)).toBe('end done')
  expect(talk.waits).toEqual([7000, 1000, 2000])
})

test('a stream that breaks off is asked for again, and what it said so far is void', async () => {
  const talk = patient(await served(scripted({ do: [{ cut: true }, { say: 'half of a sentence only' }] })), {
    retries: 2,
  })
  const told = lines(await said(talk.agent, 'go'))
  expect(told.filter((line) => line.startsWith('retry'))).toHaveLength(2)
  expect(told.at(-1)).toMatch(/^end failed: /)
  expect(talk.seen).toHaveLength(3)
  expect(refusals(talk)).toEqual([])
})

test.each([
  [401, /invalid x-api-key \(status 401\)\. The key was refused: check ANTHROPIC_API_KEY/],
  [404, /\(status 404\)\. Check the name of the model/],
])(
  'status %i ends with a sentence that helps, at once, and the history is kept',
  async (status, sentence) => {
    const model = await served(
      scripted({ do: [{ say: 'ok' }] }),
      failing({ status, message: 'invalid x-api-key' }),
    )
    const talk = patient(model)
    expect(endOf(await said(talk.agent, 'go'))).toMatchObject({
      reason: 'failed',
      error: expect.stringMatching(sentence),
    })
    expect(talk.waits).toEqual([])
    expect(talk.agent.messages).toEqual([{ role: 'user', content: 'go' }])
    expect(endOf(await said(talk.agent, 'again')).reason).toBe('done')
  },
)

const TOO_LONG = 'prompt is too long: 210000 tokens > 200000 maximum'

/** An API that takes no more characters than this. */
const narrow = (model: Model, most: number, status = 400, message = TOO_LONG): Model => ({
  ...model,
  client: {
    messages: {
      async create(request: never, options) {
        if (JSON.stringify(request).length > most) {
          throw Object.assign(new Error(message), { status, error: { error: { message } } })
        }
        return model.client.messages.create(request, options)
      },
    },
  },
})

const chat = scripted({ when: 'tell (.+)', do: [{ say: 'long {{1}}' }] }, { do: [{ say: 'ok' }] })

test.each([
  [400, 'input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length'],
  [413, 'Request exceeds the maximum size'],
  [400, "This model's maximum context length is 8192 tokens."],
  [400, 'the request exceeds the available context size, try increasing it'],
  [400, 'The input token count (40000) exceeds the maximum number of tokens allowed (32768).'],
])('whoever says that a request is too long, the history is summarised: %i %s', async (status, message) => {
  const talk = over(narrow(whole(chat), 12_000, status, message))
  for (let turn = 0; turn < 4; turn++) await said(talk.agent, `tell ${'x'.repeat(3000)}`)
  expect(endOf(await said(talk.agent, 'hello')).reason).toBe('done')
  expect(JSON.stringify(talk.agent.messages[0])).toContain(SUMMARY)
})

test('a result too long to be kept is summarised with its call, and the task is still known', async () => {
  const again = { when: 'so far in short', do: [{ say: 'I was told: {{user}}' }] }
  const script = scripted(again, { when: 'fetch it', do: [{ call: 'Big' }] })
  const talk = over(narrow(whole(script), 12_000), {
    tools: [echo('Big', { run: () => 'z'.repeat(20_000) })],
  })
  const told = lines(await said(talk.agent, 'please fetch it'))
  expect(told.at(-1)).toBe('end done')
  expect(told.find((line) => line.startsWith('text I was told'))).toMatch(/working on:\nplease fetch it/)
  expect(talk.agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(refusals(talk)).toEqual([])
})

test('a history too long even to be summarised loses its middle', async () => {
  const messages = Array.from({ length: 40 }, (_, index) => ({
    role: index % 2 ? 'assistant' : 'user',
    content: `${index} ${'y'.repeat(3000)}`,
  }))
  const talk = over(narrow(whole(chat), 30_000), { messages: messages.slice(0, 36) })
  const events = await said(talk.agent, 'hello')
  expect(lines(events).at(-1)).toBe('end done')
  expect(events.some(({ type }) => type === 'compacted')).toBe(true)
})

test('a summary that fails is not asked for again with every step', async () => {
  const fails = { when: 'Summarise this conversation', do: [{ fail: { status: 529 } }] }
  const steps = Array.from({ length: 12 }, () => ({ call: 'Again' }))
  const model = whole({ rules: [fails, { do: steps }] })
  const { agent } = over(model, { tools: [echo('Again')], contextWindow: 10 })
  const events = await said(agent, 'go')
  expect(events.filter(({ type }) => type === 'request')).toHaveLength(13)
  expect(events.filter(({ type }) => type === 'notice').length).toBeLessThan(5)
})

test('a back-end that refuses references is asked again with everything loaded', async () => {
  const shelf = shelfWith([{ name: 'Rare', description: 'A rare tool.', shouldDefer: true }])
  const talk = over(await served({ ...scripted({ do: [{ say: 'ok' }] }), api: 'old' }), { shelf })
  expect(endOf(await said(talk.agent, 'go')).reason).toBe('done')
  expect(talk.seen.at(-1)!.visible).toContain('Rare')
})
