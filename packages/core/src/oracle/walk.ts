// Walks a request in the order in which the model reads it, and tracks which tools become visible where (wire 12–16).
// Implements W1, wire 5, 12, 13, 14, 15, 16, 43.

import {
  type Fields,
  fieldsOf,
  listOf,
  omitFields,
  textOf,
  toJson,
  withoutCacheControl,
} from '../lib/json.ts'
import { changeIn, isReference, mayChangeView, referencesIn, type ToolChange } from './references.ts'
import { type Entry, entriesOf, entryOf } from './tool-entries.ts'
import { blocksOf, type Placed, placedBlocks, type TurnRole } from './turns.ts'

/** A piece of what the model sees. Each block is its own piece, so that a longer turn still has the same start. */
export type PromptSegment = {
  /** The part of the prompt that it belongs to. */
  readonly kind: 'tools' | 'system' | 'user' | 'assistant' | 'thinking' | 'functions' | 'removal'
  /** What the model reads. */
  readonly text: string
}

/** One block of the messages as the model reads it. */
export type WalkStep = Placed & {
  /** What the model reads of this block, with the definitions that it reveals. */
  readonly segments: readonly PromptSegment[]
  /** Tools that become visible at this block, each with its definition as JSON; `removed` are those that become hidden. */
  readonly revealed: readonly RevealedTool[]
  /** Names of tools that become hidden at this block. */
  readonly removed: readonly string[]
}

/** A tool that becomes visible. */
export type RevealedTool = { readonly name: string; readonly definition: string }

/** A request as the model reads it, block by block. */
export type RequestWalk = {
  /** The definitions that are visible from the start. */
  readonly tools: readonly PromptSegment[]
  /** The line that the presence of any deferred tool adds. */
  readonly scaffold: readonly PromptSegment[]
  /** The system prompt. */
  readonly system: readonly PromptSegment[]
  /** The blocks of all messages, in order. */
  readonly steps: readonly WalkStep[]
  /** Visible definitions by name, at the end of the request. */
  readonly visible: ReadonlyMap<string, string>
}

/**
 * Walks a request. Messages for which `isSkipped` returns true get no steps: they must neither show nor hide a tool.
 *
 * @example
 * const { visible } = walkRequest(prepared.request)
 * expect([...visible.keys()]).toContain('mcp__github__create_issue')
 */
export function walkRequest(
  request: unknown,
  isSkipped: (message: Fields) => boolean = () => false,
): RequestWalk {
  const { tools, system, messages } = fieldsOf(request)
  const entries = entriesOf(tools)
  const immediate = entries.filter((entry) => !entry.deferred)
  const view = viewOf(entries, immediate)
  const cleared = clearedMessages(messages)
  const steps = placedBlocks(messages, isSkipped).map((place) => stepAt(place, view))
  return {
    tools: immediate.map((entry) => ({ kind: 'tools', text: asFunction(entry.definition) })),
    scaffold: entries.length > immediate.length ? [{ kind: 'tools', text: SCAFFOLD }] : [],
    system: blocksOf(system).map((block) => ({ kind: 'system', text: plain(block) })),
    steps:
      cleared.size === 0
        ? steps
        : steps.map((step) => (cleared.has(step.message) ? { ...step, segments: [] } : step)),
    visible: view.visible,
  }
}

const SCAFFOLD = 'Further tools can be loaded while the conversation runs.'

/** Which tools are defined and which are visible, at one point of the conversation. */
type View = {
  readonly definitions: Map<string, string>
  readonly visible: Map<string, string>
  /** Changes made by the current block. */
  revealed: RevealedTool[]
  removed: string[]
}

function viewOf(entries: readonly Entry[], immediate: readonly Entry[]): View {
  const pair = (entry: Entry): [string, string] => [entry.name, entry.definition]
  return {
    definitions: new Map(entries.map(pair)),
    visible: new Map(immediate.map(pair)),
    revealed: [],
    removed: [],
  }
}

