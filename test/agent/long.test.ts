// Two hundred turns with compactions, servers that come and go, sub-agents and resumes: at the end every tool can be
// called, nothing loaded was lost, and the API would have taken every request.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createAgent } from '../../packages/agent/src/agent.ts'
import { createAgentTool } from '../../packages/agent/src/sub-agent.ts'
import { openTranscript, readTranscript } from '../../packages/agent/src/transcript.ts'
import type { Agent, AgentEvent, AgentTool } from '../../packages/agent/src/types.ts'
import type { Shelf } from '../../packages/core/src/index.ts'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import {
  echo,
  endOf,
  heard,
  lines,
  MODEL,
  type Model,
  refusals,
  runnerOn,
  said,
  scripted,
  serverTools,
  shelfWith,
  whole,
} from './support.ts'

const TURNS = sizeOf({ quick: 36, full: 200 })
const SERVERS = ['north', 'south', 'east', 'west', 'middle']
const VERBS = ['open', 'close', 'paint', 'measure']
const ALL = SERVERS.flatMap((server) => VERBS.map((verb) => ({ server, tool: `${server}_${verb}` })))
const toolsOf = (server: string) => serverTools(server, ...VERBS.map((verb) => `${server}_${verb}`))

const call = { call: '/__{{1}}$/', input: { city: 'Oslo' } }
const script = scripted(
  { when: 'use (\\w+)', do: [call, { say: '{{result}}' }] },
  {
    when: 'delegate (\\w+) (\\w+)',
    do: [{ calls: ['1', '2'].map(delegated) }, { say: '{{result}}' }],
  },
  {
    when: 'echo',
    do: [{ calls: [{ call: 'Echo' }, { call: 'Echo', input: { text: 'hi' } }] }, { say: '{{result}}' }],
  },
  { do: [{ say: 'ok' }] },
)
function delegated(group: string) {
  return { call: 'Agent', input: { description: 'sub', prompt: `use {{${group}}}` } }
}

type Session = { readonly agent: Agent; readonly shelf: Shelf; readonly ran: string[] }

/** A session restored from its file, as a new process would restore it. */
function open({ client }: Model, file: string, isNew: boolean, contextWindow = 4000): Session {
  const saved = isNew ? undefined : readTranscript(file)
  const shelf = shelfWith(SERVERS.flatMap(toolsOf), {
    ...{ maxResults: 1, pendingWaitMs: 1 },
    ...(saved?.state ? { state: saved.state } : {}),
  })
  const runner = runnerOn(shelf)
  const transcript = openTranscript(file, (message) => expect.fail(message))
  const shared = { client, model: MODEL, shelf, runner, contextWindow }
  const tools: AgentTool[] = [echo('Echo'), createAgentTool(() => ({ ...shared, tools }))]
  const agent = createAgent({
    ...shared,
    tools,
    messages: saved?.messages ?? [],
    onHistory(change) {
      transcript.write(change)
      transcript.write({ type: 'state', state: shelf.state() })
    },
  })
  return { agent, shelf, ran: runner.ran }
}

/** Servers go away, wait, fail and come back. */
function reconnect(shelf: Shelf, turn: number): void {
  const server = SERVERS[turn % SERVERS.length]!
  const before = SERVERS[(turn + SERVERS.length - 1) % SERVERS.length]!
  if (turn % 6 === 1) shelf.remove({ server })
  if (turn % 6 === 1) shelf.pending(server)
  if (turn % 6 === 2) shelf.setServer(before, { state: 'connected' })
  if (turn % 6 === 2) shelf.replace(before, toolsOf(before).toReversed())
  if (turn % 6 === 4) shelf.failed(server, new Error('the line is dead'))
  if (turn % 6 === 5) shelf.setServer(before, { state: 'connected' })
}

function messageFor(turn: number): string {
  const one = ALL[(turn * 7) % ALL.length]!.tool
  const other = ALL[(turn * 3 + 1) % ALL.length]!.tool
  if (turn % 13 === 5) return `delegate ${one} ${other}`
  if (turn % 5 === 3) return 'echo'
  return turn % 9 === 8 ? 'hello' : `use ${one}`
}

const loadedBy = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'result' ? event.loaded : []))

test('a long conversation loses nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-long-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'talk.jsonl')
  const model = whole(script)
  let session = open(model, file, true)
  const loaded = new Set<string>()
  const happened = { compacted: 0, inside: 0, resumed: 0 }

  for (let turn = 0; turn < TURNS; turn++) {
    if (turn % 31 === 30) {
      session = open(model, file, false)
      happened.resumed++
    }
    reconnect(session.shelf, turn)
    const events = await said(session.agent, messageFor(turn))
    if (turn % 23 === 22) events.unshift(...(await heard(session.agent.compact())))
    for (const name of loadedBy(events)) loaded.add(name)
    happened.compacted += events.filter(({ type }) => type === 'compacted').length
    happened.inside += events.filter(({ type }) => type === 'inside').length
    expect(endOf(events), `turn ${turn}`).toEqual({ type: 'end', reason: 'done' })
    expect(refusals(model), `turn ${turn}`).toEqual([])
  }
  expect(happened.resumed).toBe(Math.floor(TURNS / 31))
  expect(happened.compacted).toBeGreaterThan(TURNS / 10)
  expect(happened.inside).toBeGreaterThan(TURNS / 2)
  expect(loaded.size).toBeGreaterThan(10)

  session = open(model, file, false, 200_000)
  for (const { server, tool } of ALL) {
    const events = await said(session.agent, `use ${tool}`)
    expect(session.ran.at(-1)).toBe(`${server}/${tool}`)
    const isSearched = lines(events).includes('call ToolSearch')
    expect(isSearched, tool).toBe(!loaded.has(`mcp__${server}__${tool}`))
  }
  expect(refusals(model)).toEqual([])
})
