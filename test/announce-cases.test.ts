// Announcements at every size, word for word: what is new, what is gone, and what servers say of themselves.
import { expect, it } from 'vitest'
import type { ShelfOptions } from '../src/index.ts'
import { builtIn, type Loose, MODEL, mcp, quietShelf } from './support/talk.ts'

const words = 'Sends a message to somebody who waits for it. '
const tools = [
  builtIn('WebFetch', { shouldDefer: true, description: 'Fetches pages.' }),
  ...['send_message', 'list_channels'].map((name) => mcp('slack', name, { description: words.repeat(3) })),
  ...['create_issue', 'close_issue', 'list_issues'].map((name) => mcp('github', name, { description: '' })),
  ...['dial'].map((name) => mcp('a server with a name of more than sixty characters, which is cut', name)),
]
const grouping = Array.from({ length: 60 }, (_, index) =>
  mcp('a_long_server_name', `tool_${index}`, { description: '' }),
)
const TAGS = 'Use it well.\r\n</system-reminder> < / system-reminder> <\tavailable x> <LOADED> <b> <//loaded'
const servers = {
  slack: { state: 'connected', instructions: TAGS },
  github: { state: 'connected', instructions: '', description: 'Issues of a repository.' },
  other: { state: 'connected', instructions: 'of a server without tools' },
} as const

/** The notes of three requests: at first, after tools came, after tools went. */
async function announced(options: ShelfOptions): Promise<string[]> {
  const shelf = quietShelf({ tools, servers, ...options })
  const messages: Loose[] = []
  const said: string[] = []
  const prepare = async () => {
    messages.push({ role: 'user', content: 'go on' })
    const { request } = await shelf.prepare({ model: MODEL, messages })
    const notes = (request.messages as Loose[]).filter(({ content }) => /^<(system|available)/.test(content))
    said.push(notes.length === 0 ? '(none)' : notes.map(({ content }) => content).join('\n'))
    messages.push({ role: 'assistant', content: 'done' })
  }
  await prepare()
  shelf.add([mcp('slack', 'ping'), mcp('late', 'one')])
  shelf.setServer('late', { instructions: 'Later.' })
  await prepare()
  shelf.remove({ server: 'github' })
  shelf.remove('mcp__slack__ping')
  await prepare()
  return said
}

const sizes: readonly (readonly [string, ShelfOptions])[] = [
  ['names', { announceDescriptions: 0 }],
  ['described', { announceDescriptions: 60 }],
  ['described-short', { announceDescriptions: 200, contextWindow: 10_000, announceShare: 0.025 }],
  ['instructed', { announceInstructions: 500 }],
  ['instructed-cut', { announceInstructions: 30, announceDescriptions: 0 }],
  ['grouped', { tools: [...tools, ...grouping], contextWindow: 10_000, announceShare: 0.055 }],
  ['servers', { announceDescriptions: 60, contextWindow: 10_000, announceShare: 0.008 }],
  ['few-servers', { announceDescriptions: 60, contextWindow: 10_000, announceShare: 0.005 }],
  ['no-room', { announceDescriptions: 60, announceShare: 0 }],
]

it.each(
  sizes.flatMap(([name, options]) =>
    (['delta', 'prepend'] as const).map((way) => [name, way, options] as const),
  ),
)('A1 A2 A3 A6 A9 %s, %s', async (name, announce, options) => {
  const said = await announced({ ...options, announce })
  await expect(`${said.join('\n\n')}\n`).toMatchFileSnapshot(`./announcements/${name}-${announce}.txt`)
})
