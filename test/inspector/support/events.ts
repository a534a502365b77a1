// Events of imagined conversations, for the inspector's tests.

import type { ToolView } from '../../../packages/inspector/src/api.ts'
import type { EventRecord } from '../../../packages/inspector/src/model/records.ts'
import { HOSTILE } from './tools.ts'

type Event = { readonly type: string; readonly [field: string]: unknown }

/** Stamps events as a process does: time, process, sequence, conversation. */
export function createRecorder({ start = Date.UTC(2026, 10, 16, 9), processId = 4711, step = 700 } = {}) {
  const records: EventRecord[] = []
  const add = (event: Event, conversation?: string) =>
    records.push({
      version: 1,
      time: new Date(start + records.length * step).toISOString(),
      processId,
      sequence: records.length + 1,
      ...(conversation === undefined ? {} : { conversation }),
      ...event,
    })
  return { records, add }
}

type Recorder = ReturnType<typeof createRecorder>

const MODEL = 'claude-opus-5-5'
const POOL = 'pool-1'

export function addPool({ add }: Recorder, tools: readonly ToolView[], id = POOL): void {
  const servers = [...new Set(tools.map(({ server }) => server))]
  const parts = servers.map((server) => {
    const own = tools.filter((tool) => tool.server === server)
    const [immediate, deferred] = [true, false].map((wanted) =>
      own.filter((tool) => tool.isAlwaysLoaded === wanted),
    ) as [ToolView[], ToolView[]]
    const part = `${id}-${server}`
    add({
      ...{ type: 'tools', id: part, server },
      immediate: immediate.map(({ name }) => name),
      deferred: deferred.map(({ name }) => name),
      tokens: [...immediate, ...deferred].map(({ tokens }) => tokens),
    })
    return part
  })
  const immediate = tools.filter((tool) => tool.isAlwaysLoaded).length
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0)
  add({ type: 'pool', id, parts, total: tools.length, immediate, tokens })
}

function decision(loaded: readonly string[], messages: number, pool = POOL): Event {
  return {
    type: 'decision',
    model: MODEL,
    decision: { open: true, reason: 'on', mode: 'always', wire: 'native', deferrable: 9 },
    tools: {
      visible: 3 + loaded.length,
      total: 12,
      tokensWith: 430 + 300 * loaded.length,
      tokensWithout: 7240,
    },
    ...{ pool, loaded, messages, isSubAgent: false },
  }
}

function sampled(stopReason: string, cacheRead: number, cacheWrite: number): Event {
  const usage = { input: 320, cacheRead, cacheWrite, cacheWrite1h: 0, output: 180 }
  return { type: 'sampled', model: MODEL, usage, stopReason, milliseconds: 2140 }
}

/** A chat: a search, a call, then a cache that breaks because a definition changed. */
export function addChat({ add }: Recorder, id: string): void {
  const event = (one: Event) => add(one, id)
  event({ type: 'opened', kind: 'chat', client: { name: 'toolshelf chat', version: '0.1.0' } })
  event(decision([], 1))
  event(sampled('tool_use', 0, 5400))
  event({
    ...{ type: 'searched', query: 'create an issue on github', matched: 4, ranker: 'hybrid' },
    found: ['mcp__github__create_issue', 'mcp__github__list_issues', 'mcp__github__create_pull_request'],
    ...{ scores: [0.912, 0.544, 0.31], searchable: 9, refused: 0, unsearched: ['jira'] },
  })
  event({ type: 'loaded', names: ['mcp__github__create_issue'], by: 'search' })
  event(decision(['mcp__github__create_issue'], 3))
  event({ type: 'prefix', isKept: true, causes: [], left: 0, content: [] })
  event(sampled('tool_use', 5400, 610))
  event({
    ...{ type: 'call', id: 'c1', name: 'mcp__github__create_issue', server: 'github' },
    content: { title: 'It breaks', labels: ['bug'] },
  })
  event({
    type: 'permission',
    id: 'c1',
    name: 'mcp__github__create_issue',
    server: 'github',
    isAllowed: true,
  })
  event({
    ...{ type: 'result', id: 'c1', name: 'mcp__github__create_issue', server: 'github', outcome: 'done' },
    ...{ size: 1830, milliseconds: 412, content: [{ type: 'text', text: HOSTILE.script }] },
  })
  event(decision(['mcp__github__create_issue'], 5))
  event({
    ...{ type: 'prefix', isKept: false, left: 0 },
    causes: [{ kind: 'tool-changed', name: 'mcp__files__read_file' }, { kind: 'system' }],
    content: [
      {
        before: { name: 'read_file', description: 'Read a file' },
        after: { name: 'read_file', description: 'Read the complete contents of a file' },
      },
      { before: 'You are helpful.\nToday is Monday.', after: 'You are helpful.\nToday is Tuesday.' },
    ],
  })
  event(sampled('end_turn', 0, 6300))
  event({ type: 'compacted', trigger: 'auto', before: 40, after: 6 })
}

