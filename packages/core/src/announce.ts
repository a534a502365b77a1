// Announces to the model the names that it can search for: only changes, within a token budget (A); and shows loaded tools
// again that dropped out of sight. Its notes only follow a user message.
// Implements A1, A2, A3, A4, A6, A7, A9, C3, U1.

import { appendNote, type Facts, type FoldedHistory } from './history.ts'
import { groupBy } from './lib/objects.ts'
import { cleanText, cut, oneLine } from './lib/text.ts'
import { byName } from './names.ts'
import {
  ANNOUNCEMENT,
  availableTools,
  type DeltaNote,
  isToolChange,
  messageBlocks,
  ourCallId,
  readDelta,
  reminder,
  writeDelta,
} from './notes.ts'
import { estimateTokens } from './tokens.ts'
import type {
  AnnouncementStep,
  Context,
  Origin,
  PoolTool,
  ServerDetails,
  Servers,
  ToolPartition,
} from './types.ts'
import type { Wire } from './wires.ts'
import { toolsToShow } from './working.ts'

/** Appends a delta, or returns the list to prepend. */
export function announce(
  context: Context,
  wire: Wire,
  history: FoldedHistory,
): { prepended?: string; step?: AnnouncementStep } {
  const { settings, partition, servers, state, memory } = context
  const { facts } = history
  const input = {
    partition,
    servers,
    budget: Math.floor(context.contextWindow * settings.announceShare),
    descriptions: settings.announceDescriptions,
    instructions: settings.announceInstructions,
    namePrefix: settings.namePrefix,
    searchName: wire.searchName,
    step: facts.step ?? state.step,
  }
  if (settings.announce === 'prepend') {
    if (partition.deferred.length === 0) return {}
    const { text, step } = availableList(input)
    return { prepended: text, step }
  }
  const last = memory.announcedFor
  const isUpToDate = last?.history === history && last.partition === partition && last.deltas === facts.deltas
  if (isUpToDate || !canAppend(history) || endsInToolChange(history)) return {}
  const note = deltaNote(input, facts, originOf(context, facts))
  if (note) {
    appendNote(history, note, memory.anchors, settings.searchTool)
    const { addedNames, removedNames, announcedBefore, origin } = note
    const fault = origin === 'main' && announcedBefore === 0 && state.hasAnnounced
    const counts = { added: addedNames.length, removed: removedNames.length, announcedBefore }
    settings.trace?.({ type: 'announced', ...counts, origin, fault })
  }
  memory.announcedFor = { history, partition, deltas: facts.deltas }
  return note ? { step: note.step } : {}
}

/** Returns whether the history ends in a tool change by the shelf, which a user note would have to precede. */
function endsInToolChange({ entries, placed }: FoldedHistory): boolean {
  const last = entries.at(-1)
  return last !== undefined && isToolChange(last) && placed.some(({ note }) => note === last)
}

/** Appends a search for loaded tools whose definitions are not visible on this wire, e.g. after a compaction. */
export function showAgain(context: Context, wire: Wire, history: FoldedHistory): void {
  const { memory, partition, settings } = context
  if (!canAppend(history)) return
  const tools = toolsToShow(context, wire, history.facts)
    .map((name) => partition.pool.byName.get(name))
    .filter((entry): entry is PoolTool => entry !== undefined && partition.deferredNames.has(entry.name))
  if (tools.length === 0) return
  for (const message of wire.showAgain(tools, freeId(history))) {
    appendNote(history, message, memory.anchors, settings.searchTool)
  }
  settings.trace?.({ type: 'loaded', names: tools.map(({ name }) => name), by: 'reload' })
}

/** Returns a call id that does not occur in the history. */
function freeId({ entries, facts }: FoldedHistory): string {
  let number = entries.length
  while (facts.searchCalls.has(ourCallId(number))) number++
  return ourCallId(number)
}

/** Whether a note can be appended: after a user turn, unless the provider has not answered its own search yet. */
function canAppend({ entries }: FoldedHistory): boolean {
  const last = entries.findLast((entry) => entry.role !== 'system' || readDelta(entry) !== undefined)
  if (last?.role !== 'user') return false
  const blocks = messageBlocks(entries.findLast(({ role }) => role === 'assistant'))
  const answered = new Set(blocks.map(({ tool_use_id }) => tool_use_id))
  return !blocks.some(({ type, id }) => type === 'server_tool_use' && !answered.has(id))
}

