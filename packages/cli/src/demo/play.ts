// Runs the demo: starts servers, sends the messages, updates the ledger. Emits events; rendering is elsewhere.
// A script answers instead of a model; the tools that it calls are real.
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AgentEvent, createAgent, namedTools } from '@toolshelf/agent'
import { createChannel } from '@toolshelf/agent/internal'
import { createShelf, estimateTokens, type ToolResult } from '@toolshelf/core'
import type { PriceTable } from '@toolshelf/core/internal'
import { createMcpHost, type McpHost, readConfig } from '@toolshelf/mcp'
import { type ModelScript, readScript } from '@toolshelf/messages/internal'
import { type OpenedClient, openScript } from '../client.ts'
import { CommandError } from '../command.ts'
import { version } from '../version.ts'
import { createLedger, type Ledger } from './ledger.ts'
import type { ConfigIn } from './servers.ts'

/** What the demo reports while it runs. */
export type DemoEvent =
  | {
      readonly type: 'servers'
      readonly isSettled: boolean
      readonly servers: readonly { readonly name: string; readonly tools: number; readonly state: string }[]
    }
  | { readonly type: 'prompt'; readonly text: string }
  | { readonly type: 'agent'; readonly event: AgentEvent }
  | { readonly type: 'turn'; readonly ledger: Ledger }
  | {
      readonly type: 'done'
      readonly ledger: Ledger
      /** What one long result costs; undefined if the server returned none. */
      readonly longResult: LongResultFigures | undefined
    }

/** Longer than a server may take to connect, so that a slow machine shows the same figures. */
const SERVERS_WAIT_MS = 90_000

type DemoOptions = {
  readonly configIn: ConfigIn
  /** A real model; the script by default. */
  readonly live: OpenedClient | undefined
  readonly prices: PriceTable
  /** The model whose prices apply to a script. */
  readonly pricedAs: string
  /** Reports servers that are missing from the figures. */
  readonly notify?: (message: string) => void
  /** Ends the demo early and cleans up. */
  readonly signal: AbortSignal
}

/** Runs the demo and yields its events. */
export async function* playDemo(options: DemoOptions): AsyncGenerator<DemoEvent> {
  const { folder, remove } = await temporaryFolder()
  try {
    const opened = options.live ?? (await openScript(demoScript(folder), 'a script'))
    try {
      yield* playIn(folder, opened, options)
    } finally {
      await opened.close()
    }
  } finally {
    remove()
  }
}

async function* playIn(
  folder: string,
  { client, model, isScript }: OpenedClient,
  options: DemoOptions,
): AsyncGenerator<DemoEvent> {
  const { configIn, prices, pricedAs, signal } = options
  const file = join(folder, 'mcp.json')
  await writeFile(file, JSON.stringify(configIn(folder)))
  const { servers } = await readConfig([file])
  const notify = () => {}
  const shelf = createShelf({ notify, toolSearch: true, rank: 'hybrid' })
  const host = createMcpHost({
    shelf,
    servers,
    notify,
    cacheFolder: join(folder, 'cache'),
    clientInfo: { name: 'toolshelf', version: version() },
  })
  const ledger = createLedger({ shelf, prices, model: isScript ? pricedAs : model, isScript })
  const system = `You work in ${folder}. Use the tools you have; load further ones with ToolSearch.`
  const agent = createAgent({
    client,
    model,
    shelf,
    runner: host,
    system,
    preload: (text) => namedTools(shelf, text),
  })
  try {
    host.start()
    yield* connecting(host, signal)
    if (!signal.aborted) reportMissing(host, options.notify)
    for (const prompt of DEMO_PROMPTS) {
      if (signal.aborted) return
      yield { type: 'prompt', text: prompt }
      ledger.begin(prompt)
      yield* playTurn(agent.send(prompt, { signal }), ledger)
      yield { type: 'turn', ledger }
    }
    if (signal.aborted) return
    const longResult = await measureLongResult(host, folder)
    yield { type: 'done', ledger, longResult }
  } finally {
    await host.close()
  }
}

async function* playTurn(events: AsyncIterable<AgentEvent>, ledger: Ledger): AsyncGenerator<DemoEvent> {
  for await (const event of events) {
    ledger.follow(event)
    yield { type: 'agent', event }
    if (event.type === 'end' && event.reason !== 'done' && event.reason !== 'stopped')
      throw new CommandError(`the demo's agent ended (${event.reason}): ${event.error ?? ''}`)
  }
}

function reportMissing(host: McpHost, notify: DemoOptions['notify']): void {
  for (const { name, state, reason } of host.status())
    if (state !== 'connected')
      notify?.(`"${name}" is not connected (${reason ?? state}): the figures are without its tools.`)
}

