// What a Chat Completions server is sent for a Messages request. The server refuses every field it does not know.
import { describe, expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { toChatRequest } from '../../src/messages/upstream/chat-request.ts'
import { dialectOf } from '../../src/messages/upstream/dialects.ts'
import { createChatUpstream } from '../../src/messages/upstream/index.ts'
import { thoughtsOf } from '../../src/messages/upstream/thoughts.ts'
import { callWith, completion, hello, sample, serveChat, talk } from './support/chat-server.ts'

const thoughts = thoughtsOf('chat', 'm')
const answer = { body: completion({ content: 'Hi' }) }

const sent = async (request: Partial<MessagesRequest>): Promise<Fields> => {
  const { server } = await talk(answer, request)
  expect(server.requests).toHaveLength(1)
  return server.requests[0]!.body
}
const messagesOf = async (...messages: Fields[]) => (await sent({ messages })).messages
const use = (id: string, name = 'read', input: unknown = { path: 'a' }) => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const result = (id: string, content: unknown, more: Fields = {}) => ({
  ...{ type: 'tool_result', tool_use_id: id, content },
  ...more,
})
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }
const imagePart = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }

describe('fields', () => {
  it('wire 40: sends only what Chat Completions knows, in one order', async () => {
    const { server } = await talk(answer, {
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'someone' },
      thinking: { type: 'enabled', budget_tokens: 1024 },
      output_config: { effort: 'high' },
      context_management: {},
      service_tier: 'auto',
      container: 'c',
      mcp_servers: [],
    })
    expect(server.requests[0]!.json).toBe(
      '{"model":"small-1","max_tokens":100,"temperature":0.5,"top_p":0.9,"stop":["END"],"user":"someone","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]}',
    )
  })

  it('asks for usage in a stream', async () => {
    const data = [{ choices: [{ delta: {}, finish_reason: 'stop' }] }, '[DONE]']
    const { server } = await talk({ data }, { stream: true })
    expect(server.requests[0]!.body).toMatchObject({ stream: true, stream_options: { include_usage: true } })
  })

  it('turns tools into functions, each with the properties that OpenAI wants', async () => {
    const tools = [
      {
        name: 'read',
        description: 'Reads',
        input_schema: { type: 'object', required: [] },
        cache_control: {},
      },
      { type: 'custom', name: 'write', strict: true, input_examples: [{}] },
    ]
    expect((await sent({ tools })).tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'read',
          description: 'Reads',
          parameters: { type: 'object', properties: {}, required: [] },
        },
      },
      {
        type: 'function',
        function: {
          name: 'write',
          description: 'Examples of its input:\n{}',
          parameters: { type: 'object', properties: {} },
        },
      },
    ])
  })

  it.each([
    [{ type: 'auto' }, undefined, undefined],
    [{ type: 'any' }, 'required', undefined],
    [{ type: 'none' }, 'none', undefined],
    [{ type: 'tool', name: 'read' }, { type: 'function', function: { name: 'read' } }, undefined],
    [{ type: 'auto', disable_parallel_tool_use: true }, undefined, false],
  ])('tool_choice %j', async (tool_choice, choice, parallel) => {
    const body = await sent({ tool_choice, tools: [{ name: 'read', input_schema: { type: 'object' } }] })
    expect(body.tool_choice).toEqual(choice)
    expect(body.parallel_tool_calls).toBe(parallel)
  })

  it('sends no tool_choice without tools', async () => {
    expect(await sent({ tool_choice: { type: 'any' }, tools: [] })).not.toHaveProperty('tool_choice')
  })

  it('shortens a user that servers refuse, always to the same', async () => {
    const metadata = { user_id: JSON.stringify({ device_id: 'd'.repeat(64) }) }
    const { user } = await sent({ metadata })
    expect(user).toMatch(/^user_\w{11}$/)
    expect((await sent({ metadata })).user).toBe(user)
  })

  it('asks for JSON by a schema', async () => {
    const schema = { type: 'object', properties: {} }
    const body = await sent({ output_config: { format: { type: 'json_schema', schema } } })
    expect(body.response_format).toEqual({ type: 'json_schema', json_schema: { name: 'reply', schema } })
  })

  it.each([
    ['http://127.0.0.1:11434/v1', 'qwen3', 'max_tokens', true],
    ['https://api.openai.com/v1', 'gpt-4o', 'max_completion_tokens', true],
    ['https://api.openai.com/v1', 'gpt-5.2', 'max_completion_tokens', false],
    ['https://gateway.example/v1', 'openai/o4-mini', 'max_completion_tokens', false],
    ['http://127.0.0.1:11434/v1', 'gpt-oss:20b', 'max_tokens', true],
  ])('%s with %s: %s', (url, model, limit, temperature) => {
    const body = toChatRequest({ ...hello, model, temperature: 0 }, dialectOf(new URL(url), model), thoughts)
    expect(body[limit]).toBe(100)
    expect(body.temperature).toBe(temperature ? 0 : undefined)
  })

  it('sends effort to models that have it', () => {
    const effort = (model: string, effort?: string) =>
      toChatRequest(
        { ...hello, output_config: { effort } },
        dialectOf(new URL('http://localhost'), model),
        thoughts,
      ).reasoning_effort
    expect(effort('gpt-oss', 'low')).toBe('low')
    expect(effort('gpt-oss', 'max')).toBe('high')
    expect(effort('gpt-oss')).toBeUndefined()
    expect(effort('qwen3', 'low')).toBeUndefined()
  })
})

