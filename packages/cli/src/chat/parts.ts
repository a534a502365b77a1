// The parts of a conversation, and how they are shown: calls summarised, searches hidden (P).
// Implements P1, P2.
import { builtInCallKinds } from '@toolshelf/agent/internal'
import { type Message, presentMessages, type ToolUse } from '@toolshelf/core'
import { BATCH_TOOL, type DiffLine, type FileChange, fieldsOf, SEARCH_TOOL } from '@toolshelf/core/internal'
import { SCRIPT_TOOL } from '@toolshelf/scripts'
import { visible } from '../terminal/table.ts'
import type { Item } from './items.ts'
import type { StyledLine } from './styled.ts'

export type Part = Speech | Call | Aside

/** Text or thinking of the model. */
export type Speech = {
  readonly kind: 'said' | 'thought'
  readonly text: string
  /** It continues a code block that this line opened. */
  readonly fence?: string
  /** Its reply is still streaming. */
  readonly isOpen: boolean
}

/** A tool call with its result. */
export type Call = {
  readonly kind: 'call'
  /** The call as in the reply. */
  readonly block: Message
  readonly result: Message | undefined
  /** No result is expected. */
  readonly isOver: boolean
  /** Calls of its sub-agent, its script or its batch. */
  readonly inside: readonly InnerCall[]
  readonly change?: FileChange
  /** Files outside of the working folder that it read or changed. */
  readonly outside?: readonly string[]
}

/** A call that a sub-agent, a script or a batch made. */
type InnerCall = { readonly call: ToolUse; readonly result: Message | undefined }

/** A message that is not from the model. */
type Aside = { readonly kind: 'aside'; readonly item: Item }

/** Converts parts to items. Consecutive calls of the collapsible kinds become one item; hidden parts do not interrupt them. */
export function itemsOf(parts: readonly Part[], isVerbose: boolean): Item[] {
  const items: Item[] = []
  let row: Call[] = []
  const close = () => {
    items.push(...summaryOf(row))
    row = []
  }
  for (const part of parts.filter((one) => isSeen(one, isVerbose))) {
    if (isInRow(part, isVerbose)) row.push(part)
    else {
      close()
      items.push(itemOf(part, isVerbose))
    }
  }
  close()
  return items
}

export function isSeen(part: Part, isVerbose: boolean): boolean {
  if (part.kind === 'said') return part.text.trim() !== ''
  return part.kind === 'thought' ? isVerbose && part.text.trim() !== '' : true
}

/** Returns whether a call is part of a collapsed row; hidden searches are, too (P1). */
export function isInRow(part: Part, isVerbose: boolean): part is Call {
  if (part.kind !== 'call' || isVerbose || part.outside) return false
  return shownOf([part])?.type !== 'call'
}

function shownOf(calls: readonly Call[]) {
  const message = { role: 'assistant', content: calls.map(({ block }) => block) }
  return presentMessages([message], { searchTool: SEARCH_TOOL, kinds: builtInCallKinds })[0]
}

function summaryOf(row: readonly Call[]): Item[] {
  const shown = shownOf(row)
  if (shown?.type !== 'summary') return []
  const failed = row.filter(hasFailed).length
  return [{ kind: 'summary', text: failed === 0 ? shown.text : `${shown.text} (${failed} failed)` }]
}

function itemOf(part: Part, isVerbose: boolean): Item {
  if (part.kind === 'aside') return part.item
  if (part.kind === 'call') return callItem(part, isVerbose)
  const { kind, text, fence, isOpen } = part
  return { kind, text: text.trimEnd(), isOpen, ...(fence === undefined ? {} : { fence }) }
}

const MAX_RESULT_LENGTH = 400
const MAX_FAILURE_LENGTH = 200

function callItem(call: Call, isVerbose: boolean): Item {
  const { block, result, inside, change } = call
  const isFailed = hasFailed(call)
  const max = isVerbose ? MAX_RESULT_LENGTH : MAX_FAILURE_LENGTH
  const answer = result && (isVerbose || isFailed) ? [shorten(textIn(result.content), max)] : []
  const within = isVerbose ? inside.map((one) => `  ${signed(one.call, hasFailed(one))}`) : countedCalls(call)
  const title = change
    ? `● ${String(block.name)} ${changeTitle(change)}`
    : titleOf(block, isFailed, isVerbose)
  const places = (call.outside ?? []).map((path) => `  outside of the working folder: ${visible(path)}`)
  return {
    kind: isFailed ? 'failed' : 'call',
    text: [title, ...places, ...within, ...answer].join('\n'),
    ...(change ? { more: diffLines(change, isVerbose ? MAX_VERBOSE : MAX_CHANGED) } : {}),
  }
}

/** Lines of a script that a chat shows. */
const MAX_SCRIPT = 15

function titleOf(block: Message, isFailed: boolean, isVerbose: boolean): string {
  const source = block.name === SCRIPT_TOOL ? fieldsOf(block.input).script : undefined
  if (typeof source !== 'string') return signed(block, isFailed)
  const lines = visible(source).split('\n')
  const max = isVerbose ? MAX_VERBOSE : MAX_SCRIPT
  const rest = lines.length > max ? [`(${lines.length - max} more lines)`] : []
  const shown = [...lines.slice(0, max), ...rest].map((line) => `  │ ${shorten(line, MAX_RESULT_LENGTH)}`)
  return [`${isFailed ? '✗' : '●'} ${SCRIPT_TOOL}`, ...shown].join('\n')
}

