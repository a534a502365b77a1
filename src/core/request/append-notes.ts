// Appends notes to the history before a request is sent: new names, and loaded tools that are no longer visible. Notes
// only follow a user message, and nothing that was sent before changes.
// Implements A2, A4, C3, K3, U1.

import {
  appendNote,
  availableList,
  deltaNote,
  type Facts,
  type FoldedHistory,
  isToolChange,
  messageBlocks,
  ourCallId,
  readDelta,
} from '../history/index.ts'
import type { Context } from '../state.ts'
import type { AnnouncementStep, Origin, PoolTool } from '../types.ts'
import type { Wire } from '../wire/index.ts'
import { type Demands, toolsToReload } from './demands.ts'

/** Appends a delta, or returns the list to prepend. */
export function announce(
  context: Context,
  wire: Wire,
  history: FoldedHistory,
): { prepended?: string; step?: AnnouncementStep } {
  const { settings, partition, servers, state } = context
  const input = {
    partition,
    servers,
    budget: Math.floor(context.contextWindow * settings.announceShare),
    descriptions: settings.announceDescriptions,
    instructions: settings.announceInstructions,
    namePrefix: settings.namePrefix,
    searchName: wire.searchName,
    step: history.facts.step ?? state.step,
  }
  if (settings.announce === 'delta') return appendDelta(context, history, input)
  if (partition.deferred.length === 0) return {}
  const { text, step } = availableList(input)
  return { prepended: text, step }
}

function appendDelta(
  context: Context,
  history: FoldedHistory,
  input: Parameters<typeof deltaNote>[0],
): { step?: AnnouncementStep } {
  const { memory, settings, partition, state } = context
  const { facts } = history
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
export function reload(context: Context, wire: Wire, history: FoldedHistory, demands: Demands): void {
  const { memory, partition, settings } = context
  if (!canAppend(history)) return
  const tools = toolsToReload(context, wire, history.facts, demands)
    .map((name) => partition.pool.byName.get(name))
    .filter((entry): entry is PoolTool => entry !== undefined && partition.deferredNames.has(entry.name))
  if (tools.length === 0) return
  for (const message of wire.reload(tools, freeId(history))) {
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
