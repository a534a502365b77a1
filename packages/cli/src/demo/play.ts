// Runs the demo: starts servers, sends the messages, updates the ledger. Emits events; rendering is elsewhere.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentEvent, createAgent, namedTools } from '@toolshelf/agent'
import { createChannel } from '@toolshelf/agent/internal'
import { createShelf } from '@toolshelf/core'
import type { PriceTable } from '@toolshelf/core/internal'
import { createMcpHost, type McpHost, readConfig } from '@toolshelf/mcp'
import { type OpenedClient, openScript } from '../client.ts'
import { CommandError } from '../command.ts'
import { version } from '../version.ts'
import { temporaryFolder } from './folder.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { type LongResultFigures, measureLongResult } from './long-result.ts'
import type { ConfigIn } from './servers.ts'
import { DEMO_PROMPTS, demoScript } from './task.ts'

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