/** Yields the state of the servers at each change until none is pending. */
async function* connecting(host: McpHost, signal: AbortSignal): AsyncGenerator<DemoEvent> {
  const changes = createChannel<DemoEvent>()
  const notify = (isSettled = false) =>
    changes.push({
      type: 'servers',
      isSettled,
      servers: host.status().map(({ name, state, tools }) => ({ name, state, tools: tools.length })),
    })
  const stop = host.listen(() => notify())
  notify()
  const end = () => {
    notify(true)
    stop()
    changes.close()
  }
  signal.addEventListener('abort', end, { once: true })
  void host.settled({ timeoutMs: SERVERS_WAIT_MS }).finally(end)
  yield* changes
  signal.removeEventListener('abort', end)
}

/** The user's messages. */
const DEMO_PROMPTS: readonly string[] = [
  'Write down in notes.md: the launch is on Friday, Ada leads it.',
  'Remember that Ada leads the launch, for all later sessions.',
  'Ask get-sum: the budget has 1250 for the venue and 380 for food. What is the sum?',
  'What do the notes say, and what do you remember about Ada?',
]

/** Returns the script. Each of its answers needs tools that the model cannot see at first. */
function demoScript(folder: string): ModelScript {
  const notes = join(folder, 'notes.md')
  const content = '# Launch\n- on Friday\n- led by Ada\n'
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['leads the launch'] }]
  return readScript({
    rules: [
      {
        when: 'Write down',
        do: [
          { say: 'I need a tool that writes files.' },
          { call: 'mcp__filesystem__write_file', input: { path: notes, content }, search: 'write file' },
          { say: 'Done: the notes are in notes.md.' },
        ],
      },
      {
        when: 'Remember that',
        do: [
          {
            call: 'mcp__memory__create_entities',
            input: { entities },
            search: 'remember facts knowledge graph create',
          },
          { say: 'I will remember that Ada leads the launch.' },
        ],
      },
      {
        when: 'What is the sum',
        do: [
          { call: 'mcp__everything__get-sum', input: { a: 1250, b: 380 }, search: 'add two numbers' },
          { say: 'That makes 1630.' },
        ],
      },
      {
        when: 'What do the notes say',
        do: [
          {
            calls: [
              { call: 'mcp__filesystem__read_text_file', input: { path: notes }, search: 'read text file' },
              {
                call: 'mcp__memory__search_nodes',
                input: { query: 'Ada' },
                search: 'search knowledge graph',
              },
            ],
          },
          { say: 'The notes say that the launch is on Friday. I remember that Ada leads it.' },
        ],
      },
    ],
  })
}

async function temporaryFolder(): Promise<{ readonly folder: string; readonly remove: () => void }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolshelf-demo-'))
  const remove = () => {
    process.off('exit', remove)
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', remove)
  return { folder, remove }
}

export type LongResultFigures = {
  /** Characters of the result. */
  readonly characters: number
  /** Tokens of the whole result. */
  readonly tokensWithout: number
  /** Tokens of its preview, and of a search for the error in it. */
  readonly tokensWith: number
}

const LINES = 2000
const READ = 'mcp__filesystem__read_text_file'

/** Measures the result; undefined if the server does not return the whole log. */
async function measureLongResult(host: McpHost, folder: string): Promise<LongResultFigures | undefined> {
  const path = join(folder, 'build.log')
  await writeFile(path, log())
  const call = { id: 'toolu_log', name: READ, input: { path } }
  const whole = await host.run(call)
  const shelf = createShelf({ results: true, notify: () => {} })
  const preview = await shelf.shelve(call, whole)
  const [kept] = shelf.results()
  if (!kept) return undefined
  const search = { handle: kept.handle, search: 'ERROR' }
  const read = await shelf.answer({ id: 'toolu_read', name: 'ReadResult', input: search })
  return {
    characters: kept.size,
    tokensWithout: tokensOf(whole),
    tokensWith: tokensOf(preview) + (read ? tokensOf(read) : 0),
  }
}

/** The same on every run. */
function log(): string {
  return Array.from({ length: LINES }, (_, line) => {
    const time = `2026-11-17T10:${String(Math.floor(line / 60) % 60).padStart(2, '0')}:${String(line % 60).padStart(2, '0')}Z`
    return line === 1311
      ? `${time} ERROR test launch-date: expected Friday, got Thursday`
      : `${time} INFO  built module ${line} of ${LINES}`
  }).join('\n')
}

function tokensOf({ content }: ToolResult): number {
  return content.reduce((sum, block) => sum + (block.type === 'text' ? estimateTokens(block.text) : 0), 0)
}
