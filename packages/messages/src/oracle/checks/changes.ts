// Checks system messages within a conversation, and the betas that let them change the tools (wire 42; 1.14).
// Implements wire 42.

import { fieldsOf, isChange, type Placed, pathOf, textOf, unexpectedTag } from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import type { Turn } from '../turns.ts'

/** The beta for tools that messages define. */
export const INLINE_TOOLS = 'inline-tools-2026-09-15'
const TOOL_CHANGES = 'mid-conversation-tool-changes-2026-07-01'

/** Checks all system messages within a conversation. */
export function checkSystemTurns(turns: readonly Turn[], betas: readonly string[]): Refusal | undefined {
  return firstRefusal(turns.entries(), ([index, turn]) => {
    if (turn.role !== 'system') return undefined
    const changes = turn.blocks.filter(({ block }) => isChange(block))
    return (
      firstRefusal(changes, (change) => checkBetas(change, betas)) ??
      firstRefusal(changes, checkTarget) ??
      checkPlace(turn, turns[index - 1], turns[index + 1], changes.length > 0)
    )
  })
}

function checkBetas(change: Placed, betas: readonly string[]): Refusal | undefined {
  const { block } = change
  const isInline = betas.includes(INLINE_TOOLS)
  if (!isInline && !betas.includes(TOOL_CHANGES)) {
    return { message: unexpectedTag(pathOf(change), textOf(block.type)) }
  }
  const { type } = fieldsOf(block.tool)
  if (type !== 'tool_definition' || isInline) return undefined
  return { message: unexpectedTag(`${pathOf(change)}.${textOf(block.type)}.tool`, type) }
}

const BY_REFERENCE = ['tool_reference', 'mcp_tool_reference', 'mcp_toolset_reference']

function checkTarget(change: Placed): Refusal | undefined {
  const { block } = change
  const place = `${pathOf(change)}.${textOf(block.type)}.tool`
  const tool = fieldsOf(block.tool)
  const type = textOf(tool.type)
  if (type === 'tool_definition' && block.type === 'tool_addition') return undefined
  if (!BY_REFERENCE.includes(type)) return { message: unexpectedTag(place, type) }
  const field = type === 'tool_reference' ? 'name' : 'server_name'
  return typeof tool[field] === 'string'
    ? undefined
    : { message: `${place}.${type}.${field}: Field required` }
}

function checkPlace(
  turn: Turn,
  before: Turn | undefined,
  after: Turn | undefined,
  changesTools: boolean,
): Refusal | undefined {
  const path = `messages.${turn.message}`
  const follows = before?.role === 'user' || (before?.role === 'assistant' && endsInServerResult(before))
  if (!follows) return { message: `${path}: a system message must directly follow a user turn` }
  if (after && after.role !== 'assistant') {
    return { message: `${path}: a system message must be last or be followed by an assistant turn` }
  }
  if (!changesTools || before?.role === 'user') return undefined
  return { message: `${path}: tools cannot be changed directly after a paused turn` }
}

/** Whether a turn was paused: it ends in a server tool's result, and has no client call that waits for one. */
function endsInServerResult(turn: Turn): boolean {
  const waits = turn.blocks.some(({ block }) => block.type === 'tool_use')
  return !waits && textOf(turn.blocks.at(-1)?.block.type).endsWith('_tool_result')
}
