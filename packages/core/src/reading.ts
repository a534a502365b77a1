// Reads a request as the API and the model do: its tools, its blocks in order, what they say about tools, which definitions the
// model sees where (wire 12–16), how long that is, and what is cached.
// Implements W1, wire 5, 12, 13, 14, 15, 16, 43.

import {
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  omitFields,
  textOf,
  toJson,
  withoutCacheControl,
} from './lib/json.ts'
import { oncePerFrozen } from './lib/objects.ts'
import { tokensFor } from './tokens.ts'

/** Returns what the model sees of a tool once it is visible, without fields that only one request adds. */
export const shownDefinition = oncePerFrozen((tool: Fields): string =>
  toJson(withoutCacheControl(omitFields(tool, 'defer_loading'))),
)

const TOOLSET = /^(computer|browser)_toolset_\d{8}$/

/** Returns `custom`, or the type of a tool that the API defines. */
export function kindOf(tool: Fields): string {
  return textOf(tool.type) || 'custom'
}

/** Returns whether an entry is a toolset. */
export function isToolset(tool: Fields): boolean {
  return TOOLSET.test(kindOf(tool))
}

/** Returns whether each enabled member that a toolset configures is deferred; other members are ignored. */
export function memberDeferrals(toolset: Fields): boolean[] {
  return Object.values(fieldsOf(toolset.configs))
    .filter(isFields)
    .filter((member) => member.enabled !== false)
    .map((member) => member.defer_loading === true)
}

/** Returns the name that references use: for a toolset, its family or its server. */
export function nameOf(tool: Fields): string {
  if (tool.name !== undefined) return textOf(tool.name)
  return TOOLSET.exec(kindOf(tool))?.[1] ?? textOf(tool.mcp_server_name)
}

/** Returns whether an entry is deferred. */
export function isDeferred(tool: Fields): boolean {
  if (isToolset(tool)) {
    const members = memberDeferrals(tool)
    return members.length > 0 && members.every(Boolean)
  }
  if (tool.type === 'mcp_toolset') return fieldsOf(tool.default_config).defer_loading === true
  return tool.defer_loading === true
}

/** The role of a turn. */
export type TurnRole = 'user' | 'assistant' | 'system'

/** A block with its position: the index of its message in the request, and its own index there. */
export type Placed = {
  readonly message: number
  readonly index: number
  readonly role: TurnRole
  readonly block: Fields
}

/** Returns whether a system message only sets `output_config`; it is not shown to the model and may be anywhere. */
export function isDirective(message: Fields): boolean {
  const { role, content, output_config: config } = message
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0)
  return role === 'system' && isEmpty && isFields(config) && Object.keys(config).length > 0
}

/** Returns content as blocks; a string becomes one text block. */
export function blocksOf(content: unknown): readonly Fields[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOf(content).map(fieldsOf)
}

/** Returns the path of a block as in the API's error messages. */
export function pathOf(placed: { readonly message: number; readonly index: number }): string {
  return `messages.${placed.message}.content.${placed.index}`
}

/** Returns the `tool_reference` blocks inside the result of a client's search or of a hosted one. */
export function referencesIn(block: Fields): readonly Fields[] {
  if (block.type === 'tool_result') return blocksOf(block.content).filter(isReference)
  if (block.type !== 'tool_search_tool_result') return []
  return listOf(fieldsOf(block.content).tool_references).filter(isFields).filter(isReference)
}

/** Returns whether a content item is a `tool_reference`; accepts null, which a broken history may contain. */
export function isReference(block: Fields | null): boolean {
  return block?.type === 'tool_reference'
}

/** A tool change in the middle of a conversation; its references use `name`, not `tool_name`. */
export type ToolChange = {
  readonly kind: 'addition' | 'removal'
  /** The tool's name; for an MCP tool or toolset its server, which is what `tools` declares. */
  readonly name: string
  /** The definition of a tool that is added by value. */
  readonly definition: Fields | undefined
}

/** Returns the tool change that a block makes. */
export function changeIn(block: Fields): ToolChange | undefined {
  if (!isChange(block)) return undefined
  const kind = block.type === 'tool_addition' ? 'addition' : 'removal'
  const tool = fieldsOf(block.tool)
  if (tool.type === 'tool_definition') {
    const definition = fieldsOf(tool.definition)
    return { kind, name: nameOf(definition), definition }
  }
  const name = tool.type === 'tool_reference' ? textOf(tool.name) : textOf(tool.server_name)
  return { kind, name, definition: undefined }
}