/** An MCP client: no requests are seen, only searches, lists and calls. */
export function addMcpClient({ add }: Recorder, id: string): void {
  const event = (one: Event) => add(one, id)
  event({ type: 'opened', kind: 'mcp', client: { name: HOSTILE.ansi, version: '1' } })
  event({
    ...{
      type: 'searched',
      query: HOSTILE.bidi,
      matched: 1,
      ranker: 'hybrid',
      found: ['mcp__slack__post_message'],
    },
    ...{ scores: [0.7], searchable: 9, refused: 0, unsearched: [] },
  })
  event({ type: 'loaded', names: ['mcp__slack__post_message'], by: 'search' })
  event({
    ...{ type: 'listed', mode: 'list', pool: POOL, loaded: ['mcp__slack__post_message'] },
    tools: { visible: 4, total: 12, tokensWith: 640, tokensWithout: 7240 },
  })
  event({ type: 'call', id: '1', name: 'mcp__slack__post_message', server: 'slack' })
  event({
    ...{ type: 'result', id: '1', name: 'mcp__slack__post_message', server: 'slack', outcome: 'failed' },
    ...{ size: 90, milliseconds: 1210 },
  })
}

/** A client of `serve`, whose gateway counts tokens and money itself. */
export function addServed({ add }: Recorder, id: string, requests = 6): void {
  const event = (one: Event) => add(one, id)
  event({ type: 'opened', kind: 'serve', client: { name: 'claude-cli', version: '2.9.1' } })
  for (let at = 0; at < requests; at++)
    event({
      ...{ type: 'answered', status: 200, milliseconds: 2300, model: MODEL, mode: 'shelve', wire: 'native' },
      ...{ why: 'The client sent 140 tools.', toolsGiven: 140, toolsVisible: 22, searches: at === 0 ? 1 : 0 },
      ...{ loaded: [], rounds: at === 0 ? 2 : 1, api: 'messages', tokensWithout: 31_000 + at * 900 },
      ...{ tokensWith: 9_000 + at * 900, dollarsWithout: 0.031, dollarsWith: 0.012 },
    })
}

export function sampleEvents(tools: readonly ToolView[]): EventRecord[] {
  const recorder = createRecorder()
  addPool(recorder, tools)
  recorder.add({ type: 'server', server: 'github', state: 'connected', tools: 5, startMilliseconds: 812 })
  addServed(recorder, 'a'.repeat(32))
  addMcpClient(recorder, 'b'.repeat(32))
  addChat(recorder, 'c'.repeat(32))
  return recorder.records
}

/** Many short conversations. */
export function manyEvents(count: number, tools: readonly ToolView[]): EventRecord[] {
  const recorder = createRecorder({ step: 250 })
  addPool(recorder, tools)
  for (let at = 0; recorder.records.length < count; at++) {
    const id = at.toString(16).padStart(32, '0')
    if (at % 2 === 0) addChat(recorder, id)
    else addServed(recorder, id, 20)
  }
  return recorder.records.slice(0, count)
}