describe('messages', () => {
  it('drops the line that Claude Code changes in every request', async () => {
    const system = [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2; cch=abc;' },
      { type: 'text', text: 'One' },
      { type: 'text', text: 'Two' },
    ]
    expect((await sent({ system })).messages).toContainEqual({ role: 'system', content: 'One\n\nTwo' })
  })

  it('answers each call directly after it and in order, before what else the user says', async () => {
    expect(
      await messagesOf(
        { role: 'user', content: 'Read' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'text', text: 'I read' },
            use('a'),
            use('b', 'list', {}),
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Go on' },
            result('b', [
              { type: 'text', text: 'x' },
              { type: 'text', text: 'y' },
            ]),
            result('a', 'gone', { is_error: true }),
          ],
        },
      ),
    ).toEqual([
      { role: 'user', content: 'Read' },
      {
        role: 'assistant',
        content: 'I read',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
          { id: 'b', type: 'function', function: { name: 'list', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'Error: gone' },
      { role: 'tool', tool_call_id: 'b', content: 'x\n\ny' },
      { role: 'user', content: 'Go on' },
    ])
  })

  it('shows images of a result in the message that follows', async () => {
    const [, , tool, user] = (await messagesOf(
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: [use('a')] },
      { role: 'user', content: [result('a', [{ type: 'text', text: 'here' }, image])] },
    )) as Fields[]
    expect(tool).toEqual({
      role: 'tool',
      tool_call_id: 'a',
      content: 'here\n\n(images or files of it: in the next message)',
    })
    expect(user).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'From the result of a:' }, imagePart],
    })
  })

  it('copes with results that are empty, missing, said twice or asked for by nobody', async () => {
    const [, , a, b, user] = (await messagesOf(
      { role: 'user', content: 'Do' },
      { role: 'assistant', content: [use('a'), use('b')] },
      { role: 'user', content: [result('a', ''), result('a', 'again'), result('z', 'stray')] },
    )) as Fields[]
    expect(a).toMatchObject({ tool_call_id: 'a', content: '(no text)' })
    expect(b).toMatchObject({ tool_call_id: 'b', content: '(no result)' })
    const earlier = 'The result of an earlier call:'
    expect(user).toEqual({ role: 'user', content: `${earlier}\n\nagain\n\n${earlier}\n\nstray` })
  })

  it('answers calls at the very end, too', async () => {
    const messages = await messagesOf(
      { role: 'user', content: 'Do' },
      { role: 'assistant', content: [use('a')] },
    )
    expect(messages).toHaveLength(3)
  })

  it('sends text, images, documents, search results and unknown blocks', async () => {
    const [user] = (await messagesOf({
      role: 'user',
      content: [
        { type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } },
        image,
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        { type: 'image', source: { type: 'file', file_id: 'f' } },
        { type: 'document', title: 'Notes', source: { type: 'text', data: 'abc' } },
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'def' }, image] } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QUJD' } },
        { type: 'search_result', title: 'T', source: 'S', content: [{ type: 'text', text: 'found' }] },
        { type: 'novel', value: 1, cache_control: { type: 'ephemeral' } },
      ],
    })) as Fields[]
    expect(user!.content).toEqual([
      { type: 'text', text: 'Look' },
      imagePart,
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'text', text: '(an image that this model cannot be shown)' },
      { type: 'text', text: 'Notes:\nabc' },
      { type: 'text', text: 'document:' },
      { type: 'text', text: 'def' },
      imagePart,
      { type: 'text', text: '(document: a file that this model cannot be shown)' },
      { type: 'text', text: 'T\nS\nfound' },
      { type: 'text', text: '{"type":"novel","value":1}' },
    ])
  })

  it('gives files to OpenAI', () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'QUJD' }
    const messages = [{ role: 'user', content: [{ type: 'document', title: 'a.pdf', source }] }]
    const url = new URL('https://api.openai.com/v1')
    expect(toChatRequest({ ...hello, messages }, dialectOf(url, 'gpt-4o'), thoughts).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUJD' } },
        ],
      },
    ])
  })

  it('sends a system message within the conversation in the form that the model takes', async () => {
    const messages = [
      { role: 'user', content: 'One' },
      { role: 'system', content: [{ type: 'text', text: 'Careful' }, { type: 'novel' }] },
      { role: 'system', content: [{ type: 'novel' }] },
    ]
    expect(await messagesOf(...messages)).toEqual([
      { role: 'user', content: 'One\n\n<system>\nCareful\n</system>' },
    ])
    const url = new URL('https://api.openai.com/v1')
    expect(toChatRequest({ ...hello, messages }, dialectOf(url, 'gpt-4o'), thoughts).messages).toEqual([
      { role: 'user', content: 'One' },
      { role: 'system', content: 'Careful' },
    ])
  })

  it('leaves out turns that say nothing', async () => {
    expect(
      await messagesOf(
        { role: 'user', content: 'One' },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: '' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'Two' },
          ],
        },
      ),
    ).toEqual([{ role: 'user', content: 'One\n\nTwo' }])
  })

  it.each([[null], ['text'], [7], [{}], [{ role: 'user' }], [{ role: 'user', content: [null, 3, {}] }]])(
    'does not fall over %j',
    (message) => {
      const messages = [message] as unknown as Fields[]
      expect(() =>
        toChatRequest({ ...hello, messages }, dialectOf(new URL('http://a'), 'm'), thoughts),
      ).not.toThrow()
    },
  )
})

