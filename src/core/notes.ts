// The notes we write into a history, each written and read here only.
//
// A note is a whole API message with fields of ours beside `role` and `content`, or a field on a block of ours; the
// request's copy loses those fields. Nobody but the host can write fields, so a tool's output can never forge a note.
// The one note that is plain text, what a search loaded on wires without references, counts only at the very start
// of an answer to our own search call.
import type { Step } from './announce.ts'
import type { Origin } from './trace.ts'
import type { Block, Message } from './types.ts'

/** Which names the model has been told, appended when the deferred tools change (A2, A8). */
export type DeltaNote = {
  readonly type: 'deferred_tools_delta'
  readonly role: 'user'
  readonly content: string
  readonly addedNames: readonly string[]
  readonly removedNames: readonly string[]
  /** How many names had been told before, and from where this was made (A4). */
  readonly announcedBefore: number
  readonly origin: Origin
  readonly step: Step
  readonly tokens: number
  /** Servers whose instructions stand in this note. */
  readonly instructedBy: readonly string[]
}

/** Stands for the messages that a compaction took away, and carries what was loaded in them (C1). */
export type BoundaryNote = {
  readonly type: 'system'
  readonly subtype: 'compact_boundary'
  readonly role: 'user'
  readonly content: string
  readonly compactMetadata: {
    readonly trigger: string
    readonly preCompactDiscoveredTools?: readonly string[]
    readonly loadOrder?: readonly string[]
    /** Deltas among the messages that stayed: the next one is still the first after the compaction (A4). */
    readonly keptDeltas?: number
  }
}

/** Keeps the model from stopping after a bare reference (N3). */
export const TOOL_LOADED = 'Tool loaded.'

const SEARCH_NOTE = 'Tool search: '
const REMINDER = '<system-reminder>\n'

export const reminder = (text: string): string => `${REMINDER}${text}\n</system-reminder>`

/** A remark beside a search's references (S9); it travels on the tool_result as the field `note`. */
export const searchNote = (text: string): string => SEARCH_NOTE + text

export function isAnnouncement(text: string): boolean {
  return text.startsWith(`${REMINDER}Deferred tools`)
}

/** Text that we wrote beside references stays where it is (N4). */
export function isOurText(text: string): boolean {
  return text === TOOL_LOADED || text.startsWith(SEARCH_NOTE) || isAnnouncement(text)
}

/** What a search loaded, on wires without references; `withDefinitions` when they follow in the same text. */
export function loadedNote(names: readonly string[], withDefinitions: boolean): string {
  return `<loaded-tools${withDefinitions ? ' definitions' : ''}>\n${names.join('\n')}\n</loaded-tools>`
}

export function readLoadedNote(content: unknown): { names: string[]; withDefinitions: boolean } | undefined {
  const first = Array.isArray(content) ? (content[0] as Block | undefined)?.text : content
  if (typeof first !== 'string') return undefined
  const match = /^<loaded-tools( definitions)?>\n([A-Za-z0-9_\-\n]+)\n<\/loaded-tools>/.exec(first)
  return match ? { names: (match[2] ?? '').split('\n'), withDefinitions: match[1] !== undefined } : undefined
}

export function readDelta(message: Message): DeltaNote | undefined {
  return message.type === 'deferred_tools_delta' ? (message as DeltaNote) : undefined
}

/** The tools that a boundary carries, in the order in which they were loaded. */
export function readBoundary(message: Message): string[] | undefined {
  if (message.subtype !== 'compact_boundary') return undefined
  const metadata = message.compactMetadata as Partial<BoundaryNote['compactMetadata']> | null | undefined
  return [...new Set([...strings(metadata?.loadOrder), ...strings(metadata?.preCompactDiscoveredTools)])]
}

/** A message as an API takes it: our fields are gone, and so is an entry that is nothing but a note. */
export function withoutNoteFields(message: Message): Message | undefined {
  const isNote = message.type === 'deferred_tools_delta' || message.subtype === 'compact_boundary'
  if (!isNote) return message
  const { role, content } = message
  return role === undefined || content === undefined || content === null ? undefined : { role, content }
}

export function keptDeltas(message: Message): number {
  const kept = (message.compactMetadata as { keptDeltas?: unknown } | null | undefined)?.keptDeltas
  return typeof kept === 'number' ? kept : 0
}

export function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
