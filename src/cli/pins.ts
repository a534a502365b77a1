// `toolshelf pins`: shows the pinned definitions, prompts and instructions, what has changed, and accepts changes.
import { closestNames, spellOutInvisible } from '../lib/index.ts'
import {
  type DefinitionChange,
  type Difference,
  defaultPinsFolder,
  differenceLines,
  differences,
  openPins,
  outline,
  type PinnedServer,
  type Pins,
} from '../mcp/pins/index.ts'
import { table } from '../terminal/index.ts'
import {
  type Command,
  CommandError,
  type ExitCode,
  foldedLine,
  type Terminal,
  UsageError,
} from './command.ts'
import { storeIn, storeOption } from './options.ts'

export const pinsCommand: Command = {
  name: 'pins',
  summary: 'Shows and accepts changes of tool definitions, prompts and instructions.',
  words: '[show <server> [tool…] | accept <server> [tool…] | forget <server>]',
  options: {
    folder: {
      type: 'string',
      value: 'folder',
      about: 'folder of the pins (default: ~/.local/state/toolshelf/pins)',
    },
    ...storeOption,
    json: { type: 'boolean', about: 'print {"servers": […]}, or {"server", …} of one' },
  },
  examples: [
    'toolshelf pins',
    'toolshelf pins show github',
    'toolshelf pins accept github create_issue',
    'toolshelf pins forget github',
  ],
  async run(input, terminal) {
    const { words, text, isSet } = input
    const [action = 'list', server, ...tools] = words
    const run = actions.get(action)
    if (!run)
      throw new UsageError(`unknown action "${action}"; use ${[...actions.keys()].join(', ')}, or no action.`)
    const folder = text('folder') ?? defaultPinsFolder()
    if (folder === undefined)
      throw new CommandError('there is no home folder; pass the folder of the pins with --folder.')
    const troubles: string[] = []
    const notify = (trouble: string) => {
      troubles.push(trouble)
      terminal.report(trouble)
    }
    const store = await storeIn(input)
    try {
      const pins = openPins({ folder, store, notify })
      return await run({ pins, troubles, server, tools, terminal, isJson: isSet('json') })
    } finally {
      await store?.close()
    }
  },
}

type Call = {
  readonly pins: Pins
  /** Problems of the files so far. */
  readonly troubles: readonly string[]
  readonly server: string | undefined
  readonly tools: readonly string[]
  readonly terminal: Terminal
  readonly isJson: boolean
}

const actions: ReadonlyMap<string, (call: Call) => Promise<ExitCode>> = new Map([
  ['list', list],
  ['show', show],
  ['accept', accept],
  ['forget', forget],
])

async function list({ pins, server, terminal, isJson }: Call): Promise<ExitCode> {
  if (server !== undefined)
    throw new UsageError('unexpected argument; without an action, all servers are listed.')
  const servers = await pins.list()
  if (isJson) {
    const counted = servers.map(({ server, tools, changed }) => ({
      server,
      tools: tools.length,
      changed: changed.map(({ name }) => name),
    }))
    terminal.print(JSON.stringify({ servers: counted }))
  } else if (servers.length === 0) {
    terminal.print('No pins yet. "toolshelf mcp" creates them when it first connects to a server.')
  } else {
    const rows = servers.map(({ server, tools, prompts, changed }) => [
      spellOutInvisible(server),
      tools.length,
      prompts.length,
      changed.length,
    ])
    terminal.print(table(['server', 'tools', 'prompts', 'changed'], rows))
    terminal.print(
      foldedLine(
        'Counts everything that a server has listed to any client. "toolshelf list" may count fewer tools: some servers list more to a client that has roots, for example.',
      ),
    )
    if (servers.some(({ changed }) => changed.length > 0))
      terminal.print('What changed: toolshelf pins show <server>')
  }
  return 0
}

async function show(call: Call): Promise<ExitCode> {
  const found = await findServer(call)
  const changes = chosen(found, call.tools)
  const { terminal, isJson } = call
  if (isJson) terminal.print(JSON.stringify({ server: found.server, changed: changes.map(asJson) }))
  else if (changes.length === 0) terminal.print(unchanged(found))
  else {
    for (const change of changes)
      terminal.print(readable(change, terminal.isInteractive && !process.env.NO_COLOR))
    terminal.print(`To accept the changes: toolshelf pins accept ${spellOutInvisible(found.server)}`)
  }
  return 0
}

