// Reads blocks of unknown shape, and writes and reads the notes that the shelf adds to a history; no other file knows their
// format.
//
// A note is an API message with additional fields, or an additional field on a block; requests are sent without these
// fields. Only the host can write fields, so a tool's output cannot forge a note. One note is plain text: the list of
// tools that a search loaded, on wires without references. It counts only at the start of the result of our own search.
// Implements A5, A8, C1, L1, L3, S9.

import type { AnnouncementStep, Block, Message, Origin, TextBlock, ToolResult, ToolUse } from './types.ts'

/** Returns a message's blocks; a string becomes one text block, any other content none. */
export function messageBlocks(message: Message | undefined): readonly Block[] {
  const content = message?.content
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)]
  return blocksIn(content)
}

export function blocksIn(list: unknown): readonly Block[] {
  return Array.isArray(list) ? list.filter(isBlock) : []
}

export function isBlock(value: unknown): value is Block {
  return typeof value === 'object' && value !== null
}

/** Returns whether a message is a system message that adds or removes tools. */
export function isToolChange(message: Message): boolean {
  if (message?.role !== 'system') return false
  return messageBlocks(message).some(({ type }) => type === 'tool_addition' || type === 'tool_removal')
}

export function textBlock(text: string): TextBlock {
  return { type: 'text', text }
}

export function textResult(call: Pick<ToolUse, 'id'>, text: string): ToolResult {
  return { type: 'tool_result', tool_use_id: call.id, content: [textBlock(text)] }
}

export function refuse(call: ToolUse, text: string): ToolResult {
  return { ...textResult(call, text), is_error: true }
}

/** Announces names to the model; appended when the deferred tools change (A2, A8). */
export type DeltaNote = {
  /** Identifies the note; requests are sent without this field. */
  readonly type: 'deferred_tools_delta'
  /** Notes are sent as user messages. */
  readonly role: 'user'
  /** The text that the model reads, in a `<system-reminder>`. */
  readonly content: string
  /** Names that can be searched for from here on. */
  readonly addedNames: readonly string[]
  /** Names that are no longer available. */
  readonly removedNames: readonly string[]
  /** How many names were announced before; `origin` is the kind of conversation (A4). */
  readonly announcedBefore: number
  /** The kind of conversation that announced them. */
  readonly origin: Origin
  /** How much of each tool the text prints (A7). */
  readonly step: AnnouncementStep
  /** Estimated tokens of the text. */
  readonly tokens: number
  /** Servers whose instructions this note contains. */
  readonly instructedBy: readonly string[]
}

/** Replaces the messages that a compaction removed, and lists the tools loaded in them (C1). */
type BoundaryNote = {
  /** With `subtype`, identifies the note; requests are sent without both fields. */
  readonly type: 'system'
  /** See `type`. */
  readonly subtype: 'compact_boundary'
  /** Notes are sent as user messages. */
  readonly role: 'user'
  /** The summary that the model reads. */
  readonly content: string
  /** What caused the compaction, and the tools loaded before it: sorted, and in the order of loading (C1). */
  readonly compactMetadata: {
    readonly trigger: string
    readonly preCompactDiscoveredTools?: readonly string[]
    readonly loadOrder?: readonly string[]
    /** Deltas among the kept messages; the next delta is still the first after the compaction (A4). */
    readonly keptDeltas?: number
  }
}

/** Text after references, which keeps the model from stopping after a bare one (N3). */
export const TOOL_LOADED = 'Tool loaded.'

/** The text of a user message in front of a tool change that has lost its own. */
export const TOOLS_CHANGED = 'The set of tools has changed.'

/** The beginning of every announcement. */
export const ANNOUNCEMENT = 'Deferred tools'

const SEARCH_NOTE = 'Tool search: '
const REMINDER = 'system-reminder'
const AVAILABLE = 'available-deferred-tools'

/** Wraps a text in the tag of reminders. */
export const reminder = (text: string): string => inTag(REMINDER, text)
/** Wraps a text in the tag of the list of names. */
export const availableTools = (text: string): string => inTag(AVAILABLE, text)

/** Returns the tag that contains the names, for the search tool's description (A5). */
export function placeOfNames(announce: 'delta' | 'prepend'): string {
  return `<${announce === 'delta' ? REMINDER : AVAILABLE}>`
}

export function writeDelta(fields: Omit<DeltaNote, 'type' | 'role'>): DeltaNote {
  return { type: 'deferred_tools_delta', role: 'user', ...fields }
}