const MAX_TOOLS = 10

/** The calls of a script or a batch, by tool; those of sub-agents are shown on demand. */
function countedCalls({ block, inside }: Call): string[] {
  if (block.name !== SCRIPT_TOOL && block.name !== BATCH_TOOL) return []
  const counts = new Map<string, { made: number; failed: number }>()
  for (const one of inside) {
    const { made, failed } = counts.get(one.call.name) ?? { made: 0, failed: 0 }
    counts.set(one.call.name, { made: made + 1, failed: failed + (hasFailed(one) ? 1 : 0) })
  }
  const lines = [...counts].map(([name, { made, failed }]) => {
    const times = made === 1 ? '' : ` × ${made}`
    return `  ${failed > 0 ? '✗' : '●'} ${visible(name)}${times}${failed > 0 ? `, ${failed} failed` : ''}`
  })
  const rest = lines.length - MAX_TOOLS
  return rest > 0 ? [...lines.slice(0, MAX_TOOLS), `  and ${rest} other tools`] : lines
}

/** Lines of a file change that a chat shows. */
const MAX_CHANGED = 30
const MAX_VERBOSE = 400

function signed({ name, input }: Message | ToolUse, isFailed: boolean): string {
  return `${isFailed ? '✗' : '●'} ${callText(String(name), input)}`
}

function hasFailed({ result }: { readonly result: Message | undefined }): boolean {
  return result?.is_error === true
}

/** Returns the replies and results of a finished conversation. */
export function partsOf(messages: readonly Message[]): Part[] {
  const blocks = messages.flatMap(blocksOf)
  const results = new Map(
    blocks.filter((block) => 'tool_use_id' in block).map((block) => [block.tool_use_id, block]),
  )
  return messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(blocksOf)
    .flatMap((block) => partOf(block, results.get(block.id)))
}

function partOf(block: Message, result: Message | undefined): Part[] {
  if (isCall(block)) return [{ kind: 'call', block, result, isOver: true, inside: [] }]
  const speech = (kind: 'said' | 'thought', text: unknown): Part[] =>
    typeof text === 'string' ? [{ kind, text: text.trimStart(), isOpen: false }] : []
  if (block.type === 'thinking') return speech('thought', block.thinking)
  return block.type === 'text' ? speech('said', block.text) : []
}

/** Returns whether a block is a call, of the agent or of the API itself. */
export function isCall({ type }: Message): boolean {
  return type === 'tool_use' || type === 'server_tool_use'
}

function blocksOf({ content }: Message): Message[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}

const MAX_INPUT_LENGTH = 70

/** Returns a call in source notation: get-sum(a: 2, b: 5), with strings in quotes. */
function callText(name: string, input: unknown): string {
  const text =
    typeof input === 'object' && input !== null && !Array.isArray(input)
      ? Object.entries(input)
          .map(([field, value]) => `${field}: ${JSON.stringify(value)}`)
          .join(', ')
      : JSON.stringify(input ?? '')
  return `${name}(${text.length > MAX_INPUT_LENGTH ? `${text.slice(0, MAX_INPUT_LENGTH - 1)}…` : text})`
}

/** Returns the start of a text, with the number of characters left out. */
function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return `${text.slice(0, maxLength)}… (${(text.length - maxLength).toLocaleString('en-US')} more characters)`
}

/** Returns the texts of a result; other content is named. */
function textIn(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : JSON.stringify(content ?? '')
  return content
    .map(({ type, text, tool_name }) => (type === 'text' ? String(text) : String(tool_name ?? `(${type})`)))
    .join('\n')
}

const LOOKS: { readonly [kind in DiffLine['kind']]: { readonly sign: string; readonly color: string } } = {
  added: { sign: '+', color: 'green' },
  removed: { sign: '-', color: 'red' },
  same: { sign: ' ', color: 'gray' },
  gap: { sign: '…', color: 'gray' },
}
const MAX_LINE_LENGTH = 300

/** Renders at most this many lines, and a last one with the number of lines left out. */
export function diffLines(change: FileChange, maxLines: number): StyledLine[] {
  const lines = change.lines.slice(0, maxLines)
  const left = change.lines.length - lines.length + change.left
  const width = String(Math.max(...lines.map(({ line }) => line), 1)).length
  return [
    ...lines.map((one) => ({ spans: [{ text: lineText(one, width), color: LOOKS[one.kind].color }] })),
    ...(left > 0
      ? [{ spans: [{ text: `… and ${left.toLocaleString('en-US')} more lines`, color: 'yellow' }] }]
      : []),
  ]
}

/** Returns `src/a.ts (new, 12 lines)`, or `src/a.ts (+3 −1)`. */
export function changeTitle({ path, isNew, added, removed }: FileChange): string {
  const count = isNew ? `new, ${added} ${added === 1 ? 'line' : 'lines'}` : `+${added} −${removed}`
  return `${visible(path)} (${count})`
}

function lineText({ kind, text, line }: DiffLine, width: number): string {
  if (kind === 'gap') return `${' '.repeat(width)} …`
  const left = text.length - MAX_LINE_LENGTH
  const shown = visible(text.slice(0, MAX_LINE_LENGTH)).replaceAll('\n', '?')
  const rest = left > 0 ? `… (${left} more characters)` : ''
  return `${String(line).padStart(width)} ${LOOKS[kind].sign} ${shown}${rest}`
}
