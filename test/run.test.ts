// `shelf.run`: one call of the model in, one tool_result out, whatever the call is and whatever the tool does.
import { describe, expect, it, vi } from 'vitest'
import type { RunOptions } from '../packages/core/src/index.ts'
import { builtIn, exampleTools, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const SEND = 'mcp__slack__send_message'
const text = (written: string) => ({ type: 'text', text: written })
const weather = builtIn('Weather', {
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
})
const tools = [weather, ...exampleTools]
const call = { id: 'toolu_1', name: 'Weather', input: { city: 'Oslo' } }
const never: RunOptions['execute'] = () => expect.fail('execute must not be called')

const runWith = (execute: Loose, options: Loose = {}): Promise<Loose> =>
  quietShelf({ tools, ...options }).run(call, { execute })

describe('which call is run', () => {
  it('a search is answered, and what it found is loaded', async () => {
    const talk = new Talk(quietShelf({ tools }))
    await talk.user('write to #dev').prepare()
    const search = talk.call('ToolSearch', { query: `select:${SEND}` })
    talk.assistant([search])
    const result = await talk.shelf.run(search, { messages: talk.messages, execute: never })
    expect(result).toMatchObject({ type: 'tool_result', tool_use_id: search.id })
    expect(result.content).toContainEqual({ type: 'tool_reference', tool_name: SEND })
    const { loaded } = await talk.user([result]).prepare()
    expect(loaded).toEqual([SEND])
  })

  it('a tool of the host is run by its name', async () => {
    const execute = vi.fn(() => 'sunny')
    await expect(runWith(execute)).resolves.toEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [text('sunny')],
    })
    const resolved = { name: 'Weather', input: { city: 'Oslo' }, server: undefined, original: 'Weather' }
    expect(execute.mock.calls).toEqual([[resolved]])
  })

  it('a tool of a server is run by the name that the server gave it', async () => {
    const shelf = quietShelf({ tools: [mcp('my server', 'send.message')] })
    const name = 'mcp__my_server__send_message'
    const execute = vi.fn(async () => 'sent')
    await shelf.run({ id: 'toolu_2', name, input: {} }, { execute })
    expect(execute.mock.calls).toEqual([[{ name, input: {}, server: 'my server', original: 'send.message' }]])
  })

  it('on the bridge, the call inside the wrapper is run', async () => {
    const talk = new Talk(quietShelf({ tools, wire: 'bridge' }))
    await talk.user('write to #dev').prepare()
    const wrapped = talk.call('CallTool', { name: SEND, arguments: { text: 'hi' } })
    const execute = vi.fn(() => 'sent')
    const result = await talk.shelf.run(wrapped, { messages: talk.messages, execute })
    expect(result).toMatchObject({ tool_use_id: wrapped.id, content: [text('sent')] })
    expect(execute.mock.calls).toEqual([
      [{ name: SEND, input: { text: 'hi' }, server: 'slack', original: 'send_message' }],
    ])
  })
})

describe('what the tool returns', () => {
  it.each<[string, Loose, Loose]>([
    ['text', 'sunny', { content: [text('sunny')] }],
    ['blocks', [text('sunny'), text('warm')], { content: [text('sunny'), text('warm')] }],
    ['the answer of an MCP server', { content: [text('sunny')] }, { content: [text('sunny')] }],
    [
      'the error of an MCP server',
      { content: [text('no such city')], isError: true },
      { content: [text('no such city')], is_error: true },
    ],
    [
      'an MCP answer with structured content only',
      { content: [], structuredContent: { degrees: 3 } },
      { content: [text('{"degrees":3}')] },
    ],
    [
      'a tool_result',
      { type: 'tool_result', tool_use_id: 'x', content: 'fine' },
      { content: [text('fine')] },
    ],
    [
      'a tool_result that is an error',
      { type: 'tool_result', tool_use_id: 'x', content: [text('it broke')], is_error: true },
      { content: [text('it broke')], is_error: true },
    ],
    ['nothing', undefined, { content: [text('The tool returned nothing.')] }],
    ['a number', 3, { content: [text('3')] }],
    ['any other object', { degrees: 3 }, { content: [text('{"degrees":3}')] }],
  ])('%s becomes the result', async (_, output, expected) => {
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', ...expected }
    await expect(runWith(() => output)).resolves.toEqual(result)
    await expect(runWith(async () => output)).resolves.toEqual(result)
  })
})

describe('a tool that fails', () => {
  const unprintable = Object.create(null)
  it.each<[string, unknown, string]>([
    ['an error', new Error('no network'), 'The tool failed: no network'],
    ['an error without a message', new TypeError(), 'The tool failed: TypeError'],
    ['text', 'no network', 'The tool failed: no network'],
    ['nothing', undefined, 'The tool failed: undefined'],
    ['what cannot be printed', unprintable, 'The tool failed: [object Object]'],
  ])('by throwing %s is an error that the model reads', async (_, thrown, message) => {
    const expected = {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [text(message)],
      is_error: true,
    }
    const throws = () => {
      throw thrown
    }
    await expect(runWith(throws)).resolves.toEqual(expected)
    await expect(runWith(async () => throws())).resolves.toEqual(expected)
  })

  it('and so is a search whose ranker fails', async () => {
    const talk = new Talk(quietShelf({ tools, rank: () => expect.fail('the ranker broke') }))
    await talk.user('write to #dev').prepare()
    const search = talk.call('ToolSearch', { query: 'send message' })
    const result = await talk.shelf.run(search, { messages: talk.messages, execute: never })
    expect(result).toMatchObject({ type: 'tool_result', tool_use_id: search.id })
  })
})

it('a mistake of the host is not hidden in a result', async () => {
  for (const options of [undefined, {}, { execute: 'Weather' }] as Loose[]) {
    await expect(quietShelf({ tools }).run(call, options)).rejects.toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('"execute"') }),
    )
  }
})
