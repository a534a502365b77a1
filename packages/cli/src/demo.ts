// `toolshelf demo`: shows what Toolshelf saves, on real MCP servers and without a key.
import { toJson } from '@toolshelf/core/internal'
import { loadView, modelOptions, onInterrupt, openClient } from './client.ts'
import { type Command, type ExitCode, foldedLine, type Input, screenOf, type Terminal } from './command.ts'
import { type InstallOptions, provideServers } from './demo/install.ts'
import { plainLines } from './demo/plain.ts'
import { type DemoEvent, playDemo } from './demo/play.ts'
import { type ConfigIn, demoConfig } from './demo/servers.ts'
import { MODEL, pricesIn, pricesOption } from './prices.ts'

/** What `--live` without a model advises. */
const WITHOUT_MODEL = 'leave out --live: the demo then needs no model'

export const demoCommand: Command = {
  name: 'demo',
  summary:
    'Shows what is saved, on real MCP servers, without a key. Installs the servers from npm into your cache at the first run; afterwards it needs no network.',
  words: '[--json] [--live]',
  noArguments: 'the demo has options only',
  options: {
    live: { about: 'use a real model; needs ANTHROPIC_API_KEY or --base-url' },
    model: modelOptions.model!,
    'base-url': modelOptions['base-url']!,
    ...pricesOption,
    plain: { about: 'print lines instead of drawing, as when piped' },
    json: { about: 'print the ledger as one JSON document' },
  },
  examples: ['toolshelf demo', 'toolshelf demo --json', 'ANTHROPIC_API_KEY=… toolshelf demo --live'],
  run: (input, terminal) => runDemo(input, terminal),
}

/** Finds or installs the demo's servers; undefined if the user interrupted. */
async function provideConfig(options: InstallOptions): Promise<ConfigIn | undefined> {
  const packages = await provideServers(options)
  return packages === undefined ? undefined : (folder) => demoConfig(packages, folder)
}

/** `provide` finds or installs the servers. */
export async function runDemo(
  input: Input,
  terminal: Terminal,
  provide: typeof provideConfig = provideConfig,
): Promise<ExitCode> {
  const live = input.isSet('live') ? await openClient(input, process.env, WITHOUT_MODEL) : undefined
  const prices = await pricesIn(input)
  const pricedAs = input.text('model') ?? MODEL
  const stop = new AbortController()
  const forget = onInterrupt(stop)
  try {
    const configIn = await provide({ notify: terminal.report, signal: stop.signal })
    if (configIn === undefined) return 130
    const { signal } = stop
    const playing = { configIn, live, prices, pricedAs, notify: terminal.report, signal }
    await show(playDemo(playing), live?.about, input, terminal)
  } finally {
    forget()
  }
  return stop.signal.aborted ? 130 : 0
}

async function show(
  events: AsyncIterable<DemoEvent>,
  live: string | undefined,
  input: Input,
  terminal: Terminal,
): Promise<void> {
  if (input.isSet('json')) return printJson(events, terminal)
  if (terminal.isInteractive && !input.isSet('plain')) {
    const { showDemo } = await loadView(() => import('./demo/view.tsx'))
    return showDemo(events, live, screenOf(terminal))
  }
  for await (const event of events) for (const line of plainLines(event, live)) print(line, terminal)
}

function print(line: string, terminal: Terminal): void {
  terminal.print(terminal.isInteractive ? foldedLine(line) : line)
}

async function printJson(events: AsyncIterable<DemoEvent>, terminal: Terminal): Promise<void> {
  for await (const event of events) {
    if (event.type !== 'done') continue
    const { ledger, longResult } = event
    terminal.print(toJson({ turns: ledger.turns, total: ledger.total(), longResult }))
  }
}
