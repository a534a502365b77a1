// Replies that no model should write: the API still accepts the history, and the conversation continues.
import { expect, onTestFinished, test } from 'vitest'
import type { MessagesClient } from '../../packages/agent/src/types.ts'
import { echo, endOf, heard, lines, over, said, saying, serverTools, shelfWith } from './support.ts'

const use = (id: string, name = 'Echo', input: unknown = {}) => ({ type: 'tool_use', id, name, input })
const thought = { type: 'thinking', thinking: 'hm', signature: 'signed' }

test.each<[string, object[]]>([
  ['two calls with one id', [{ content: [use('a'), use('a')] }]],
  ['an id of an earlier reply', [{ content: [use('a')] }, { content: [use('a')] }]],
  ['a call without an id', [{ content: [use('')] }]],
  ['an id with other characters', [{ content: [use('call:1.0')] }]],
  ['a call without a name', [{ content: [use('a', '')] }]],
  ['a name with other characters', [{ content: [use('a', 'functions.Echo')] }]],
  ['two hundred calls', [{ content: Array.from({ length: 200 }, (_, index) => use(`call_${index}`)) }]],
])('%s: each call gets its result, and the next message works', async (_, replies) => {
  const model = saying(...replies)
  const { agent } = over(model, { tools: [echo('Echo')] })
  const events = await said(agent, 'go')
  const calls = events.filter(({ type }) => type === 'call')
  expect(events.filter(({ type }) => type === 'result')).toHaveLength(calls.length)
  expect(endOf(events).reason).toBe('done')
  expect(endOf(await said(agent, 'next')).reason).toBe('done')
})

test('an unknown name that cannot be sent is still answered with the nearest', async () => {
  const { agent } = over(saying({ content: [use('a', 'functions.Echo')] }), { tools: [echo('Echo')] })
  expect(lines(await said(agent, 'go')).join('\n')).toMatch(/no tool named "functions_Echo"\. Nearest: Echo/)
})

test('a reply that only thought is not kept: the API takes no message that ends with thinking', async () => {
  const model = saying({ content: [thought, { type: 'text', text: ' \n' }] })
  const { agent } = over(model)
  expect(endOf(await said(agent, 'go')).reason).toBe('done')
  await said(agent, 'next')
  expect(model.requests[1]!.messages).toMatchObject([
    { role: 'user', content: [{ text: 'go' }] },
    { role: 'user', content: [{ text: 'next' }] },
  ])
})

const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'tool_search_tool_bm25', input: {} }
const searching = () => ({ shelf: shelfWith(serverTools('weather', 'forecast'), { wire: 'hosted' }) })

test('a search of the API itself that was cut short before its result does not spoil the next message', async () => {
  const speech = { type: 'text', text: 'I search.' }
  const model = saying({ content: [speech, search], stop_reason: 'max_tokens' })
  const { agent } = over(model, searching())
  expect(endOf(await said(agent, 'go')).reason).toBe('limit')
  expect(endOf(await said(agent, 'go on'))).toEqual({ type: 'end', reason: 'done' })
  expect(agent.messages).toContainEqual({ role: 'assistant', content: [speech] })
})

test('a paused turn continues after its search, and can be stopped there', async () => {
  const paused = { content: [search], stop_reason: 'pause_turn' }
  const model = saying(paused)
  const { agent } = over(model, searching())
  expect(endOf(await said(agent, 'go')).reason).toBe('done')
  expect(model.requests[1]!.messages.at(-1)).toEqual({ role: 'assistant', content: [search] })
  const other = over(saying(paused), searching()).agent
  for await (const event of other.send('go')) if (event.type === 'reply') break
  expect(endOf(await said(other, 'next'))).toEqual({ type: 'end', reason: 'done' })
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [search] },
    { role: 'assistant', content: 'stopped behind it' },
  ]
  const later = over(saying(), { ...searching(), messages }).agent
  expect(endOf(await said(later, 'next'))).toEqual({ type: 'end', reason: 'done' })
})

