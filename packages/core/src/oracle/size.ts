// Measures the length of what the model reads of a request. Builds no text, so that it is cheap enough for every request.

import { type Fields, fieldsOf, isFields, listOf, textOf } from '../lib/json.ts'
import { oncePerFrozen } from '../lib/objects.ts'
import { changeIn, isReference, mayChangeView } from './references.ts'
import { entryOf, isDeferred, nameOf } from './tool-entries.ts'
import { blocksOf, isDirective } from './turns.ts'

/** The size of what the model reads. */
type Reading = {
  /**
   * Characters of everything visible: tools, system, conversation, and each definition that a reference loads. JSON
   * escapes do not count, and an image or a document counts as `MEDIA_CHARACTERS`.
   */
  readonly characters: number
  /** Tools whose definitions are visible at the end. */
  readonly visibleTools: number
}

/** About 1,600 tokens, the cost of a large image. */
export const MEDIA_CHARACTERS = 4640

/** Measures a request. */
export function readingOf(request: unknown): Reading {
  const view = startOf(request)
  return { characters: charactersOf(request, view), visibleTools: visibleCount(view) }
}

function startOf(request: unknown): View {
  const declared = readTools(listOf(fieldsOf(request).tools))
  return { declared, added: new Map(), changed: new Map() }
}

function charactersOf(request: unknown, view: View): number {
  const { system, messages } = fieldsOf(request)
  let { characters } = view.declared
  for (const block of blocksOf(system)) characters += plainSize(block)
  const list = listOf(messages)
  const lastUser = list.findLastIndex((message) => fieldsOf(message).role === 'user')
  for (let index = 0; index < list.length; index++) {
    const message = fieldsOf(list[index])
    const isCleared =
      message.role === 'system' && message.clear_at === 'next_user_message' && index < lastUser
    const size = quietSize(message) ?? messageSize(message, view)
    if (!isCleared) characters += size
  }
  return characters
}

/** Returns the size of a message that neither shows nor hides a tool; undefined for others. */
const quietSize = oncePerFrozen((message: Fields): number | undefined =>
  blocksOf(message.content).some(mayChangeView) ? undefined : messageSize(message, NO_VIEW),
)

function messageSize(message: Fields, view: View): number {
  if (isDirective(message)) return 0
  return blocksOf(message.content).reduce((sum, block) => sum + blockSize(block, view), 0)
}

/** The entries of `tools`: all definitions, and those visible from the start. */
type Tools = {
  readonly definitions: ReadonlyMap<string, Fields>
  readonly visible: ReadonlyMap<string, Fields>
  readonly characters: number
}

const readTools = oncePerFrozen((tools: readonly unknown[]): Tools => {
  const definitions = new Map<string, Fields>()
  const visible = new Map<string, Fields>()
  let characters = 0
  let isDeferring = false
  for (const tool of tools.map(fieldsOf)) {
    const name = nameOf(tool)
    definitions.set(name, tool)
    if (isDeferred(tool)) isDeferring = true
    else {
      visible.set(name, tool)
      characters += FUNCTION + definitionSize(tool)
    }
  }
  return { definitions, visible, characters: characters + (isDeferring ? SCAFFOLD : 0) }
})

/** Returns whether a request asks for its prompt to be cached. */
export function hasCacheMarks(request: unknown): boolean {
  const { cache_control: mark, tools, system, messages } = fieldsOf(request)
  return (
    isFields(mark) ||
    someMarked(listOf(tools)) ||
    someMarked(listOf(system)) ||
    listOf(messages).some((message) => isMessageMarked(fieldsOf(message)))
  )
}

const someMarked = oncePerFrozen((blocks: readonly unknown[]): boolean => blocks.some(isMarked))

const isMessageMarked = oncePerFrozen(({ content }: Fields): boolean => listOf(content).some(isMarked))

function isMarked(block: unknown): boolean {
  const { cache_control, type, content } = fieldsOf(block)
  return isFields(cache_control) || (type === 'tool_result' && listOf(content).some(isMarked))
}

/** Lengths of the tags around a definition, and of the line that the first deferred tool adds. */
const FUNCTION = '<function></function>'.length
const FUNCTIONS = '<functions>\n\n</functions>'.length + FUNCTION
const RESULT = '<result></result>'.length
const SCAFFOLD = 'Further tools can be loaded while the conversation runs.'.length
const REMOVAL = 'The tool  is no longer available.'.length

type View = {
  readonly declared: Tools
  /** Definitions added by value. */
  readonly added: Map<string, Fields>
  /** Definitions shown since the start; undefined for hidden ones. */
  readonly changed: Map<string, Fields | undefined>
}

/** For messages that do not depend on the view. */
const NO_VIEW: View = {
  declared: { definitions: new Map(), visible: new Map(), characters: 0 },
  added: new Map(),
  changed: new Map(),
}

