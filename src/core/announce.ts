// Step 7. Telling the model which names it can search for: only what changed, within a budget (A).
import { cut } from './definition.ts'
import { oneLine } from './errors.ts'
import type { Facts } from './history.ts'
import { type DeltaNote, reminder } from './notes.ts'
import { estimateTokens } from './tokens.ts'
import type { Origin } from './trace.ts'
import type { PoolTool, Server, Servers, Shelving } from './types.ts'

/** How much of each tool is printed. A conversation moves down these steps when the budget breaks, never up (A7). */
export type Step = 'described' | 'names' | 'grouped' | 'servers'

const steps: readonly Step[] = ['described', 'names', 'grouped', 'servers']

export type AnnounceInput = {
  readonly shelving: Shelving
  readonly servers: Servers
  /** In tokens, for all announcements of the conversation together. */
  readonly budget: number
  /** Characters of each tool's description; 0 for names only. */
  readonly descriptions: number
  /** Characters of each server's instructions; 0 for none. */
  readonly instructions: number
  /** What the model calls to search. */
  readonly searchName: string
}

/** The note for what is new and what is gone since the deltas in history; nothing when nothing changed (A2). */
export function deltaNote(input: AnnounceInput, facts: Facts, origin: Origin): DeltaNote | undefined {
  const { shelving, budget } = input
  const added = shelving.deferred.filter(({ name }) => !facts.announced.has(name)).sort(byName)
  const removed = [...facts.announced].filter((name) => !shelving.pool.byName.has(name)).sort()
  if (added.length === 0 && removed.length === 0) return undefined
  const room = Math.max(0, budget - facts.announcedTokens)
  const { step, text } = fit(input, facts.step, room, (step) => [
    ...section(`Deferred tools now available through ${input.searchName}`, added, step, input, room),
    ...goneSection(removed, step),
  ])
  const told = instructionsWithin(input, added, facts.instructed, room - estimateTokens(text))
  const content = reminder([text, ...told.lines].join('\n'))
  return {
    type: 'deferred_tools_delta',
    role: 'user',
    content,
    addedNames: added.map(({ name }) => name),
    removedNames: removed,
    announcedBefore: facts.announcedEver,
    origin,
    step,
    tokens: estimateTokens(content),
    instructedBy: told.servers,
  }
}

/** The list of all names for the `prepend` way (A1), and the step it took. */
export function availableList(input: AnnounceInput, chosen: Step | undefined): { text: string; step: Step } {
  const tools = [...input.shelving.deferred].sort(byName)
  const fitted = fit(input, chosen, input.budget, (step) => listed(tools, step, input, input.budget))
  return {
    step: fitted.step,
    text: `<available-deferred-tools>\n${fitted.text}\n</available-deferred-tools>`,
  }
}

/** The first step, from the chosen one on, whose text is within the room; the last one in any case. */
function fit(input: AnnounceInput, chosen: Step | undefined, room: number, write: (step: Step) => string[]) {
  let step = chosen && steps.includes(chosen) ? chosen : input.descriptions > 0 ? 'described' : 'names'
  let text = write(step).join('\n')
  while (step !== 'servers' && estimateTokens(reminder(text)) > room) {
    step = steps[steps.indexOf(step) + 1] ?? 'servers'
    text = write(step).join('\n')
  }
  return { step, text }
}

const howToRead: Record<Step, string> = {
  described: ':',
  names: ':',
  grouped: ' (too many for a line each; a tool of a server is called mcp__<server>__<tool>):',
  servers: ' (too many to name; search by service, action and object to find one):',
}

function section(
  title: string,
  tools: readonly PoolTool[],
  step: Step,
  input: AnnounceInput,
  room: number,
): string[] {
  return tools.length === 0 ? [] : [title + howToRead[step], ...listed(tools, step, input, room)]
}

function listed(tools: readonly PoolTool[], step: Step, input: AnnounceInput, room: number): string[] {
  if (step === 'names') return tools.map(({ name }) => name)
  if (step === 'described') return tools.map((entry) => described(entry, input.descriptions))
  const groups = [...byServer(tools)]
  if (step === 'grouped') return groups.map(([server, members]) => grouped(server, members))
  return withinRoom(
    groups.map(([server, members]) => counted(server, members.length, input.servers.get(server))),
    room,
  )
}

function byServer(tools: readonly PoolTool[]): Map<string, PoolTool[]> {
  const groups = new Map<string, PoolTool[]>()
  for (const entry of tools) {
    const members = groups.get(entry.server ?? '')
    if (members) members.push(entry)
    else groups.set(entry.server ?? '', [entry])
  }
  return groups
}

function described({ name, tool }: PoolTool, limit: number): string {
  return tool.description ? `${name}: ${oneLine(tool.description, limit)}` : name
}

function grouped(server: string, members: readonly PoolTool[]): string {
  if (server === '') return members.map(({ name }) => name).join(', ')
  const prefix = /^mcp__.*?__/.exec(members[0]?.name ?? '')?.[0] ?? ''
  const label = prefix ? prefix.slice('mcp__'.length, -'__'.length) : server
  return `${label}: ${members.map(({ name }) => (name.startsWith(prefix) ? name.slice(prefix.length) : name)).join(', ')}`
}

function counted(server: string, count: number, known: Server | undefined): string {
  const label = `${server === '' ? 'built-in' : oneLine(server, 60)} (${count} ${count === 1 ? 'tool' : 'tools'})`
  const about = known?.description ?? known?.instructions
  return about ? `${label}: ${oneLine(about, 100)}` : label
}

function withinRoom(lines: readonly string[], room: number): string[] {
  let spent = 40
  const end = lines.findIndex((line) => {
    spent += estimateTokens(`${line}\n`)
    return spent > room
  })
  if (end < 0) return [...lines]
  return [...lines.slice(0, end), `and ${lines.length - end} more servers`]
}

function goneSection(names: readonly string[], step: Step): string[] {
  if (names.length === 0) return []
  if (step === 'servers') return [`Deferred tools no longer available: ${names.length}`]
  return ['Deferred tools no longer available:', ...(step === 'grouped' ? [names.join(', ')] : names)]
}

/** Instructions of the servers that are new here, while they fit; the others are told of when there is room. */
function instructionsWithin(
  { servers, instructions }: AnnounceInput,
  added: readonly PoolTool[],
  instructed: ReadonlySet<string>,
  room: number,
) {
  const lines: string[] = []
  const told: string[] = []
  let left = room
  for (const server of new Set(added.map((entry) => entry.server))) {
    const text = server === undefined ? undefined : servers.get(server)?.instructions
    if (server === undefined || !text || instructions === 0 || instructed.has(server)) continue
    const line = `Instructions of server "${oneLine(server, 60)}":\n${harmless(cut(text, instructions))}`
    const cost = estimateTokens(line)
    if (cost > left) continue
    left -= cost
    lines.push(line)
    told.push(server)
  }
  return { lines, servers: told }
}

function harmless(text: string): string {
  return text.replace(/<\/?system-reminder>/gi, '')
}

function byName(a: PoolTool, b: PoolTool): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}
