// Rewrites one message of a history to what this request may contain. Each rule looks at one message only.
// Implements M1, G7, L3, N1, N2, N6, N7, C4.

import { isBlock, readDelta, takeRemark, textBlock, withoutNoteFields } from '../history/index.ts'
import { isReference } from '../oracle/index.ts'
import type { Block, Message } from '../types.ts'

/** What the messages of a request may contain. */
export type View = {
  /** Whether tool search is on; if not, announcements and notes are removed (N1, G7). */
  readonly isOpen: boolean
  readonly takesReferences: boolean
  readonly takesAdditions: boolean
  /** Returns whether a reference to this name resolves in this request (N2). */
  readonly declares: (name: string) => boolean
  /** Returns the text of a result whose references cannot be sent. */
  readonly recall: (names: readonly string[]) => string
}

/** Returns the same message, a changed copy, or undefined if nothing is left of it. */
export function rewrite(message: Message, view: View): Message | undefined {
  if (!view.isOpen && readDelta(message)) return undefined
  const plain = withoutNoteFields(message)
  if (!plain || !Array.isArray(plain.content)) return plain
  const role = String(plain.role)
  const change = Object.hasOwn(changes, role) ? changes[role] : undefined
  if (!change) return plain
  const blocks = plain.content as readonly Block[]
  const kept = blocks.flatMap((block) => (isBlock(block) ? change(block, view) : [block]))
  const changed = plain.role === 'user' ? apart(kept) : kept
  if (changed.length === blocks.length && changed.every((block, index) => block === blocks[index]))
    return plain
  return changed.length === 0 ? undefined : { ...plain, content: changed }
}

const changes: Record<string, (block: Block, view: View) => Block[]> = {
  user: (block, view) => [block.type === 'tool_result' ? rewriteResult(block, view) : block],
  assistant: rewriteReply,
  system: rewriteChange,
}

function rewriteResult(block: Block, view: View): Block {
  const result = view.isOpen ? block : takeRemark(block).rest
  if (!Array.isArray(block.content)) return result
  const items = block.content as readonly Block[]
  const isKept = (item: Block) =>
    !isReference(item) || (view.takesReferences && view.declares(String(item.tool_name)))
  const kept = items.filter(isKept)
  if (kept.length === items.length) return result
  const lost = items.filter((item) => !isKept(item)).map((item) => String(item.tool_name))
  return { ...result, content: kept.length > 0 ? kept : [textBlock(sayLost(lost, view))] }
}

/** Moves other blocks after all results, because a result with references may contain nothing else. */
function apart(blocks: readonly Block[]): readonly Block[] {
  const others: Block[] = []
  let isChanged = false
  const results = blocks.map((block) => {
    const items =
      block?.type === 'tool_result' && Array.isArray(block.content) ? (block.content as Block[]) : []
    if (!items.some(isReference) || items.every(isReference)) return block
    isChanged = true
    others.push(...items.filter((item) => !isReference(item) && !isBlank(item)))
    return { ...block, content: items.filter(isReference) }
  })
  return isChanged ? [...results, ...others] : blocks
}

function isBlank({ type, text }: Block): boolean {
  return type === 'text' && String(text).trim() === ''
}

function sayLost(names: readonly string[], view: View): string {
  return view.takesReferences ? `Tools no longer available: ${names.join(', ')}.` : view.recall(names)
}

/** Removes hosted searches and `caller` for back-ends that do not support references. */
function rewriteReply(block: Block, view: View): Block[] {
  if (block.type === 'tool_search_tool_result') return [rewriteHostedResult(block, view)]
  if (view.takesReferences) return [block]
  if (block.type === 'server_tool_use' && /^tool_search_tool_/.test(String(block.name))) return []
  const { caller: _, tool_changes: changes, ...rest } = block
  if (!('caller' in block) && changes === undefined) return [block]
  return [rest]
}

function rewriteHostedResult(block: Block, view: View): Block {
  const content = block.content as Block | null | undefined
  const references = Array.isArray(content?.tool_references)
    ? (content.tool_references as readonly Block[])
    : []
  const names = references.map((reference) => String(reference?.tool_name))
  if (!view.takesReferences) return textBlock(names.length > 0 ? view.recall(names) : 'No tools were found.')
  if (names.every(view.declares)) return block
  const kept = references.filter((reference) => view.declares(String(reference?.tool_name)))
  return { ...block, content: { ...content, tool_references: kept } }
}

function rewriteChange(block: Block, view: View): Block[] {
  if (block.type !== 'tool_addition' && block.type !== 'tool_removal') return [block]
  const tool = block.tool as Block | null | undefined
  const isResolved = tool?.type !== 'tool_reference' || view.declares(String(tool.name))
  return view.takesAdditions && isResolved ? [block] : []
}