describe('names and ids', () => {
  it('shortens what OpenAI would refuse, and gives the name back', async () => {
    const name = `mcp__server__${'long_'.repeat(20)}`
    const server = await serveChat(({ body }) => {
      const [tool] = body.tools as { function: { name: string } }[]
      const call = { id: 'c', type: 'function', function: { name: tool!.function.name, arguments: '{}' } }
      return { body: completion({ content: null, tool_calls: [call] }, 'tool_calls') }
    })
    const { message } = await sample(createChatUpstream({ url: server.url }), {
      ...hello,
      tools: [{ name, input_schema: { type: 'object' } }],
      tool_choice: { type: 'tool', name },
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: [use('i'.repeat(50), name)] },
        { role: 'user', content: [result('i'.repeat(50), 'done')] },
      ],
    })
    expect(message.content).toEqual([{ type: 'tool_use', id: 'c', name, input: {} }])
    const { tools, tool_choice, messages } = server.requests[0]!.body
    const short = (tools as { function: { name: string } }[])[0]!.function.name
    expect(short).toHaveLength(64)
    expect(tool_choice).toEqual({ type: 'function', function: { name: short } })
    expect(messages).toMatchObject([
      {},
      { tool_calls: [{ function: { name: short } }] },
      { tool_call_id: expect.stringMatching(/^call_\w{11}$/) },
    ])
  })
})

describe('prefix', () => {
  it('wire 39: gives the same bytes twice, and those of a longer conversation begin with those of the shorter', async () => {
    const server = await serveChat(() => answer)
    const upstream = createChatUpstream({ url: server.url })
    const short = {
      ...hello,
      system: 'S',
      tools: [{ name: 'read', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'Read' },
        { role: 'assistant', content: [use('a')] },
        { role: 'user', content: [result('a', [image])] },
      ],
    }
    const more = [
      { role: 'assistant', content: 'Done' },
      { role: 'user', content: 'Again' },
    ]
    for (const messages of [short.messages, short.messages, [...short.messages, ...more]])
      await upstream.sample({ ...short, messages }, callWith())
    const [first, second, longer] = server.requests.map(({ json }) => json)
    expect(second).toBe(first)
    expect(longer!.startsWith(first!.slice(0, -']}'.length))).toBe(true)
  })
})
