// Long tool results in the history of a client: previews for the model, the same ones in every request, read by it unseen.
import { expect, test } from 'vitest'
import type { Trace } from '../../src/core/index.ts'
import { extendsPrefix, renderRequest } from '../../src/core/oracle/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { assistant, result, text, tool, use, user } from '../oracle/requests.ts'
import { ask } from './support/gateways.ts'
import { modelOf, namesIn, replyOf, type Turn } from './support/played-model.ts'

const long = JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, title: `Issue ${id}` })))
const tools = [tool('Read'), tool('mcp__mail__send'), tool('mcp__mail__list')]
const history = [user(text('read it')), assistant(use('toolu_a', 'Read')), user(result('toolu_a', long))]
const budget = { resultBudget: 1000 }
const handleIn = (value: unknown) => /result_[a-z0-9]{16}/.exec(JSON.stringify(value))?.[0] ?? ''
const reading = (input: Fields, id = 'toolu_r'): Turn => ({
  content: [{ type: 'tool_use', id, name: 'ReadResult', input }],
})
const answer = { content: [text('Issue 7 it is.')] }

test.each(['native', 'append', 'bridge'] as const)(
  'the model gets a preview and reads on; the client sees neither (%s)',
  async (wire) => {
    const model = modelOf(
      (request, sampling) =>
        sampling === 1 ? reading({ handle: handleIn(request.messages), path: '[7].title' }) : answer,
      { wire },
    )
    const { content } = await replyOf(model.upstream, ask(tools, ...history), 'shelve', undefined, budget)
    expect(content).toEqual([text('Issue 7 it is.')])
    const [first, second] = model.requests
    expect(JSON.stringify(first?.messages)).toContain('300 × { id: number, title: string }')
    expect(JSON.stringify(first?.messages)).not.toContain('Issue 299')
    expect(namesIn(first!)).toContain('ReadResult')
    expect(JSON.stringify(second?.messages.at(-1))).toContain('"text":"Issue 7"')
    expect(extendsPrefix(renderRequest(first!), renderRequest(second!)).extends).toBe(true)
  },
)

test('the replacement of a result depends on its text alone: later requests extend the prefix', async () => {
  const model = modelOf(() => answer)
  const later = [...history, assistant(text('I see.')), user(text('and now?'))]
  for (const messages of [history, later])
    await replyOf(model.upstream, ask(tools, ...messages), 'shelve', undefined, budget)
  const [first, second] = model.requests
  expect(extendsPrefix(renderRequest(first!), renderRequest(second!)).extends).toBe(true)
})

test('errors, short results, and everything without the option stay as the client sent them', async () => {
  const failed = [...history.slice(0, 2), user(result('toolu_a', long, { is_error: true }))]
  const short = [...history.slice(0, 2), user(result('toolu_a', 'ok'))]
  const whole = (messages: Fields[]) => JSON.stringify(messages.at(-1))
  for (const [messages, options] of [
    [failed, budget],
    [short, budget],
    [history, {}],
  ] as const) {
    const model = modelOf(() => answer)
    await replyOf(model.upstream, ask(tools, ...messages), 'shelve', undefined, options)
    expect(JSON.stringify(model.requests[0]?.messages.at(-1))).toBe(whole([...messages]))
    expect(namesIn(model.requests[0]!).includes('ReadResult')).toBe('resultBudget' in options)
  }
})

test('a handle of another conversation is unknown, and a client’s own ReadResult is left alone', async () => {
  const model = modelOf((_, sampling) =>
    sampling === 1 ? reading({ handle: 'result_0123456789abcdef' }) : answer,
  )
  await replyOf(model.upstream, ask(tools, ...history), 'shelve', undefined, budget)
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('not on the shelf')
  const own = modelOf(() => answer)
  await replyOf(own.upstream, ask([...tools, tool('ReadResult')], ...history), 'shelve', undefined, budget)
  expect(JSON.stringify(own.requests[0]?.messages)).toContain('Issue 299')
})

test('a model that only reads must answer in the end, without the tool', async () => {
  const model = modelOf((request, sampling) =>
    namesIn(request).includes('ReadResult')
      ? reading({ handle: handleIn(request.messages), page: 1 }, `toolu_${sampling}`)
      : answer,
  )
  const { content } = await replyOf(model.upstream, ask(tools, ...history), 'shelve', undefined, budget)
  expect(content).toEqual([text('Issue 7 it is.')])
  expect(model.requests).toHaveLength(10)
})

test('each long result is reported once, with the request that brings it', async () => {
  const events: Trace[] = []
  const openTrace = () => (event: Trace) => void events.push(event)
  const model = modelOf(() => answer)
  const later = [...history, assistant(text('I see.')), user(text('and now?'))]
  for (const messages of [history, later])
    await replyOf(model.upstream, ask(tools, ...messages), 'shelve', undefined, { ...budget, openTrace })
  expect(events.filter(({ type }) => type === 'shelved')).toMatchObject([
    { id: 'toolu_a', name: 'Read', kind: 'JSON', size: long.length },
  ])
})