function stepAt({ message, index, role, block }: Placed, view: View): WalkStep {
  if (!mayChangeView(block)) {
    // Most callers need only the visible tools, so the text of a block is built on access.
    let made: readonly PromptSegment[] | undefined
    return {
      message,
      index,
      role,
      block,
      revealed: NOTHING,
      removed: NOTHING,
      get segments() {
        made ??= segmentsOf(role, block, view)
        return made
      },
    }
  }
  view.revealed = []
  view.removed = []
  const segments = segmentsOf(role, block, view)
  return { message, index, role, block, segments, revealed: view.revealed, removed: view.removed }
}

const NOTHING: readonly never[] = Object.freeze([])

function segmentsOf(role: TurnRole, block: Fields, view: View): PromptSegment[] {
  switch (block.type) {
    case 'text':
      return [{ kind: role, text: plain(block) }]
    case 'thinking':
      return [{ kind: 'thinking', text: textOf(block.thinking) }]
    case 'redacted_thinking':
      return [{ kind: 'thinking', text: textOf(block.data) }]
    case 'tool_result':
      return resultSegments(role, block, view)
    case 'tool_search_tool_result':
      return searchSegments(role, block, view)
    case 'tool_addition':
    case 'tool_removal':
      return changeSegments(changeIn(block), view)
    case 'compaction':
      return [
        { kind: role, text: textOf(block.content) },
        ...listOf(block.tool_changes).flatMap((change) => changeSegments(changeIn(fieldsOf(change)), view)),
      ]
    default:
      return [{ kind: role, text: plain(block) }]
  }
}

// The closing tag distinguishes a block added to a result from one that follows it.
function resultSegments(role: TurnRole, block: Fields, view: View): PromptSegment[] {
  const inner = blocksOf(block.content).flatMap((item): PromptSegment[] =>
    isReference(item) ? reveal(textOf(item.tool_name), view) : [{ kind: role, text: plain(item) }],
  )
  const opening: PromptSegment = {
    kind: role,
    // Built on access, as above.
    get text() {
      return `<result>${toJson(withoutCacheControl(omitFields(block, 'content')))}`
    },
  }
  return [opening, ...inner, { kind: role, text: '</result>' }]
}

function searchSegments(role: TurnRole, block: Fields, view: View): PromptSegment[] {
  const content = fieldsOf(block.content)
  const open = toJson(withoutCacheControl({ ...block, content: omitFields(content, 'tool_references') }))
  const inner = referencesIn(block).flatMap((item) => reveal(textOf(item.tool_name), view))
  return [{ kind: role, text: `<result>${open}` }, ...inner, { kind: role, text: '</result>' }]
}

function changeSegments(change: ToolChange | undefined, view: View): PromptSegment[] {
  if (!change) return []
  if (change.kind === 'removal') {
    if (!view.visible.delete(change.name)) return []
    view.removed.push(change.name)
    return [{ kind: 'removal', text: `The tool ${change.name} is no longer available.` }]
  }
  if (change.definition) view.definitions.set(change.name, entryOf(change.definition).definition)
  return reveal(change.name, view)
}

/** Shows a whole definition in place (wire 13, 14), unless exactly this one is already visible (wire 16). */
function reveal(name: string, view: View): PromptSegment[] {
  const definition = view.definitions.get(name)
  if (definition === undefined || view.visible.get(name) === definition) return []
  view.visible.set(name, definition)
  view.revealed.push({ name, definition })
  return [{ kind: 'functions', text: `<functions>\n${asFunction(definition)}\n</functions>` }]
}

function asFunction(definition: string): string {
  return `<function>${definition}</function>`
}

/** Returns a block as the model reads it, without `caller`. */
function plain(block: Fields): string {
  return block.type === 'text' ? textOf(block.text) : toJson(withoutCacheControl(omitFields(block, 'caller')))
}

/** Returns the indices of messages with `clear_at: 'next_user_message'` that a later user message clears. */
function clearedMessages(messages: unknown): ReadonlySet<number> {
  const list = listOf(messages)
  const lastUser = list.findLastIndex((message) => fieldsOf(message).role === 'user')
  const cleared = new Set<number>()
  for (let index = 0; index < lastUser; index++) {
    const { role, clear_at } = fieldsOf(list[index])
    if (role === 'system' && clear_at === 'next_user_message') cleared.add(index)
  }
  return cleared
}
