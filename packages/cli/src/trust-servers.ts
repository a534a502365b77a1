// `toolshelf trust <server>`: shows what changed of a server since it was accepted, and accepts it.
import { closestNames, cut, isContainer, spellOutInvisible, toJson, walkJson } from '@toolshelf/core/internal'
import { openPins } from '@toolshelf/mcp'
import {
  type DefinitionChange,
  defaultPinsFolder,
  type ListedTool,
  type PinnedServer,
  type Pins,
  pinnedParts,
} from '@toolshelf/mcp/internal'
import { agrees, CommandError, type ExitCode, foldedLine, type Input, type Terminal } from './command.ts'
import { storeIn } from './options.ts'
import { table } from './terminal/table.ts'

/** The record of servers, for as long as `use` runs. */
export async function withPins<Result>(
  input: Input,
  terminal: Terminal,
  environment: NodeJS.ProcessEnv,
  use: (pins: Pins, troubles: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const troubles: string[] = []
  const notify = (trouble: string) => {
    troubles.push(trouble)
    terminal.report(trouble)
  }
  const store = await storeIn(input)
  try {
    return await use(openPins({ folder: defaultPinsFolder(environment), store, notify }), troubles)
  } finally {
    await store?.close()
  }
}

/** Shows what changed of a server, or of the named definitions, and accepts it if the user says so. */
export async function trustServer(
  [server = '', ...names]: readonly string[],
  { input, terminal, environment }: { input: Input; terminal: Terminal; environment: NodeJS.ProcessEnv },
): Promise<ExitCode> {
  return withPins(input, terminal, environment, async (pins, troubles) => {
    const found = await findServer(pins, server)
    const changes = chosen(found, names)
    const isJson = input.isSet('json')
    if (!isJson && changes.length === 0) terminal.print(unchanged(found))
    if (!isJson && changes.length > 0 && !input.isSet('yes'))
      for (const change of changes)
        terminal.print(readable(change, terminal.isInteractive && !process.env.NO_COLOR))
    const isAccepting =
      input.isSet('yes') || (!isJson && changes.length > 0 && (await agrees(terminal, 'Accept the changes?')))
    if (isJson && !isAccepting) terminal.print(toJson({ server, changed: changes.map(asJson) }))
    if (!isAccepting) {
      if (!isJson && changes.length > 0)
        terminal.print(`To accept the changes: toolshelf trust ${spellOutInvisible(server)} --yes`)
      return 0
    }
    const before = troubles.length
    const wanted = changes.map(({ name }) => name)
    const accepted = wanted.length > 0 ? await pins.accept(server, wanted) : []
    if (troubles.length > before)
      throw new CommandError('nothing was accepted, because the answer cannot be saved.')
    if (isJson) terminal.print(toJson({ server, accepted }))
    for (const change of isJson ? [] : changes.filter(({ name }) => accepted.includes(name)))
      terminal.print(`Accepted: ${titleOf(change)} (${placesOf(change)}).`)
    return 0
  })
}

/** Prints how many tools and prompts of each server are known, and how many changed. */
export function printServers(servers: readonly PinnedServer[], terminal: Terminal): void {
  if (servers.length === 0) return
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
    terminal.print('What changed: toolshelf trust <server>')
}

async function findServer(pins: Pins, server: string): Promise<PinnedServer> {
  const servers = await pins.list()
  const found = servers.find((one) => one.server === server)
  const names = servers.map((one) => one.server)
  if (!found) throw new CommandError(unknown('server', server, names))
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
  const remedy =
    names.length === 0
      ? 'Servers are recorded when "toolshelf mcp" first connects to them.'
      : `${near.length > 0 ? 'Nearest' : 'Known'}: ${known}.`
  return `no known ${what} "${spellOutInvisible(wanted)}". ${remedy}`
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

/** A path at which two definitions differ; a text is undefined if there is nothing at that path. */
type Difference = {
  /** The path, such as `description` or `inputSchema.properties.path.default`. */
  readonly where: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns the differences of two definitions. */
function differences(before: ListedTool, after: ListedTool): Difference[] {
  const [old, young] = [textsOf(before), textsOf(after)]
  const changed = [...young].filter(([where, text]) => old.get(where) !== text)
  const gone = [...old].filter(([where]) => !young.has(where))
  return [
    ...changed.map(([where, text]) => ({ where, before: old.get(where), after: text })),
    ...gone.map(([where, text]) => ({ where, before: text, after: undefined })),
  ]
}

/** Lists the paths that differ, on one line: `description, inputSchema.properties.path.default and 3 more`. */
function outline(found: readonly Difference[], limit = 3): string {
  const rest = found.length - limit
  const named = found.slice(0, limit).map(({ where }) => spellOutInvisible(where))
  return named.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

const MAX_LINES = 12
const MAX_LINE_LENGTH = 160
const CONTEXT = 40

/** Returns removed lines (`- …`) and added lines (`+ …`), without the common start and end. */
function differenceLines({ before, after }: Difference): string[] {
  const [old, young] = [linesOf(before), linesOf(after)]
  const shortest = Math.min(old.length, young.length)
  let start = 0
  while (start < shortest && old[start] === young[start]) start++
  let end = 0
  while (end < shortest - start && old.at(-1 - end) === young.at(-1 - end)) end++
  const [went, came] = [old.slice(start, old.length - end), young.slice(start, young.length - end)]
  const shared = sharedStart(went[0] ?? '', came[0] ?? '')
  return [...shown('-', went, shared), ...shown('+', came, shared)]
}

function shown(sign: '-' | '+', lines: readonly string[], shared: number): string[] {
  const rest = lines.length - MAX_LINES
  const excerpts = lines.slice(0, MAX_LINES).map((line, index) => {
    const from = index === 0 && line.length > MAX_LINE_LENGTH ? Math.max(0, shared - CONTEXT) : 0
    return `${sign} ${from > 0 ? '…' : ''}${cut(spellOutInvisible(line.slice(from, from + MAX_LINE_LENGTH * 2)), MAX_LINE_LENGTH)}`
  })
  return rest > 0 ? [...excerpts, `${sign} … ${rest} more lines`] : excerpts
}

function linesOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(/\r?\n/)
}

function sharedStart(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

function textsOf(tool: ListedTool): Map<string, string> {
  const places = new Map<string, string>()
  for (const [part, whole] of Object.entries(pinnedParts(tool))) {
    if (whole === undefined) continue
    for (const { path, value } of walkJson(whole, part, isShort))
      if (!isContainer(value) || isShort(value)) places.set(path, printed(value))
  }
  return places
}

/** Returns whether a list of strings and numbers, such as `required` or `enum`, is compared as one value. */
function isShort(value: object): boolean {
  return Array.isArray(value) ? !value.some(isContainer) : Object.keys(value).length === 0
}

function printed(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
}
