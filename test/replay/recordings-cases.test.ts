// One rich recording of each format with every single change of it: what is read of it and what its replay reports.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Recording, readRecording, replayView } from '../../src/replay/index.ts'
import { effects } from '../support/variants.ts'
import { reportOn, toolsOf } from './support/transcripts.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'replay-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const NAMES = ['github/create_issue', 'github/list_issues', 'files/read_file', 'files/write_file']
const MODEL = 'claude-sonnet-5-5'

const TOOLS = toolsOf(4000, NAMES)

async function read(lines: readonly unknown[]): Promise<Recording> {
  const file = join(folder, 'session.jsonl')
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return readRecording([file])
}

/** What is read of these lines, of each list of tools its length. */
async function shown(lines: readonly unknown[]): Promise<string[]> {
  const { turns, ...rest } = await read(lines)
  return [
    ...turns.map((turn) => JSON.stringify({ ...turn, tools: turn.tools?.length })),
    JSON.stringify(rest),
  ]
}

async function view(lines: readonly unknown[], tools = TOOLS): Promise<string> {
  return replayView(await reportOn(await read(lines), tools))
}

/** The view and each turn. */
async function report(lines: readonly unknown[]): Promise<string> {
  const made = await reportOn(await read(lines), TOOLS)
  return [replayView(made), ...[...made.turns, made.total].map((part) => JSON.stringify(part))].join('\n')
}

const use = (id: string, name: string, input: object = {}) => ({ type: 'tool_use', id, name, input })
const text = (length: number) => ({ type: 'text', text: 'x'.repeat(length) })
const billed = (read: number, write: number, hour = 0) => ({
  input_tokens: 3,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write + hour,
  cache_creation: { ephemeral_5m_input_tokens: write, ephemeral_1h_input_tokens: hour },
  output_tokens: 50,
})
const line = (type: string, message: object, more: object = {}) => ({ type, uuid: 'u', message, ...more })
const wrote = (id: string, content: readonly unknown[], usage?: object, more: object = {}) =>
  line('assistant', { role: 'assistant', id, model: MODEL, content, ...(usage ? { usage } : {}), ...more })
const asked = (content: unknown, more: object = {}) => line('user', { role: 'user', content }, more)
const answer = (id: string) => asked([{ type: 'tool_result', tool_use_id: id, content: 'x'.repeat(29) }])

const claudeCode = [
  { type: 'summary', leafUuid: 'l' },
  { type: 'attachment', sessionId: 's', attachment: { type: 'deferred_tools_delta' } },
  asked('x'.repeat(2900)),
  wrote('m1', [text(58), use('s1', 'ToolSearch', { query: 'issue' })], billed(0, 5000)),
  answer('s1'),
  wrote('m2', [use('c1', 'mcp__github__create_issue')], billed(4900, 300)),
  wrote('m2', [use('c2', 'mcp__hub__CallTool', { name: 'mcp__files__read_file' })], billed(4900, 300)),
  answer('c1'),
  wrote('m3', [text(10)], undefined, { model: '<synthetic>' }),
  asked('x'.repeat(290), { isSidechain: true, parentUuid: null }),
  line(
    'assistant',
    { role: 'assistant', id: 'm4', model: MODEL, content: [use('c3', 'mcp__jira__find')] },
    {
      isSidechain: true,
    },
  ),
  asked('x', { isSidechain: true, agentId: 'a1' }),
  { type: 'system', subtype: 'compact_boundary', uuid: 'u' },
  asked('x'.repeat(580)),
  wrote('m5', [text(29)], billed(0, 700, 2000)),
  wrote('m6', [text(29), use('c4', 'mcp__files__write_file')], billed(2700, 0, 40)),
]

const item = (payload: object) => ({ type: 'response_item', payload })
const counted = (input: number, cached: number, total: number) => ({
  type: 'event_msg',
  payload: {
    type: 'token_count',
    info: {
      total_token_usage: { input_tokens: total },
      last_token_usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: 20 },
    },
  },
})
const codex = [
  { type: 'session_meta', payload: { base_instructions: { text: 'x'.repeat(290) } } },
  { type: 'turn_context', payload: { model: 'gpt-5-codex' } },
  item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x'.repeat(290) }] }),
  item({ type: 'reasoning', summary: [{ text: 'x'.repeat(29) }] }),
  item({ type: 'tool_search_call', call_id: 's1', arguments: '{"query":"issue"}' }),
  item({ type: 'tool_search_output', call_id: 's1', output: 'x'.repeat(290) }),
  item({
    type: 'function_call',
    name: 'create_issue',
    namespace: 'mcp__github__',
    call_id: 'c1',
    arguments: '{',
  }),
  counted(9000, 0, 9000),
  counted(9000, 0, 9000),
  item({ type: 'function_call_output', call_id: 'c1', output: { content: 'x' } }),
  item({ type: 'custom_tool_call', name: 'mcp__files__read_file', input: 'x'.repeat(29), call_id: 'c2' }),
  item({ type: 'local_shell_call', call_id: 'c3' }),
  counted(9100, 8960, 18_100),
  { type: 'compacted', payload: { message: 'x'.repeat(58) } },
  item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x'.repeat(29) }] }),
  { type: 'function_call', name: 'mcp__files__write_file', arguments: '{}', call_id: 'c4' },
  counted(3000, 0, 21_100),
]