test('half of a character, in a message or in a call, is never sent', async () => {
  const model = saying({ content: [thought, use('a', 'Echo', { text: 'half \ud83d' })] })
  const { agent } = over(model, { tools: [echo('Echo')], enrich: async () => ['hint \ude00'] })
  await said(agent, 'a smile \ud83d')
  const sent = model.requests.at(-1)!.messages
  expect(JSON.stringify(sent)).not.toMatch(/\\ud[89a-f]/)
  expect(sent[1]).toEqual({
    role: 'assistant',
    content: [thought, use('a', 'Echo', { text: 'half \ufffd' })],
  })
})

test.each(['{"text": "half', '["text"]', 'rm -rf'])(
  'input that is not a JSON object is not run: %s',
  async (json) => {
    async function* reply() {
      yield { type: 'content_block_start', index: 0, content_block: use('a') }
      yield { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: json } }
      yield { type: 'message_delta', delta: { stop_reason: 'tool_use' } }
    }
    let runs = 0
    const model = saying({ [Symbol.asyncIterator]: reply })
    const { agent } = over(model, { tools: [echo('Echo', { run: () => `${++runs}` })] })
    expect(endOf(await said(agent, 'go')).reason).toBe('done')
    expect(runs).toBe(0)
    expect(JSON.stringify(agent.messages)).toContain('not a JSON object. Make each call again.')
  },
)

test('many calls at once warn nobody', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error) => void warnings.push(warning)
  process.on('warning', listen)
  onTestFinished(() => void process.off('warning', listen))
  const content = Array.from({ length: 30 }, (_, index) => use(`call_${index}`))
  await said(over(saying({ content }), { tools: [echo('Echo')] }).agent, 'go')
  await new Promise((done) => setImmediate(done))
  expect(warnings).toEqual([])
})

const talk = (length: number) =>
  Array.from({ length }, (_, index) => ({
    role: index % 2 ? 'assistant' : 'user',
    content: `message ${index}`,
  }))

async function* half() {
  yield { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'They spoke of' } }
}

test.each<[string, object, RegExp]>([
  [
    'a refusal',
    { content: [{ type: 'text', text: 'I cannot do that.' }], stop_reason: 'refusal' },
    /refused/,
  ],
  ['half a summary', half(), /broke off/],
  ['no words', { content: [thought], stop_reason: 'max_tokens' }, /wrote no summary/],
])('%s does not take the place of the history', async (_, answer, reason) => {
  const create = async () => answer
  const { agent } = over({ client: { messages: { create } }, seen: [] }, { messages: talk(10) })
  expect(lines(await heard(agent.compact()))).toEqual([expect.stringMatching(reason)])
  expect(agent.messages).toEqual(talk(10))
})

test('takes counts that are missing at the end of a stream from its beginning', async () => {
  async function* reply() {
    yield { type: 'message_start', message: { usage: { input_tokens: 900, output_tokens: 1 } } }
    yield { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'ok' } }
    const usage = { input_tokens: null, cache_read_input_tokens: null, output_tokens: 20 }
    yield { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }
  }
  const { agent } = over(saying({ [Symbol.asyncIterator]: reply }))
  await said(agent, 'go')
  expect(agent.used).toBe(920)
})

test('describes an image that the API refuses in words, and continues the conversation', async () => {
  const model = saying({ content: [use('a', 'Good')] }, { content: [use('b', 'Bad')] })
  const create: MessagesClient['messages']['create'] = async (request) => {
    const fault = 'messages.4.content.0: Could not process image'
    if (JSON.stringify(request).includes('"brokenly"')) throw Object.assign(new Error(fault), { status: 400 })
    return model.client.messages.create(request)
  }
  const image = (data: string) => [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
  ]
  const tools = [echo('Good', { run: () => image('fine') }), echo('Bad', { run: () => image('brokenly') })]
  const { agent } = over({ ...model, client: { messages: { create } } }, { tools })
  const told = await said(agent, 'go')
  expect(endOf(told).reason).toBe('done')
  expect(lines(told)).toContainEqual(expect.stringContaining('The API refused an image.'))
  const kept = JSON.stringify(agent.messages)
  expect(kept).toMatch(/cannot be shown: messages\.4\.content\.0: Could not process image/)
  expect(kept).toContain('"fine"')
})
