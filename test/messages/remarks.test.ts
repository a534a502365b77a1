// The remark of a search ("155 more tools matched …") is part of its result where there are no references: never words
// of the user.
import { expect, test } from 'vitest'
import { type Fields, fieldsOf, listOf, textOf } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { createChatUpstream, createResponsesUpstream } from '../../src/messages/upstream/index.ts'
import { lower } from '../../src/messages/wire/index.ts'
import { assistant, deferred, reference, request, result, text, tool, use, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, emulate, reply, start } from './support/gateways.ts'
import { startChat, startResponses } from './support/openai-models.ts'

const tools = [tool('Read'), ...Array.from({ length: 60 }, (_, index) => tool(`mail_send_${index}`))]

test.each(['append', 'bridge'] as const)(
  'S9 on %s the remark is inside the result of the search',
  async (kind) => {
    const script = always({ search: 'mail send' }, { say: 'Done.' })
    const gateway = await emulate(kind, script, { mode: 'shelve' })
    await reply(gateway, ask(tools))
    const last = fieldsOf(gateway.seen.at(-1)?.request.messages.at(-1))
    expect(listOf(last.content).map((block) => fieldsOf(block).type)).toEqual(['tool_result'])
    const [answer] = listOf(last.content).map(fieldsOf)
    const texts = listOf(answer?.content).map((block) => textOf(fieldsOf(block).text))
    expect(texts.at(-1)).toMatch(/^Tool search: \d+ more tools matched/)
  },
)

test('S9 Chat Completions: after a search the newest message is the result, remark and all', async () => {
  const model = await startChat('mail_send_7', 'mail send')
  const gateway = await start(createChatUpstream({ url: model.url }), { mode: 'shelve' })
  await reply(gateway, { ...ask(tools), model: 'small-1' })
  const last = fieldsOf(listOf(model.bodies[1]?.messages).at(-1))
  expect([last.role, last.content]).toEqual(['tool', expect.stringContaining('more tools matched')])
  expect(listOf(model.bodies[1]?.messages).filter((one) => fieldsOf(one).role === 'user')).toHaveLength(1)
})

test('S9 Responses: the remark is part of the output, and no message of the user follows', async () => {
  const model = await startResponses('mail_send_7', 'mail send')
  const gateway = await start(createResponsesUpstream({ url: model.url }), { mode: 'shelve' })
  await reply(gateway, { ...ask(tools), model: 'gpt-5.4' })
  const items = listOf(model.bodies[1]?.input).map(fieldsOf)
  const output = items.findIndex(({ type }) => type === 'function_call_output')
  expect(items[output]?.output).toContain('more tools matched')
  expect(items.slice(output + 1).map(({ type }) => type)).toEqual(['additional_tools'])
})

test('only notes of ours move, with their breakpoints; the words of the user stay', () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const lowered = (...content: Fields[]): Fields => {
    const turns = [user(text('hi')), assistant(use('a')), user(...content)]
    const given = request([tool('Read'), deferred('later')], ...turns) as unknown as MessagesRequest
    return fieldsOf(lower(given, 'append').messages.at(-1))
  }
  const found = result('a', [reference('later')])
  const note = text('Tools loaded: later. They are in your list of tools now.')
  expect(lowered(found, text('Tool loaded.', mark), text('Go on.')).content).toEqual([
    { ...found, content: [note], ...mark },
    text('Go on.'),
  ])
  expect(lowered(found, text('Tool search: 3 more matched.', mark)).content).toEqual([
    { ...found, content: [note, text('Tool search: 3 more matched.', mark)] },
  ])
  expect(lowered(text('Tool loaded.')).content).toEqual([text('Tool loaded.')])
})