/** Returns whether a block can show or hide tools. */
export function mayChangeView({ type, content }: Fields): boolean {
  if (type === 'tool_result')
    return Array.isArray(content) && content.some((item) => isReference(fieldsOf(item)))
  return CHANGING.has(type)
}

const CHANGING: ReadonlySet<unknown> = new Set([
  ...['tool_search_tool_result', 'tool_addition', 'tool_removal', 'compaction'],
])

/** Returns whether a block is a tool change. */
export function isChange(block: Fields): boolean {
  return block.type === 'tool_addition' || block.type === 'tool_removal'
}

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
export function walkRequest(request: unknown, isSkipped?: (message: Fields) => boolean): RequestWalk {
  const { view, steps } = follow(request, isSkipped)
  const { immediate, scaffold } = view.declared
  return {
    tools: immediate.map((tool) => segmentOf(asFunction('tools', tool))),
    scaffold: scaffold.map(segmentOf),
    system: blocksOf(fieldsOf(request).system).map((block) => segmentOf(plain('system', block))),
    steps,
    // Most callers need few of these texts.
    get visible() {
      return new Map([...view.visible].map(([name, tool]) => [name, shownDefinition(tool)]))
    },
  }
}

function follow(request: unknown, isSkipped: (message: Fields) => boolean = () => false) {
  const { tools, messages } = fieldsOf(request)
  const view = viewOf(readTools(listOf(tools)))
  const list = listOf(messages).map(fieldsOf)
  const lastUser = list.findLastIndex(({ role }) => role === 'user')
  const steps: WalkStep[] = []
  for (const [message, fields] of list.entries()) {
    if (isSkipped(fields) || isDirective(fields)) continue
    const role = fields.role === 'assistant' || fields.role === 'system' ? fields.role : 'user'
    const isHidden = isCleared(fields) && message < lastUser
    for (const [index, block] of blocksOf(fields.content).entries())
      steps.push(stepAt({ message, index, role, block }, view, isHidden))
  }
  return { view, steps }
}

/** Whether the next user message clears this one. */
function isCleared({ role, clear_at }: Fields): boolean {
  return role === 'system' && clear_at === 'next_user_message'
}

/** The entries of `tools`: all definitions, those visible from the start, and the line that any deferred one adds. */
type Tools = {
  readonly definitions: ReadonlyMap<string, Fields>
  readonly visible: ReadonlyMap<string, Fields>
  readonly immediate: readonly Fields[]
  readonly scaffold: readonly Piece[]
  /** How long all that is read of them at the start is. */
  readonly characters: number
}

const readTools = oncePerFrozen((tools: readonly unknown[]): Tools => {
  const definitions = new Map<string, Fields>()
  const visible = new Map<string, Fields>()
  const immediate: Fields[] = []
  for (const tool of tools.map(fieldsOf)) {
    const name = nameOf(tool)
    definitions.set(name, tool)
    if (isDeferred(tool)) continue
    visible.set(name, tool)
    immediate.push(tool)
  }
  const scaffold: Piece[] = immediate.length < tools.length ? [{ kind: 'tools', before: SCAFFOLD }] : []
  let size: number | undefined
  return {
    definitions,
    visible,
    immediate,
    scaffold,
    get characters() {
      size ??= immediate.reduce((sum, tool) => sum + sizeOf([asFunction('tools', tool)]), sizeOf(scaffold))
      return size
    },
  }
})

const SCAFFOLD = 'Further tools can be loaded while the conversation runs.'

/** Which tools are defined and which are visible, at one point of the conversation. */
type View = {
  readonly declared: Tools
  /** Definitions added by value. */
  readonly added: Map<string, Fields>
  /** Copied when it first changes: most conversations change nothing. */
  visible: ReadonlyMap<string, Fields>
  /** Changes made by the current block. */
  revealed: (readonly [name: string, tool: Fields])[]
  removed: string[]
}

function viewOf(declared: Tools): View {
  return { declared, added: new Map(), visible: declared.visible, revealed: [], removed: [] }
}

function visibleIn(view: View): Map<string, Fields> {
  if (view.visible === view.declared.visible) view.visible = new Map(view.visible)
  return view.visible as Map<string, Fields>
}

function stepAt(place: Placed, view: View, isHidden: boolean): WalkStep {
  const read = () => {
    const pieces = piecesOf(place.role, place.block, view).map(segmentOf)
    return isHidden ? [] : pieces
  }
  if (!mayChangeView(place.block)) {
    // Most callers need only the visible tools, so the text of a block is built on access.
    let made: readonly PromptSegment[] | undefined
    return {
      ...place,
      revealed: NOTHING,
      removed: NOTHING,
      get segments() {
        made ??= read()
        return made
      },
    }
  }
  view.revealed = []
  view.removed = []
  const segments = read()
  const revealed = view.revealed.map(([name, tool]) => ({ name, definition: shownDefinition(tool) }))
  return { ...place, segments, revealed, removed: view.removed }
}

