// The formats that a replay reads: whole, damaged, hostile and large.
import { appendFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readRecording, replayView, TranscriptError } from '../../src/replay/index.ts'
import {
  call,
  claude,
  codex,
  MODEL,
  replayed,
  result,
  SECRET,
  tokenCount,
  toolsOf,
  transcript,
  usage,
} from './support/transcripts.ts'

const said = { role: 'user', content: SECRET }

describe('our own sessions', () => {
  const search = call('ToolSearch', { query: 'create an issue' })
  const found = {
    ...result(search.id),
    content: [{ type: 'tool_reference', tool_name: 'mcp__github__create_issue' }],
  }
  const lines = [
    { type: 'append', messages: [said, { type: 'deferred_tools_delta', role: 'user', content: SECRET }] },
    { type: 'append', messages: [{ role: 'assistant', content: [search] }], state: {} },
    { type: 'append', messages: [{ role: 'user', content: [found] }] },
    { type: 'append', messages: [{ role: 'assistant', content: [call('mcp__github__create_issue')] }] },
    { type: 'state', state: {} },
  ]

  test('are replayed with the queries that were typed', async () => {
    const { report } = await replayed(transcript(lines))
    expect(report).toMatchObject({
      format: 'toolshelf',
      wire: 'reference',
      recording: { turns: 1, isDeferring: true },
    })
    expect(report.turns[0]?.search).toMatchObject({ recorded: 1, simulated: 0 })
    expect(report.turns[0]?.search?.loaded).toContain('mcp__github__create_issue')
    expect(replayView(report) + JSON.stringify(report)).not.toMatch(/create an issue|hunter2/)
  })

  test('need another search where the query does not find the tool that was called', async () => {
    const other = {
      type: 'append',
      messages: [{ role: 'assistant', content: [call('mcp__files__read_file')] }],
    }
    const { report } = await replayed(transcript([...lines.slice(0, 3), other]), toolsOf(60_000, MANY))
    expect(report.turns[0]?.search).toMatchObject({ recorded: 1, simulated: 1 })
  })

  test('that were compacted continue with the summary', async () => {
    const replaced = { type: 'replace', messages: [{ role: 'user', content: 'x'.repeat(2900) }] }
    const reply = { type: 'append', messages: [{ role: 'assistant', content: 'done' }] }
    const { report } = await replayed(transcript([...lines, replaced, reply]))
    expect(report.turns[1]).toMatchObject({ brokenBy: 'compaction', conversationTokens: 1000 })
  })
})

/** Enough tools that a search by words does not load all of them. */
const MANY = [
  'github/create_issue',
  'files/read_file',
  ...Array.from({ length: 12 }, (_, at) => `github/issue_tool_${at}`),
]

