// `toolshelf demo`: what Toolshelf saves, on real MCP servers, without a key and without a network.
import { modelOptions, openClient } from './client.ts'
import { type Command, CommandError, type Input, type Terminal } from './command.ts'
import { plainLines } from './demo/plain.ts'
import { type DemoEvent, playDemo } from './demo/play.ts'
import { onInterrupt } from './interrupt.ts'

export const demo: Command = {
  name: 'demo',
  summary: 'Shows what is saved, on real MCP servers, without a key and without a network.',
  words: '[--json] [--live]',
  options: {
    live: { type: 'boolean', about: 'with a real model; needs ANTHROPIC_API_KEY or --base-url' },
    model: modelOptions.model!,
    'base-url': modelOptions['base-url']!,
    plain: { type: 'boolean', about: 'lines instead of a picture, as when it is piped' },
    json: { type: 'boolean', about: 'the ledger as one JSON document' },
  },
  examples: ['toolshelf demo', 'toolshelf demo --json', 'ANTHROPIC_API_KEY=… toolshelf demo --live'],
  async run(input, terminal) {
    if (input.words.length > 0)
      throw new CommandError(`the demo takes no words, but was given "${input.words.join(' ')}".`)
    const live = input.isSet('live') ? await openClient(input, process.env) : undefined
    const stop = new AbortController()
    const forget = onInterrupt(stop)
    try {
      await show(playDemo({ live, signal: stop.signal }), live?.about, input, terminal)
    } finally {
      forget()
    }
    return stop.signal.aborted ? 130 : 0
  },
}

async function show(
  events: AsyncIterable<DemoEvent>,
  live: string | undefined,
  input: Input,
  terminal: Terminal,
): Promise<void> {
  if (input.isSet('json')) return printJson(events, terminal)
  if (terminal.isInteractive && !input.isSet('plain')) {
    const { showDemo } = await import('./demo/view.tsx')
    return showDemo(events, live)
  }
  for await (const event of events) for (const line of plainLines(event, live)) terminal.print(line)
}

async function printJson(events: AsyncIterable<DemoEvent>, terminal: Terminal): Promise<void> {
  for await (const event of events) {
    if (event.type !== 'done') continue
    const { turns } = event.ledger
    terminal.print(JSON.stringify({ turns, total: event.ledger.total() }))
  }
}