export function writeBoundary(fields: Pick<BoundaryNote, 'content' | 'compactMetadata'>): BoundaryNote {
  return { type: 'system', subtype: 'compact_boundary', role: 'user', ...fields }
}

/** Adds a remark to a tool_result with references (S9), in the field `note`. */
export function withRemark<Result extends object>(result: Result, remark: string | undefined): Result {
  return remark === undefined ? result : { ...result, note: remark }
}

/** Returns the remark of a block, and the block without it. */
export function takeRemark(block: Block): { remark: string | undefined; rest: Block } {
  if (block.type !== 'tool_result' || !('note' in block)) return { remark: undefined, rest: block }
  const { note, ...rest } = block
  return { remark: typeof note === 'string' ? note : undefined, rest }
}

/** Formats a remark about a search for the model. */
export const searchNote = (text: string): string => SEARCH_NOTE + text

export function isAnnouncement(text: string): boolean {
  return text.startsWith(`<${REMINDER}>\n${ANNOUNCEMENT}`)
}

/** Returns whether the shelf wrote the text beside references; such text is not moved (N4). */
export function isOurText(text: string): boolean {
  return text === TOOL_LOADED || text.startsWith(SEARCH_NOTE) || isAnnouncement(text)
}

/** Returns whether a request contains the text only because tools are deferred: announcements, remarks and reminders. */
export function isDeferralNote(text: string): boolean {
  return (
    isOurText(text) ||
    text.startsWith(`<${AVAILABLE}>`) ||
    text.startsWith(`<${REMINDER}>\nThese deferred tools`)
  )
}

/** Lists what a search loaded, on wires without references; says whether the text also contains the definitions. */
export function loadedNote(names: readonly string[], hasDefinitions = false): string {
  return `<loaded-tools${hasDefinitions ? ' definitions' : ''}>\n${names.join('\n')}\n</loaded-tools>`
}

/** Reads a loaded note at the start of a result; returns undefined if there is none. */
export function readLoadedNote(content: unknown): { names: string[]; hasDefinitions: boolean } | undefined {
  const first = Array.isArray(content) ? (content[0] as Block | undefined)?.text : content
  if (typeof first !== 'string') return undefined
  const match = /^<loaded-tools( definitions)?>\n([A-Za-z0-9_\-\n]+)\n<\/loaded-tools>/.exec(first)
  return match ? { names: (match[2] ?? '').split('\n'), hasDefinitions: match[1] !== undefined } : undefined
}

/** Returns the message if it is a note that announces names. */
export function readDelta(message: Message): DeltaNote | undefined {
  return message.type === 'deferred_tools_delta' ? (message as DeltaNote) : undefined
}

/** Returns the loaded tools that a boundary lists, in the order of loading, and how many announcements were kept. */
export function readBoundary(message: Message): { loaded: Iterable<string>; keptDeltas: number } | undefined {
  if (message.subtype !== 'compact_boundary') return undefined
  const metadata = message.compactMetadata as Partial<BoundaryNote['compactMetadata']> | null | undefined
  const { loadOrder, preCompactDiscoveredTools, keptDeltas } = metadata ?? {}
  return {
    loaded: [...strings(loadOrder), ...strings(preCompactDiscoveredTools)],
    keptDeltas: typeof keptDeltas === 'number' ? keptDeltas : 0,
  }
}

/** Removes the shelf's fields from a message; returns undefined if nothing is left to send. */
export function withoutNoteFields(message: Message): Message | undefined {
  const isNote = message.type === 'deferred_tools_delta' || message.subtype === 'compact_boundary'
  if (!isNote) return message
  const { role, content } = message
  return role === undefined || content === undefined || content === null ? undefined : { role, content }
}

/** Returns a key that identifies a note and its copies; undefined for other messages. */
export function noteKey(message: Message): string | undefined {
  const delta = readDelta(message)
  if (delta) return JSON.stringify(['delta', delta.addedNames, delta.removedNames, delta.announcedBefore])
  if (isToolChange(message)) return JSON.stringify(['change', messageBlocks(message).map(({ tool }) => tool)])
  const call = messageBlocks(message).find(({ id, tool_use_id }) => isOurCall(id) || isOurCall(tool_use_id))
  return call && JSON.stringify([message.role, call.id ?? call.tool_use_id])
}

const OUR_CALL = 'toolshelf_'

/** Returns the id of a search that the shelf makes in place of the model. */
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