describe('sessions of Codex', () => {
  const asked = codex('response_item', {
    type: 'message',
    role: 'user',
    content: [{ type: 'input_text', text: SECRET }],
  })
  const named = (name: string, more: object = {}) =>
    codex('response_item', { type: 'function_call', name, arguments: '{}', call_id: 'c1', ...more })
  const output = codex('response_item', { type: 'function_call_output', call_id: 'c1', output: SECRET })
  const context = (model: string) => codex('turn_context', { model, cwd: '/' })

  test('have one turn per sampling, with the usage that follows it', async () => {
    const { report, recording } = await replayed(
      transcript([
        codex('session_meta', { id: 's', base_instructions: { text: SECRET } }),
        context('gpt-5-codex'),
        asked,
        codex('response_item', { type: 'reasoning', summary: [], encrypted_content: SECRET }),
        named('mcp__github__create_issue'),
        tokenCount(9000, 0, 9000),
        tokenCount(9000, 0, 9000),
        output,
        named('create_issue', { namespace: 'mcp__github__' }),
        tokenCount(9100, 8960, 18_100),
        context('gpt-5.2'),
        codex('response_item', {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: SECRET }],
        }),
        tokenCount(9200, 0, 27_300),
      ]),
    )
    expect(recording).toMatchObject({ format: 'codex', unreadable: 0 })
    expect(report.wire).toBe('bridge')
    expect(report.turns.map(({ model, calls }) => [model, calls])).toEqual([
      ['gpt-5-codex', ['mcp__github__create_issue']],
      ['gpt-5-codex', ['mcp__github__create_issue']],
      ['gpt-5.2', []],
    ])
    expect(recording.turns.map((turn) => turn.usage?.cacheRead)).toEqual([0, 8960, 0])
    expect(recording.turns.map((turn) => turn.usage?.input)).toEqual([9000, 140, 9200])
    expect(report.turns.map(({ brokenBy }) => brokenBy)).toEqual([null, null, 'model'])
    expect(report.total.pricedAs).toBeNull()
  })

  test('may call through a gateway and search by themselves; messages are measured', async () => {
    const given = { arguments: JSON.stringify({ name: 'mcp__github__create_issue', arguments: {} }) }
    const { report, recording } = await replayed(
      transcript([
        codex('response_item', {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'x'.repeat(290) }],
        }),
        codex('response_item', {
          type: 'tool_search_call',
          call_id: 's1',
          arguments: { query: 'create issue' },
        }),
        codex('response_item', { type: 'tool_search_output', call_id: 's1', output: 'x'.repeat(29_000) }),
        named('mcp__toolshelf__CallTool', given),
        codex('response_item', {
          type: 'function_call_output',
          call_id: 'c1',
          output: { content: 'x'.repeat(290) },
        }),
        codex('response_item', {
          type: 'custom_tool_call',
          name: 'apply_patch',
          input: 'x'.repeat(290),
          call_id: 'c2',
        }),
        codex('response_item', {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'x' }],
        }),
        codex('response_item', { type: 'message', role: 'assistant', content: [] }),
      ]),
    )
    expect(recording.isDeferring).toBe(true)
    expect(report.turns[0]).toMatchObject({ calls: ['mcp__github__create_issue'], conversationTokens: 100 })
    expect(report.turns[0]?.search).toMatchObject({ recorded: 1, simulated: 0 })
    const characters = 290 + given.arguments.length + JSON.stringify({ content: 'x'.repeat(290) }).length
    expect(report.turns.map((turn) => turn.conversationTokens)).toEqual(
      [290, characters, characters + 291].map((size) => Math.ceil(size / 2.9)),
    )
  })

  test('may be compacted, and may be of the first version, without envelopes', async () => {
    const { report } = await replayed(
      transcript([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: SECRET }] },
        { type: 'function_call', name: 'github__create_issue', arguments: '{', call_id: 'c1' },
        { type: 'function_call_output', call_id: 'c1', output: SECRET },
        codex('compacted', { message: 'x'.repeat(290), replacement_history: null }),
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: SECRET }] },
      ]),
    )
    expect(report.turns).toHaveLength(2)
    expect(report.turns[0]?.calls).toEqual(['mcp__github__create_issue'])
    expect(report.turns[1]).toMatchObject({ brokenBy: 'compaction', conversationTokens: 100 })
  })
})

const definition = (name: string) => ({
  name,
  description: SECRET.repeat(100),
  input_schema: { type: 'object' },
})
const definitions = ['mcp__github__create_issue', 'mcp__files__read_file', 'Bash'].map(definition)
const used = { role: 'assistant', content: [call('mcp__github__create_issue', {}, 'c1')] }
const requests = [
  { model: MODEL, max_tokens: 10, system: SECRET, tools: definitions, messages: [said] },
  {
    ...{ model: MODEL, max_tokens: 10, system: SECRET, tools: definitions },
    messages: [said, used, { role: 'user', content: [result('c1')] }],
  },
]
const replies = [
  { type: 'message', ...used, usage: usage(0, 8000) },
  { type: 'message', role: 'assistant', content: [{ type: 'text', text: SECRET }], usage: usage(8000, 60) },
]