const NOTHING: readonly never[] = Object.freeze([])

/** A part of what the model reads, not yet written: a text, and a tool or a block as JSON between two of them. */
type Piece = Pick<PromptSegment, 'kind'> & {
  readonly before: string
  readonly tool?: Fields
  readonly block?: Fields
  readonly after?: string
}

/** Writes a piece, without `caller`; its text is built on access. */
function segmentOf({ kind, before, tool, block, after = '' }: Piece): PromptSegment {
  return {
    kind,
    get text() {
      if (tool) return before + shownDefinition(tool) + after
      return block ? before + toJson(withoutCacheControl(omitFields(block, 'caller'))) : before
    },
  }
}

/** Returns the length of pieces; writes none of them. */
function sizeOf(pieces: readonly Piece[]): number {
  let size = 0
  for (const { before, tool, block, after = '' } of pieces) {
    size += before.length + after.length
    if (tool) size += definitionSize(tool)
    else if (block) size += jsonSize(block, NOT_READ)
  }
  return size
}

function piecesOf(kind: PromptSegment['kind'], block: Fields, view: View): Piece[] {
  switch (block.type) {
    case 'thinking':
      return [{ kind: 'thinking', before: textOf(block.thinking) }]
    case 'redacted_thinking':
      return [{ kind: 'thinking', before: textOf(block.data) }]
    case 'tool_result': {
      const inner = blocksOf(block.content).flatMap((item) =>
        isReference(item) ? reveal(textOf(item.tool_name), view) : plain(kind, item),
      )
      return resultOf(kind, omitFields(block, 'content'), inner)
    }
    case 'tool_search_tool_result': {
      const content = omitFields(fieldsOf(block.content), 'tool_references')
      const inner = referencesIn(block).flatMap((item) => reveal(textOf(item.tool_name), view))
      return resultOf(kind, { ...block, content }, inner)
    }
    case 'tool_addition':
    case 'tool_removal':
      return change(changeIn(block), view)
    case 'compaction': {
      const changes = listOf(block.tool_changes).flatMap((one) => change(changeIn(fieldsOf(one)), view))
      return [{ kind, before: textOf(block.content) }, ...changes]
    }
    default:
      return [plain(kind, block)]
  }
}

/** The closing tag tells a block added to a result from one that follows it. */
function resultOf(kind: PromptSegment['kind'], block: Fields, inner: readonly Piece[]): Piece[] {
  return [{ kind, before: '<result>', block }, ...inner, { kind, before: '</result>' }]
}

function plain(kind: PromptSegment['kind'], block: Fields): Piece {
  return block.type === 'text' ? { kind, before: textOf(block.text) } : { kind, before: '', block }
}

function change(made: ToolChange | undefined, view: View): Piece[] {
  if (!made) return []
  const { kind, name, definition } = made
  if (kind === 'removal') {
    if (!view.visible.has(name)) return []
    visibleIn(view).delete(name)
    view.removed.push(name)
    return [{ kind: 'removal', before: `The tool ${name} is no longer available.` }]
  }
  if (definition) view.added.set(name, definition)
  return reveal(name, view)
}

/** Shows a whole definition in place (wire 13, 14), unless exactly this one is already visible (wire 16). */
function reveal(name: string, view: View): Piece[] {
  const tool = view.added.get(name) ?? view.declared.definitions.get(name)
  const shown = view.visible.get(name)
  // Only a tool that is added by value twice has two objects.
  if (!tool || shown === tool || (shown && shownDefinition(shown) === shownDefinition(tool))) return []
  visibleIn(view).set(name, tool)
  view.revealed.push([name, tool])
  const piece = asFunction('functions', tool)
  return [{ ...piece, before: `<functions>\n${piece.before}`, after: `${piece.after}\n</functions>` }]
}

function asFunction(kind: PromptSegment['kind'], tool: Fields): Piece {
  return { kind, before: '<function>', tool, after: '</function>' }
}

/**
 * Renders tools, system and the conversation, with each loaded definition at the place that loaded it.
 *
 * @example
 * const read = renderRequest(prepared.request).map(({ kind, text }) => `${kind}: ${text}`)
 */
export function renderRequest(request: unknown): PromptSegment[] {
  const { tools, scaffold, system, steps } = walkRequest(request)
  return [...tools, ...scaffold, ...system, ...steps.flatMap((step) => step.segments)]
}