async function accept(call: Call): Promise<ExitCode> {
  const found = await findServer(call)
  const changes = chosen(found, call.tools)
  const before = call.troubles.length
  const accepted = await call.pins.accept(
    found.server,
    changes.map(({ name }) => name),
  )
  if (call.troubles.length > before)
    throw new CommandError('nothing was accepted, because the pins cannot be saved.')
  if (call.isJson) call.terminal.print(JSON.stringify({ server: found.server, accepted }))
  else if (accepted.length === 0) call.terminal.print(unchanged(found))
  else
    for (const change of changes.filter(({ name }) => accepted.includes(name)))
      call.terminal.print(`Accepted: ${titleOf(change)} (${placesOf(change)}).`)
  return 0
}

async function forget(call: Call): Promise<ExitCode> {
  if (call.tools.length > 0) throw new UsageError('forget takes one server and no tools.')
  const { server } = await findServer(call)
  if (!(await call.pins.forget(server)))
    throw new CommandError(`could not forget "${spellOutInvisible(server)}".`)
  if (call.isJson) call.terminal.print(JSON.stringify({ server, forgotten: true }))
  else
    call.terminal.print(
      `Forgotten. The tools of "${spellOutInvisible(server)}" are pinned again at its next connection.`,
    )
  return 0
}

async function findServer({ pins, server }: Call): Promise<PinnedServer> {
  if (server === undefined) throw new UsageError('name a server; "toolshelf pins" lists them.')
  const servers = await pins.list()
  const found = servers.find((one) => one.server === server)
  if (!found)
    throw new CommandError(
      unknown(
        'server',
        server,
        servers.map((one) => one.server),
      ),
    )
  return found
}

/** The changes of the named tools, or all of them. */
function chosen(
  { tools, prompts, changed }: PinnedServer,
  wanted: readonly string[],
): readonly DefinitionChange[] {
  const names = [...tools, ...prompts, 'instructions']
  const stranger = wanted.find((name) => !names.includes(name))
  if (stranger !== undefined) throw new CommandError(unknown('tool', stranger, [...tools, ...prompts]))
  return wanted.length === 0 ? changed : changed.filter(({ name }) => wanted.includes(name))
}

function unknown(what: 'server' | 'tool', wanted: string, names: readonly string[]): string {
  const near = closestNames(wanted, names)
  const known = (near.length > 0 ? near : names.slice(0, 10)).map(spellOutInvisible).join(', ')
  const remedy = names.length === 0 ? 'No pins yet.' : `${near.length > 0 ? 'Nearest' : 'Known'}: ${known}.`
  return `no pinned ${what} "${spellOutInvisible(wanted)}". ${remedy}`
}

function unchanged({ server }: PinnedServer): string {
  return `Nothing has changed in the tools, prompts and instructions of "${spellOutInvisible(server)}".`
}

function asJson({ kind, name, since, before, after, isWhole }: DefinitionChange): object {
  return { kind, name, since, differences: isWhole ? differences(before, after) : undefined }
}

/** `prompt review`, `instructions`; a tool by its name alone. */
function titleOf({ kind, name }: DefinitionChange): string {
  return kind === 'prompt' ? `${kind} ${spellOutInvisible(name)}` : spellOutInvisible(name)
}

function placesOf({ kind, before, after, isWhole }: DefinitionChange): string {
  return isWhole
    ? outline(differences(before, after).map((one) => inWordsOf(kind, one)))
    : 'too large to be shown'
}

/** Prompts are stored in the shape of a tool. */
function inWordsOf(kind: DefinitionChange['kind'], difference: Difference): Difference {
  if (kind === 'instructions') return { ...difference, where: 'text' }
  return kind === 'prompt'
    ? { ...difference, where: difference.where.replace(/^inputSchema/, 'arguments') }
    : difference
}

const RED = '\u001b[31m'
const GREEN = '\u001b[32m'
const BOLD = '\u001b[1m'
const PLAIN = '\u001b[0m'

function readable(change: DefinitionChange, isColoured: boolean): string {
  const { kind, since, before, after, isWhole } = change
  const paint = (colour: string, text: string) => (isColoured ? `${colour}${text}${PLAIN}` : text)
  const title = paint(BOLD, `${titleOf(change)}, changed since ${since}`)
  if (!isWhole)
    return `${title}\n  The definition is too large to be stored, so the difference cannot be shown.\n`
  const lines = differences(before, after).flatMap((difference) => [
    `  ${spellOutInvisible(inWordsOf(kind, difference).where)}`,
    ...differenceLines(difference).map((line) => `    ${paint(line.startsWith('-') ? RED : GREEN, line)}`),
  ])
  return `${[title, ...lines].join('\n')}\n`
}
