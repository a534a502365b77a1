// `toolshelf demo`: what Toolshelf saves, on real MCP servers, without a key and without a network.

import { modelOptions, openClient } from './client.ts'
import { type Command, CommandError, type Terminal } from './command.ts'
import { plainLines } from './demo/plain.ts'
import { playDemo } from './demo/play.ts'

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
    const events = playDemo({ live, notify: () => {} })
    if (input.isSet('json')) return printJson(events, terminal)
    if (terminal.isInteractive && !input.isSet('plain')) {
      const { showDemo } = await import('./demo/view.tsx')
      await showDemo(events, live?.about)
      return 0
    }
    for await (const event of events) for (const line of plainLines(event, live?.about)) terminal.print(line)
    return 0
  },
}

async function printJson(events: ReturnType<typeof playDemo>, terminal: Terminal): Promise<0> {
  for await (const event of events) {
    if (event.type !== 'done') continue
    const { turns } = event.ledger
    terminal.print(JSON.stringify({ turns, total: event.ledger.total() }))
  }
  return 0
}
