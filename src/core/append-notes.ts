// What a request adds to the history before it is sent: the names that are new, and loaded tools out of sight.
// Notes are only ever appended, and only behind a user message: what was sent before stays as it was.
import { availableList, deltaNote, type Step } from './announce.ts'
import type { Capability } from './capabilities.ts'
import { append, type Facts, type History } from './history.ts'
import type { Settings } from './options.ts'
import type { Conversation, Host } from './prepare.ts'
import { isToolChange } from './rewrite.ts'
import type { Memory } from './state.ts'
import type { Origin } from './trace.ts'
import type { Message, PoolTool, Shelving } from './types.ts'
import type { Wire } from './wire/wire.ts'

/** Appends a delta, or gives the list to prepend. */
export function announce(
  { settings, servers }: Host,
  { state, memory, isSubAgent }: Conversation,
  history: History,
  shelving: Shelving,
  wire: Wire,
  capability: Capability,
): { prepended?: string; step?: Step } {
  const input = {
    shelving,
    servers,
    budget: Math.floor((settings.contextWindow ?? capability.contextWindow) * settings.announceShare),
    descriptions: settings.announceDescriptions,
    instructions: settings.announceInstructions,
    searchName: wire.searchName,
    step: history.facts.step ?? state.step,
  }
  if (settings.announce === 'prepend') {
    const { text, step } = availableList(input)
    return shelving.deferred.length > 0 ? { prepended: text, step } : {}
  }
  const { facts } = history
  const last = memory.announcedFor
  const isTold = last?.history === history && last.shelving === shelving && last.deltas === facts.deltas
  if (isTold || !endsInUser(history)) return {}
  const origin = originOf(facts, memory, isSubAgent)
  const note = deltaNote(input, facts, origin)
  if (note) {
    const { announcedBefore } = note
    append(history, note, memory.anchors, settings.searchTool)
    settings.trace({
      type: 'announced',
      added: note.addedNames.length,
      removed: note.removedNames.length,
      announcedBefore,
      origin,
      fault: origin === 'main' && announcedBefore === 0 && state.announced,
    })
  }
  memory.announcedFor = { history, shelving, deltas: facts.deltas }
  return note ? { step: note.step } : {}
}

/** Shows the definitions of tools that are loaded but that this wire shows nowhere, e.g. after a compaction. */
export function reload(
  history: History,
  memory: Memory,
  shelving: Shelving,
  wire: Wire,
  settings: Settings,
): void {
  if (!endsInUser(history)) return
  const tools = wire
    .unseen(history.facts)
    .map((name) => shelving.pool.byName.get(name))
    .filter((entry): entry is PoolTool => entry !== undefined && shelving.deferredNames.has(entry.name))
  if (tools.length === 0) return
  for (const message of wire.reload(tools, freeId(history))) {
    append(history, message, memory.anchors, settings.searchTool)
  }
}

/** The id of a call that the history does not hold yet. */
function freeId({ entries, facts }: History): string {
  let number = entries.length
  while (facts.searchCalls.has(`toolshelf_${number}`)) number++
  return `toolshelf_${number}`
}

function endsInUser({ entries }: History): boolean {
  return (entries.findLast((entry) => !isToolChange(entry)) as Message | undefined)?.role === 'user'
}

function originOf(facts: Facts, memory: Memory, isSubAgent: boolean): Origin {
  if (isSubAgent) return 'sub-agent'
  if (facts.boundaries > 0 && facts.deltasSinceBoundary === 0) return 'compacted'
  return memory.requests === 0 && facts.replies > 0 ? 'resumed' : 'main'
}