function originOf({ memory, isSubAgent }: Context, facts: Facts): Origin {
  if (isSubAgent) return 'sub-agent'
  if (facts.boundaries > 0 && facts.deltasSinceBoundary === 0) return 'compacted'
  return memory.requests === 0 && facts.replies > 0 ? 'resumed' : 'main'
}

const steps: readonly AnnouncementStep[] = ['described', 'names', 'grouped', 'servers']

type AnnounceInput = {
  readonly partition: ToolPartition
  readonly servers: Servers
  /** In tokens, for all announcements of the conversation together. */
  readonly budget: number
  /** Characters of each tool's description; 0 for names only. */
  readonly descriptions: number
  /** Characters of each server's instructions; 0 for none. */
  readonly instructions: number
  /** What the names of servers' tools start with. */
  readonly namePrefix: string
  /** The name of the search tool. */
  readonly searchName: string
  /** The step that the conversation has reached; see `AnnouncementStep`. */
  readonly step: AnnouncementStep | undefined
}

/** Returns the note with the names added, loaded or not (A9), and removed since the last delta; undefined if none (A2). */
function deltaNote(input: AnnounceInput, facts: Facts, origin: Origin): DeltaNote | undefined {
  const { partition, searchName } = input
  const added = partition.deferred.filter(({ name }) => !facts.announced.has(name)).sort(byName)
  const removed = [...facts.announced].filter((name) => !partition.pool.byName.has(name)).sort()
  if (added.length === 0 && removed.length === 0) return undefined
  const room = Math.max(0, input.budget - facts.announcedTokens)
  const title = `${ANNOUNCEMENT} now available through ${searchName}`
  const { step, text } = fit(input, room, (step, lines) =>
    [
      ...(added.length > 0 ? [title + howToRead(step, input), ...lines(added)] : []),
      ...gone(removed, step),
    ].join('\n'),
  )
  const instructions = instructionsFor(input, facts.instructed, room - estimateTokens(reminder(text)))
  const content = reminder([text, ...instructions.values()].join('\n'))
  return writeDelta({
    content,
    addedNames: added.map(({ name }) => name),
    removedNames: removed,
    announcedBefore: facts.announcedEver,
    origin,
    step,
    tokens: estimateTokens(content),
    instructedBy: [...instructions.keys()],
  })
}

/** Returns the list of all names for `announce: 'prepend'` (A1), and the step it uses. */
export function availableList(input: AnnounceInput): AvailableList {
  // Details of servers may change while the tools stay the same, so this list is not cached.
  if (input.servers.size > 0) return writeList(input)
  const { partition, servers: _, ...rest } = input
  const key = JSON.stringify(rest)
  const known = lists.get(partition)
  if (known?.key === key) return known.list
  const list = writeList(input)
  lists.set(partition, { key, list })
  return list
}

type AvailableList = { readonly text: string; readonly step: AnnouncementStep }

const lists = new WeakMap<ToolPartition, { readonly key: string; readonly list: AvailableList }>()

function writeList(input: AnnounceInput): AvailableList {
  const tools = [...input.partition.deferred].sort(byName)
  const { step, text } = fit(input, input.budget, (step, lines) => {
    const title = step === 'grouped' || step === 'servers' ? [ANNOUNCEMENT + howToRead(step, input)] : []
    return availableTools([...title, ...lines(tools)].join('\n'))
  })
  const instructions = instructionsFor(input, new Set(), input.budget - estimateTokens(text))
  return { step, text: [text, ...instructions.values()].join('\n') }
}

function howToRead(step: AnnouncementStep, { namePrefix }: AnnounceInput): string {
  if (step === 'grouped')
    return ` (too many for a line each; a tool of a server is called ${namePrefix}<server>__<tool>):`
  return step === 'servers' ? ' (too many to name; search by service, action and object to find one):' : ':'
}

type Write = (step: AnnouncementStep, lines: (tools: readonly PoolTool[]) => string[]) => string

/** Chooses the first step, from the current one on, whose text fits; the last step is cut to the lines that fit (A7). */
function fit(input: AnnounceInput, room: number, write: Write): { step: AnnouncementStep; text: string } {
  const first = input.descriptions > 0 ? 'described' : 'names'
  const from = steps.find((step) => step === input.step) ?? first
  const withDescriptions =
    from === 'described' ? fitDescribed(input, room * DESCRIBED_SHARE, write) : undefined
  if (withDescriptions !== undefined) return { step: 'described', text: withDescriptions }
  for (const step of steps.slice(Math.max(steps.indexOf(from), steps.indexOf('names')))) {
    const text = write(step, (tools) => listed(tools, step, input))
    if (isWithin(room, text)) return { step, text }
  }
  const shortened = (max: number) =>
    write('servers', (tools) => firstOf(listed(tools, 'servers', input), max))
  const servers = new Set(input.partition.deferred.map(({ server }) => server)).size
  return { step: 'servers', text: shortened(greatest(0, servers, (max) => isWithin(room, shortened(max)))) }
}