function shownIn({ declared, changed }: View, name: string): Fields | undefined {
  return changed.has(name) ? changed.get(name) : declared.visible.get(name)
}

function visibleCount({ declared, changed }: View): number {
  let count = declared.visible.size
  for (const [name, shown] of changed)
    count += Number(shown !== undefined) - Number(declared.visible.has(name))
  return count
}

function blockSize(block: Fields, view: View): number {
  switch (block.type) {
    case 'text':
      return textOf(block.text).length
    case 'thinking':
      return textOf(block.thinking).length
    case 'redacted_thinking':
      return textOf(block.data).length
    case 'tool_result':
      return resultSize(block, view)
    case 'tool_search_tool_result': {
      const references = listOf(fieldsOf(block.content).tool_references).filter(isFields).filter(isReference)
      const names = references.reduce((sum, { tool_name: name }) => sum + reveal(textOf(name), view), 0)
      const { tool_references: _, ...content } = fieldsOf(block.content)
      return RESULT + jsonSize({ ...block, content }, NOT_READ) + names
    }
    case 'tool_addition':
    case 'tool_removal':
      return changeSize(block, view)
    case 'compaction': {
      const changes = listOf(block.tool_changes).map((change) => changeSize(fieldsOf(change), view))
      return textOf(block.content).length + changes.reduce((sum, size) => sum + size, 0)
    }
    default:
      return plainSize(block)
  }
}

function resultSize({ content, ...rest }: Fields, view: View): number {
  let size = RESULT + jsonSize(rest, NOT_READ)
  for (const item of blocksOf(content))
    size += isReference(item) ? reveal(textOf(item.tool_name), view) : plainSize(item)
  return size
}

function changeSize(block: Fields, view: View): number {
  const change = changeIn(block)
  if (!change) return 0
  if (change.kind === 'removal') {
    if (!shownIn(view, change.name)) return 0
    view.changed.set(change.name, undefined)
    return REMOVAL + change.name.length
  }
  if (change.definition) view.added.set(change.name, change.definition)
  return reveal(change.name, view)
}

/** Returns the size of a definition that becomes visible; 0 if it already is. */
function reveal(name: string, view: View): number {
  const definition = view.added.get(name) ?? view.declared.definitions.get(name)
  const shown = shownIn(view, name)
  if (!definition || (shown && isSame(shown, definition))) return 0
  view.changed.set(name, definition)
  return FUNCTIONS + definitionSize(definition)
}

/** Compares by identity first: only a tool that is added by value twice has two objects. */
function isSame(one: Fields, other: Fields): boolean {
  return one === other || entryOf(one).definition === entryOf(other).definition
}

function plainSize(block: Fields): number {
  return block.type === 'text' ? textOf(block.text).length : jsonSize(block, NOT_READ)
}

const definitionSize = oncePerFrozen((tool: Fields): number => jsonSize(tool, NOT_IN_DEFINITION))

const NOT_READ: ReadonlySet<string> = new Set(['cache_control', 'caller'])
const NOT_IN_DEFINITION: ReadonlySet<string> = new Set(['cache_control', 'defer_loading'])
const EVERYTHING: ReadonlySet<string> = new Set()
/** Fields with data of the caller, in which keys such as `cache_control` are only data. */
const OPAQUE = new Set(['input', 'input_schema', 'input_examples'])
/** Maximum number of values, for a value that contains itself. */
const MAX_VALUES = 5_000_000

/** Counts the characters of a value as JSON without some fields. Not recursive, because JSON may be deep. */
function jsonSize(value: unknown, leftOut: ReadonlySet<string>): number {
  const values: unknown[] = [value]
  let size = 0
  for (let count = 0; values.length > 0 && count < MAX_VALUES; count++) {
    const next = values.pop()
    if (typeof next === 'string') size += next.length + 2
    else if (Array.isArray(next)) {
      size += 2 + Math.max(0, next.length - 1)
      for (const item of next) values.push(item)
    } else if (!isFields(next)) size += String(next ?? null).length
    else if (next.type === 'base64' && 'data' in next) size += MEDIA_CHARACTERS
    else size += fieldsSize(next, leftOut, values)
  }
  return size
}

function fieldsSize(fields: Fields, leftOut: ReadonlySet<string>, values: unknown[]): number {
  let size = 1
  let isEmpty = true
  for (const name in fields) {
    const inner = fields[name]
    if (inner === undefined || (leftOut !== EVERYTHING && leftOut.has(name))) continue
    size += name.length + 4
    isEmpty = false
    if (typeof inner === 'string') size += inner.length + 2
    else if (leftOut !== EVERYTHING && OPAQUE.has(name)) size += jsonSize(inner, EVERYTHING)
    else values.push(inner)
  }
  return isEmpty ? 2 : size
}