/** Returns the tools whose definitions are visible at the end of the request, in the order in which they appeared. */
export function visibleTools(request: unknown): string[] {
  return [...follow(request).view.visible.keys()]
}

/** Estimates the tokens of what the model reads, from its length. */
export function countTokens(request: unknown): number {
  return tokensFor(readingOf(request).characters)
}

/** The result of a comparison: if the prefix broke, the index, the segment before and the segment now. */
type PrefixCheck =
  | { extends: true }
  | { extends: false; at: number; expected: PromptSegment; found: PromptSegment | undefined }

/**
 * Compares two renderings; a prompt cache holds where the second begins with the whole first.
 *
 * @example
 * expect(extendsPrefix(renderRequest(previous), renderRequest(next))).toEqual({ extends: true })
 */
export function extendsPrefix(
  previous: readonly PromptSegment[],
  next: readonly PromptSegment[],
): PrefixCheck {
  for (const [at, expected] of previous.entries()) {
    const found = next[at]
    if (found?.kind !== expected.kind || found.text !== expected.text) {
      return { extends: false, at, expected, found }
    }
  }
  return { extends: true }
}

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

/** Measures a request; builds no text, so that it is cheap enough for every request. */
export function readingOf(request: unknown): Reading {
  const { tools, system, messages } = fieldsOf(request)
  const view = viewOf(readTools(listOf(tools)))
  const list = listOf(messages).map(fieldsOf)
  const lastUser = list.findLastIndex(({ role }) => role === 'user')
  let characters = view.declared.characters + sizeOf(blocksOf(system).map((block) => plain('system', block)))
  for (const [index, message] of list.entries()) {
    const size = quietSize(message) ?? messageSize(message, view)
    if (!isCleared(message) || index >= lastUser) characters += size
  }
  return { characters, visibleTools: view.visible.size }
}

/** Returns the size of a message that neither shows nor hides a tool; undefined for others. */
const quietSize = oncePerFrozen((message: Fields): number | undefined =>
  blocksOf(message.content).some(mayChangeView) ? undefined : messageSize(message, NO_VIEW),
)

/** For messages that do not depend on the view. */
const NO_VIEW = viewOf(readTools([]))

function messageSize(message: Fields, view: View): number {
  if (isDirective(message)) return 0
  return blocksOf(message.content).reduce((sum, block) => sum + sizeOf(piecesOf('user', block, view)), 0)
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

/** Documentation, "Prompt caching": up to four breakpoints, counted over tools, system and messages together. */
export const MAX_MARKS = 4

/** Counts breakpoints. SDK, `MessageCreateParams.cache_control`: one on the request counts as one on its last block. */
export function countMarks(request: Fields): number {
  const last = blocksOf(fieldsOf(listOf(request.messages).at(-1)).content).at(-1)
  const isAutomatic = isFields(request.cache_control) && !isFields(last?.cache_control)
  return marksOf(request).length + (isAutomatic ? 1 : 0)
}

/** A cache breakpoint and its place. */
export type Mark = { readonly place: string; readonly control: unknown }

/** Returns the breakpoints in the order in which the API reads them. */
export function marksOf({ tools, system, messages }: Fields): Mark[] {
  const marks: Mark[] = []
  for (const [index, tool] of listOf(tools).entries()) addMark(marks, fieldsOf(tool), `tools.${index}`)
  for (const [index, block] of blocksOf(system).entries()) addMark(marks, block, `system.${index}`)
  for (const [index, message] of listOf(messages).entries())
    addInner(marks, fieldsOf(message).content, `messages.${index}.content`, MAX_DEPTH)
  return marks
}

/** Deeper than any block that the API knows. */
const MAX_DEPTH = 5

function addMark(marks: Mark[], block: Fields, place: string): void {
  if (block.cache_control === undefined || block.cache_control === null) return
  marks.push({ place: `${place}.cache_control`, control: block.cache_control })
}

/** Adds the breakpoints of blocks, and of blocks inside results, documents and lists of references. */
function addInner(marks: Mark[], content: unknown, place: string, depth: number): void {
  if (depth === 0) return
  const list = isFields(content) ? content.tool_references : content
  for (const [index, value] of listOf(list).entries()) {
    const block = fieldsOf(value)
    const path = `${place}.${index}`
    addInner(marks, block.content, `${path}.content`, depth - 1)
    addInner(marks, fieldsOf(block.source).content, `${path}.source.content`, depth - 1)
    addMark(marks, block, path)
  }
}

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
