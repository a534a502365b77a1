// The parts of a conversation, and how they are shown: calls summarised, searches hidden (P).
// Implements P1, P2.
import type { FileChange } from '../../agent/index.ts'
import { kinds } from '../../agent/tools/index.ts'
import type { Message, ToolUse } from '../../core/index.ts'
import { presentMessages, SEARCH_TOOL } from '../../core/index.ts'
import { visible } from '../../terminal/index.ts'
import { callText, shortened, textIn } from './calls.ts'
import { changeTitle, diffLines } from './diff-lines.ts'
import type { Item } from './items.ts'

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

export type Call = {
  readonly kind: 'call'
  /** The call as in the reply. */
  readonly block: Message
  readonly result: Message | undefined
  /** No result is expected. */
  readonly isOver: boolean
  /** Calls of the call's own sub-agent. */
  readonly inside: readonly InnerCall[]
  /** Its change to a file. */
  readonly change?: FileChange
  /** Files outside of the working folder that it read or changed. */
  readonly outside?: readonly string[]
}

export type InnerCall = { readonly call: ToolUse; readonly result: Message | undefined }

/** A message that is not from the model. */
export type Aside = { readonly kind: 'aside'; readonly item: Item }

/** Consecutive calls of the collapsible kinds become one item; hidden parts do not interrupt them. */
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

/** Whether a call is part of a collapsed row; hidden searches are, too (P1). */
export function isInRow(part: Part, isVerbose: boolean): part is Call {
  if (part.kind !== 'call' || isVerbose || part.outside) return false
  return shownOf([part])?.type !== 'call'
}

function shownOf(calls: readonly Call[]) {
  const message = { role: 'assistant', content: calls.map(({ block }) => block) }
  return presentMessages([message], { searchTool: SEARCH_TOOL, kinds })[0]
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

const LONGEST_RESULT = 400
const LONGEST_FAILURE = 200

function callItem(call: Call, isVerbose: boolean): Item {
  const { block, result, inside, change } = call
  const isFailed = hasFailed(call)
  const most = isVerbose ? LONGEST_RESULT : LONGEST_FAILURE
  const answer = result && (isVerbose || isFailed) ? [shortened(textIn(result.content), most)] : []
  const within = isVerbose ? inside.map((one) => `  ${signed(one.call, hasFailed(one))}`) : []
  const title = change ? `● ${String(block.name)} ${changeTitle(change)}` : signed(block, isFailed)
  const places = (call.outside ?? []).map((path) => `  outside of the working folder: ${visible(path)}`)
  return {
    kind: isFailed ? 'failed' : 'call',
    text: [title, ...places, ...within, ...answer].join('\n'),
    ...(change ? { more: diffLines(change, isVerbose ? MOST_VERBOSE : MOST_CHANGED) } : {}),
  }
}

/** Lines of a file change that a chat shows. */
const MOST_CHANGED = 30
const MOST_VERBOSE = 400

function signed({ name, input }: Message | ToolUse, isFailed: boolean): string {
  return `${isFailed ? '✗' : '●'} ${callText(String(name), input)}`
}

function hasFailed({ result }: { readonly result: Message | undefined }): boolean {
  return result?.is_error === true
}

/** Replies and results of a finished conversation. */
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

export function isCall({ type }: Message): boolean {
  return type === 'tool_use' || type === 'server_tool_use'
}

function blocksOf({ content }: Message): Message[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}
