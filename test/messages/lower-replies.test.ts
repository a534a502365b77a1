// Replies with hosted searches in them as turns that an API from before tool search takes: the shapes that random
// conversations found, and tools that occur only in a message.
import { expect, test } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { lower } from '../../src/messages/wire/index.ts'
import {
  assistant,
  deferred,
  found,
  refusal,
  request,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'

const tools = [tool('read'), deferred('mail')]

/** The messages as they are sent, each block by its id or its text. */
function sent(...messages: Fields[]): string[] {
  const lowered = lower(request(tools, ...messages) as unknown as MessagesRequest, 'append')
  expect(refusal(lowered, { isOldProxy: true })).toBeUndefined()
  return lowered.messages.map(({ role, content }) => {
    const words = (content as Fields[]).map(
      ({ id, tool_use_id: of, text: said }) => id ?? (of ? `→${of}` : said),
    )
    return `${role}: ${words.join(' ')}`
  })
}

test('wire 28 puts the result of a search beside a call before the remarks of the user and the host', () => {
  const messages = [
    user(text('hi')),
    assistant(use('call', 'read'), search('find')),
    user(result('call'), text('remark')),
    system(text('be brief')),
    assistant(found('find', 'mail'), text('done')),
  ]
  expect(sent(...messages).slice(2, 4)).toEqual([
    'user: →call →find remark',
    'user: <system-reminder>\nbe brief\n</system-reminder>',
  ])
})

test('puts a search into the turn that its result ends, whatever comes between the results', () => {
  const blocks = [search('a'), search('b'), found('a', 'mail'), text('and'), found('b'), text('done')]
  expect(sent(user(text('hi')), assistant(...blocks)).slice(1)).toEqual([
    'assistant: a',
    'user: →a',
    'assistant: b and',
    'user: →b',
    'assistant: done',
  ])
})

test('searches that were asked for together and answered together stay together', () => {
  const blocks = [search('a'), search('b'), found('a', 'mail'), found('b'), text('done')]
  expect(sent(user(text('hi')), assistant(...blocks)).slice(1)).toEqual([
    'assistant: a b',
    'user: →a →b',
    'assistant: done',
  ])
})

test("a client's call before a search that was answered at once waits for its own result", () => {
  const blocks = [use('call', 'read'), search('a'), found('a', 'mail'), text('and')]
  expect(sent(user(text('hi')), assistant(...blocks), user(result('call'))).slice(1)).toEqual([
    'assistant: a',
    'user: →a',
    'assistant: call and',
    'user: →call',
  ])
})

test('wire 42 a tool that a message defines is sent where the request itself has no tools', () => {
  const addition = { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('mail') } }
  const { tools: _, ...bare } = request([], user(text('hi')), system(addition))
  const names = (wire: 'append' | 'bridge') =>
    lower(bare as unknown as MessagesRequest, wire).tools?.map(({ name }) => name)
  expect(names('append')).toEqual(['mail'])
  expect(names('bridge')).toEqual(['CallTool'])
  const plain = lower({ model: 'any', messages: [user(text('hi'))] }, 'append')
  expect('tools' in plain).toBe(false)
})

test('very many searches at once become one turn, with all results in the next', () => {
  const ids = Array.from({ length: 3000 }, (_, index) => `find${index}`)
  const reply = assistant(...ids.map((id) => search(id)), ...ids.map((id) => found(id, 'mail')))
  const given = request(tools, user(text('hi')), reply, user(text('go'))) as unknown as MessagesRequest
  const [, searches, results] = lower(given, 'append').messages.map(({ content }) => content as Fields[])
  expect(searches?.map(({ id }) => id)).toEqual(ids)
  expect(results?.map(({ tool_use_id: id }) => id)).toEqual(ids)
})