const own = [
  { type: 'append', messages: [{ role: 'user', content: 'x'.repeat(290) }] },
  {
    type: 'append',
    messages: [{ role: 'assistant', content: [use('s1', 'ToolSearch', { query: 'issue' })] }],
  },
  { type: 'append', messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 's1' }] }] },
  { type: 'append', messages: [{ role: 'assistant', content: [use('c1', 'mcp__github__create_issue')] }] },
  { type: 'replace', messages: [{ role: 'user', content: 'x'.repeat(58) }] },
  {
    type: 'append',
    messages: [{ role: 'assistant', content: [use('c2', 'mcp__files__read_file'), text(29)] }],
  },
]

const tools = ['create_issue', 'read_file'].map((name) => ({
  name,
  description: `Does ${name}. ${'words '.repeat(400)}`,
  input_schema: { type: 'object', properties: {} },
}))
const functions = tools.map(({ name, description }) => ({
  type: 'function',
  function: { name, description },
}))
const http = [
  {
    url: 'https://api.example/v1/messages',
    request: {
      model: MODEL,
      max_tokens: 5,
      system: 'x'.repeat(29),
      tools,
      messages: [{ role: 'user', content: 'hi' }],
    },
    response: { role: 'assistant', content: [use('c1', 'create_issue')], usage: billed(0, 3000) },
  },
  { model: MODEL, max_tokens: 5, tools, messages: [{ role: 'user', content: 'other' }] },
  { type: 'message', role: 'assistant', content: [text(29)], usage: billed(10, 20) },
  {
    request: { model: 'gpt-5', tools: functions, messages: [{ role: 'user', content: 'x'.repeat(290) }] },
    response: {
      choices: [
        { message: { content: 'ok', tool_calls: [{ function: { name: 'read_file', arguments: '{}' } }] } },
      ],
      usage: { prompt_tokens: 900, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 100 } },
    },
  },
  {
    request: { model: 'gpt-5', input: 'x'.repeat(290), tools: [{ type: 'function', name: 'read_file' }] },
    response: {
      output: [
        { type: 'message', content: [{ type: 'output_text', text: 'x'.repeat(29) }] },
        { type: 'function_call', name: 'read_file', arguments: '{}' },
        { type: 'custom_tool_call', name: 'ToolSearch', input: '{"query":"x"}' },
        { type: 'reasoning', name: 'nothing' },
      ],
      usage: { input_tokens: 900, output_tokens: 9, input_tokens_details: { cached_tokens: 100 } },
    },
  },
  {
    url: 'https://api.example/v1/chat/completions',
    request: { model: 'gpt-5', stream: true, messages: [{ role: 'user', content: 'streamed' }] },
    response: [
      'data: {"choices":[{"delta":{"content":"ok","tool_calls":[{"index":0,"function":{"name":"read_","arguments":"{"}}]}}]}',
      'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"file","arguments":"}"}}]}}]}',
      'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}',
      'data: [DONE]',
    ].join('\n\n'),
  },
]

/** Its tools are not read but replayed. */
function withoutTools({ request, ...rest }: (typeof http)[number]): object {
  const { tools: _, ...kept } = (request ?? {}) as { tools?: unknown }
  return { ...rest, request: kept }
}

test.each([
  ['claude-code', claudeCode, claudeCode.filter((_, at) => [3, 5, 12, 14].includes(at))],
  ['codex', codex, codex.filter((_, at) => [0, 1, 2, 4, 5, 6, 7, 10].includes(at))],
  ['toolshelf', own, own.slice(1)],
  ['http', http, http.filter((_, at) => [0, 3, 4].includes(at)).map(withoutTools)],
] as const)('a recording of %s is read and replayed as it was', async (name, lines, varied) => {
  await expect(
    [await report(lines), ...(await shown(lines)), await effects(varied, shown)].join('\n'),
  ).toMatchFileSnapshot(`./recordings/${name}.txt`)
})

test('a report names everything that can be odd about a recording', async () => {
  const busy = Array.from({ length: 42 }, (_, at) =>
    wrote(`b${at}`, [use(`u${at}`, 'mcp__files__read_file')]),
  )
  const odd = [...claudeCode, 'no line', ...busy, wrote('m9', [text(1)], billed(0, 9), { model: 'nobody' })]
  const quiet = [asked('hi'), wrote('q1', [text(5)]), wrote('q2', [text(5)])]
  const noCache = { input_tokens: 9000, output_tokens: 5 }
  await expect(
    [
      await view(odd),
      await view(quiet),
      await view([
        asked('hi'),
        wrote('q1', [text(5)], noCache),
        wrote('q2', [use('c1', 'mcp__files__read_file')], noCache),
      ]),
      await view([wrote('q1', [use('c1', 'mcp__files__read_file')])], toolsOf(200, NAMES)),
      await view(quiet, []),
    ].join('\n\n'),
  ).toMatchFileSnapshot('./recordings/views.txt')
})