/** Share of the budget for descriptions, which leaves room for the names of tools that are added later. */
const DESCRIBED_SHARE = 0.75
/** Shortest useful description, in characters. */
const MIN_DESCRIPTION_LENGTH = 24

/** Cuts all descriptions to the same length, the longest that fits. */
function fitDescribed(input: AnnounceInput, room: number, write: Write): string | undefined {
  const min = Math.min(MIN_DESCRIPTION_LENGTH, input.descriptions)
  const cutAt = (limit: number) =>
    write('described', (tools) => tools.map((entry) => described(entry, limit)))
  const limit = greatest(min, input.descriptions, (limit) => isWithin(room, cutAt(limit)))
  const text = cutAt(limit)
  return isWithin(room, text) ? text : undefined
}

function isWithin(room: number, text: string): boolean {
  return estimateTokens(reminder(text)) <= room
}

/** Finds the largest number that fits by binary search; returns the smallest if none fits. */
function greatest(min: number, max: number, fits: (number: number) => boolean): number {
  let low = min
  let high = max
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

function firstOf(lines: readonly string[], max: number): string[] {
  if (lines.length <= max) return [...lines]
  return [...lines.slice(0, max), `and ${lines.length - max} ${max > 0 ? 'more ' : ''}servers`]
}

function listed(tools: readonly PoolTool[], step: AnnouncementStep, input: AnnounceInput): string[] {
  if (step === 'names') return tools.map(({ name }) => name)
  const groups = [...groupBy(tools, ({ server }) => server ?? '')]
  if (step === 'grouped') return groups.map(([server, members]) => grouped(server, members, input.namePrefix))
  return groups.map(([server, members]) => counted(server, members.length, input.servers.get(server)))
}

function described({ name, tool }: PoolTool, limit: number): string {
  return tool.description ? `${name}: ${oneLine(tool.description, limit)}` : name
}

/** Lists short names if what they start with, `mcp__<server>__`, can be added back; full names otherwise. */
function grouped(server: string, members: readonly PoolTool[], namePrefix: string): string {
  const first = members[0]?.name ?? ''
  const end = first.startsWith(namePrefix) ? first.indexOf('__', namePrefix.length) : -1
  if (server === '' || end < 0) return members.map(({ name }) => name).join(', ')
  const start = first.slice(0, end + '__'.length)
  const short = members.map(({ name }) => (name.startsWith(start) ? name.slice(start.length) : name))
  return `${first.slice(namePrefix.length, end)}: ${short.join(', ')}`
}

function counted(server: string, count: number, known: ServerDetails | undefined): string {
  const label = `${server === '' ? 'built-in' : oneLine(server, 60)} (${count} ${count === 1 ? 'tool' : 'tools'})`
  const about = known?.description ?? known?.instructions
  return about ? `${label}: ${oneLine(about, 100)}` : label
}

function gone(names: readonly string[], step: AnnouncementStep): string[] {
  if (names.length === 0) return []
  if (step === 'servers') return [`${ANNOUNCEMENT} no longer available: ${names.length}`]
  return [`${ANNOUNCEMENT} no longer available:`, ...(step === 'grouped' ? [names.join(', ')] : names)]
}

/** Returns the instructions of servers that were not announced yet, by server, as many as fit (A6). */
function instructionsFor(input: AnnounceInput, instructed: ReadonlySet<string>, room: number) {
  const announced = new Map<string, string>()
  let left = room
  for (const server of new Set(input.partition.deferred.map((entry) => entry.server ?? ''))) {
    const instructions = input.servers.get(server)?.instructions
    if (typeof instructions !== 'string' || instructions === '') continue
    if (input.instructions === 0 || instructed.has(server)) continue
    const text = `Instructions of server "${oneLine(server, 60)}":\n${harmless(cut(instructions, input.instructions))}`
    const cost = estimateTokens(`${text}\n`)
    if (cost > left) continue
    left -= cost
    announced.set(server, text)
  }
  return announced
}

/** Quotes a server's text, so that it can neither open nor close one of Toolshelf's tags. */
function harmless(text: string): string {
  const lines = cleanText(text).split(/\r?\n/)
  return lines.map((line) => `> ${line.replace(/<(?=[\s/]*(system|available|loaded))/gi, '‹')}`).join('\n')
}