function har(entries: readonly { request: object; reply: unknown; isEncoded?: boolean }[]): string {
  const log = {
    version: '1.2',
    pages: [{ id: 'p', title: '}]}"\\{[{' }],
    entries: entries.map(({ request, reply, isEncoded = false }) => {
      const text = typeof reply === 'string' ? reply : JSON.stringify(reply)
      return {
        request: {
          method: 'POST',
          url: 'https://api.anthropic.com/v1/messages',
          postData: { text: JSON.stringify(request) },
        },
        response: {
          content: isEncoded ? { text: Buffer.from(text).toString('base64'), encoding: 'base64' } : { text },
        },
      }
    }),
  }
  return JSON.stringify({ log }, null, 1)
}

describe('HTTP logs', () => {
  test('bring their own tools: a HAR file with whole, streamed and encoded replies', async () => {
    const stream = [
      { type: 'message_start', message: { role: 'assistant', usage: usage(0, 8000, 1) } },
      { type: 'content_block_start', index: 0, content_block: call('mcp__github__create_issue', {}, 'c1') },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 40 } },
    ]
    const text = stream.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    expect((await readRecording([transcript([`\uFEFF \n${har([])}`])])).format).toBe('http')
    for (const first of [{ reply: replies[0] }, { reply: text }, { reply: text, isEncoded: true }]) {
      const entries = [
        { request: requests[0] ?? {}, ...first },
        { request: requests[1] ?? {}, reply: replies[1] },
      ]
      const { report } = await replayed(transcript([har(entries)], 'capture.har'), [])
      expect(report).toMatchObject({
        format: 'http',
        wire: 'reference',
        recording: { turns: 2, conversations: 1 },
      })
      // Bash is a tool that every agent needs: toolshelf serve does not defer it.
      expect(report.tools).toMatchObject({ tools: 3, deferred: 2 })
      expect(report.turns[0]).toMatchObject({
        calls: ['mcp__github__create_issue'],
        search: { simulated: 1 },
      })
      expect(report.turns[1]).toMatchObject({ search: null, prefixKept: true })
      expect(JSON.stringify(report)).not.toContain(SECRET)
    }
  })

  test('may change their tools on the way, which breaks the prefix on both sides', async () => {
    const fewer = { ...requests[1], tools: definitions.slice(1) }
    const lines = [requests[0], fewer].map((request, at) => ({ request, response: replies[at] }))
    const { report } = await replayed(transcript(lines), [])
    expect(report.turns.map(({ brokenBy }) => brokenBy)).toEqual([null, 'tools'])
    expect(report.turns[1]?.definitionsWithout).toBeLessThan(report.turns[0]?.definitionsWithout ?? 0)
  })

  test('may be JSON lines: both bodies in one, or one after the other', async () => {
    const together = requests.map((request, at) => ({
      request: { body: request },
      response: { body: replies[at] },
    }))
    const apart = requests.flatMap((request, at) => [request, replies[at] ?? {}])
    const { report: one } = await replayed(transcript(together), [])
    const { report: two } = await replayed(transcript(apart), [])
    expect(one.turns.map(({ calls }) => calls.length)).toEqual([1, 0])
    expect(two.turns).toEqual(one.turns)
  })

  test('may be of OpenAI’s two APIs', async () => {
    const parameters = {
      type: 'object',
      properties: { text: { type: 'string', description: SECRET.repeat(100) } },
    }
    const chat = {
      request: {
        model: 'gpt-5',
        tools: ['create_issue', 'close_issue'].map((name) => ({
          type: 'function',
          function: { name, parameters },
        })),
        messages: [said],
      },
      response: {
        choices: [
          {
            message: {
              role: 'assistant',
              tool_calls: [{ function: { name: 'create_issue', arguments: '{}' } }],
            },
          },
        ],
        usage: { prompt_tokens: 5000, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 1024 } },
      },
    }
    const responses = {
      request: {
        model: 'gpt-5',
        tools: ['create_issue', 'close_issue'].map((name) => ({ type: 'function', name, parameters })),
        input: [{ type: 'message', role: 'user', content: SECRET }],
      },
      response: {
        output: [{ type: 'function_call', name: 'create_issue', arguments: '{}', call_id: 'c' }],
        usage: { input_tokens: 5000, output_tokens: 9, input_tokens_details: { cached_tokens: 1024 } },
      },
    }
    for (const exchange of [chat, responses]) {
      const { report, recording } = await replayed(transcript([exchange]), [])
      expect(report).toMatchObject({ wire: 'bridge', tools: { tools: 2, deferred: 2 } })
      expect(report.turns[0]?.calls).toEqual(['create_issue'])
      expect(recording.turns[0]?.usage).toMatchObject({ input: 3976, cacheRead: 1024 })
    }
  })

  test('distinguish conversations, and an edited history from a continued one', async () => {
    const other = { ...requests[0], messages: [{ role: 'user', content: 'other' }] }
    const edited = { ...requests[1], messages: [said, { role: 'assistant', content: 'summary' }, said] }
    const lines = [requests[0], other, requests[1], edited].map((request, at) => ({
      request,
      response: replies[at % 2],
    }))
    const { report } = await replayed(transcript(lines), [])
    expect(report.turns.map(({ lane, brokenBy }) => [lane, brokenBy])).toEqual([
      ['main', null],
      ['conversation 2', null],
      ['main', null],
      ['main', 'compaction'],
    ])
  })
})

