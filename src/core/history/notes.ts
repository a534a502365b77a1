// The notes we write into a history, each written and read here only.
//
// A note is a whole API message with fields of ours beside `role` and `content`, or a field on a block of ours; the
// request's copy loses those fields. Nobody but the host can write fields, so a tool's output can never forge a note.
// The one note that is plain text, what a search loaded on wires without references, counts only at the very start
// of an answer to our own search call.
// Implements S9, L1, A5, A8, C1.

import type { AnnouncementStep, Block, Message, Origin } from '../types.ts'
import { isToolChange, messageBlocks } from './blocks.ts'

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
  readonly step: AnnouncementStep
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

/** Stands in front of a tool change that lost the user message it followed. */
export const TOOLS_CHANGED = 'The set of tools has changed.'

/** How every announcement begins. */
export const ANNOUNCEMENT = 'Deferred tools'

const SEARCH_NOTE = 'Tool search: '
const REMINDER = 'system-reminder'
const AVAILABLE = 'available-deferred-tools'

export const reminder = (text: string): string => inTag(REMINDER, text)
export const availableTools = (text: string): string => inTag(AVAILABLE, text)

/** Where the model finds the names, for the search tool's own description (A5). */
export function placeOfNames(announce: 'delta' | 'prepend'): string {
  return `<${announce === 'delta' ? REMINDER : AVAILABLE}>`
}

export function writeDelta(fields: Omit<DeltaNote, 'type' | 'role'>): DeltaNote {
  return { type: 'deferred_tools_delta', role: 'user', ...fields }
}

export function writeBoundary(fields: Pick<BoundaryNote, 'content' | 'compactMetadata'>): BoundaryNote {
  return { type: 'system', subtype: 'compact_boundary', role: 'user', ...fields }
}

/** A tool_result with a remark beside its references (S9): the remark travels on the block as the field `note`. */
export function withRemark<Result extends object>(result: Result, remark: string | undefined): Result {
  return remark === undefined ? result : { ...result, note: remark }
}

/** The remark on a block, and the block without it. */
export function takeRemark(block: Block): { remark: string | undefined; rest: Block } {
  if (block.type !== 'tool_result' || !('note' in block)) return { remark: undefined, rest: block }
  const { note, ...rest } = block
  return { remark: typeof note === 'string' ? note : undefined, rest }
}

/** A remark about a search, as the model reads it. */
export const searchNote = (text: string): string => SEARCH_NOTE + text

export function isAnnouncement(text: string): boolean {
  return text.startsWith(`<${REMINDER}>\n${ANNOUNCEMENT}`)
}

/** Text that we wrote beside references stays where it is (N4). */
export function isOurText(text: string): boolean {
  return text === TOOL_LOADED || text.startsWith(SEARCH_NOTE) || isAnnouncement(text)
}

/** Text that a request holds only because tools are deferred: announcements, remarks and reminders of ours. */
export function isDeferralNote(text: string): boolean {
  return (
    isOurText(text) ||
    text.startsWith(`<${AVAILABLE}>`) ||
    text.startsWith(`<${REMINDER}>\nThese deferred tools`)
  )
}

/** What a search loaded, on wires without references. */
export function loadedNote(names: readonly string[]): string {
  return `<loaded-tools>\n${names.join('\n')}\n</loaded-tools>`
}

/** The same where the definitions follow in the same text. */
export function describedNote(names: readonly string[]): string {
  return `<loaded-tools definitions>\n${names.join('\n')}\n</loaded-tools>`
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

/** Tells notes apart: the same for a copy of a note, another for every other message. */
export function noteKey(message: Message): string | undefined {
  const delta = readDelta(message)
  if (delta) return JSON.stringify(['delta', delta.addedNames, delta.removedNames, delta.announcedBefore])
  if (isToolChange(message)) return JSON.stringify(['change', messageBlocks(message).map(({ tool }) => tool)])
  const call = messageBlocks(message).find(({ id, tool_use_id }) => isOurCall(id) || isOurCall(tool_use_id))
  return call && JSON.stringify([message.role, call.id ?? call.tool_use_id])
}

const OUR_CALL = 'toolshelf_'

/** The id of a search that we make in the model's place. */
export const ourCallId = (number: number): string => `${OUR_CALL}${number}`

function isOurCall(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(OUR_CALL)
}

export function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function inTag(tag: string, text: string): string {
  return `<${tag}>\n${text}\n</${tag}>`
}