describe('damaged and hostile files', () => {
  test('lose only the lines that cannot be read, such as a last one that was cut off', async () => {
    const file = transcript(['{"type":', '[1]', '', claude('user', SECRET), claude('assistant', 'hello')])
    appendFileSync(file, JSON.stringify(claude('assistant', 'cut')).slice(0, 40))
    const { report, recording } = await replayed(file)
    expect(report.turns).toHaveLength(1)
    expect(recording.unreadable).toBe(3)
    expect(replayView(report)).toContain('Left out: 3 lines that could not be read.')
  })

  test('that end in the middle of a HAR entry count the whole entries', async () => {
    const entry = { request: requests[0] ?? {}, reply: replies[0] }
    const file = transcript([har([entry, entry]).slice(0, -400)], 'capture.har')
    const recording = await readRecording([file])
    expect(recording).toMatchObject({ unreadable: 1, turns: [{ calls: ['mcp__github__create_issue'] }] })
  })

  test('cannot steer the terminal', async () => {
    const evil = call('mcp__github__\u001b[2J\u202eevil')
    const { report } = await replayed(
      transcript([claude('assistant', [evil], { model: '\u001b]0;x\u0007m' })]),
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(replayView(report)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
  })

  test('may be nested without end, or hold anything at any place', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const odd = [
      null,
      1,
      'x',
      [],
      { content: 1 },
      { content: [null, 1, { type: 'tool_use' }, { type: 'tool_result' }] },
    ]
    const file = transcript([
      claude('user', SECRET),
      `{"type":"user","message":{"role":"user","content":${deep}}}`,
      ...odd.map((message) => ({ ...claude('assistant', ''), message })),
      claude('assistant', 'fine', { usage: { input_tokens: -1, output_tokens: 'x' } }),
    ])
    const { report } = await replayed(file)
    expect(report.turns.at(-1)?.figures.tokensWith).toBeGreaterThan(0)
  })

  test('that are not transcripts are refused', async () => {
    await expect(readRecording([transcript(['hello', '{"a":1}'])])).rejects.toThrow(TranscriptError)
    await expect(readRecording([transcript([])])).rejects.toThrow('not a transcript')
    await expect(readRecording(['/dev/null'])).rejects.toThrow('regular file')
  })

  test('with other languages are measured like any', async () => {
    const { report } = await replayed(
      transcript([claude('user', '天気はどうですか？'), claude('assistant', 'はい')]),
    )
    expect(report.turns[0]?.conversationTokens).toBe(4)
  })

  test('may have lines longer than any memory: they are skipped', async () => {
    const file = transcript([claude('user', SECRET), claude('assistant', 'hello')])
    writeFileSync(file, `{"type":"user","message":{"role":"user","content":"`, { flag: 'a' })
    for (let part = 0; part < 66; part++) appendFileSync(file, Buffer.alloc(1_000_000, 120))
    appendFileSync(file, `"}}\n${JSON.stringify(claude('assistant', 'again'))}\n`)
    const recording = await readRecording([file])
    expect(recording).toMatchObject({ unreadable: 1 })
    expect(recording.turns).toHaveLength(2)
  })
})
