// Checks calls and results: each call has one result, at the start of the next turn (wire 7, 10; 1.6).
// Implements wire 7, 10.

import { type Placed, pathOf, textOf } from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import type { Turn } from '../turns.ts'

/** Checks that calls and results match. */
export function checkPairing(turns: readonly Turn[]): Refusal | undefined {
  return (
    checkUnique(turns) ??
    firstRefusal(turns.entries(), ([index, turn]) =>
      turn.role === 'assistant' ? checkAnswered(turn, turns[index + 1]) : checkAsked(turn, turns[index - 1]),
    ) ??
    checkSearches(turns)
  )
}

function ofType(turn: Turn | undefined, type: string): readonly Placed[] {
  return turn?.blocks.filter(({ block }) => block.type === type) ?? []
}

function checkUnique(turns: readonly Turn[]): Refusal | undefined {
  const seen = new Set<string>()
  return firstRefusal(
    turns.flatMap((turn) => ofType(turn, 'tool_use')),
    (use) => {
      const id = textOf(use.block.id)
      if (seen.has(id)) return { message: `${pathOf(use)}: \`tool_use\` ids must be unique` }
      seen.add(id)
      return undefined
    },
  )
}

function checkAnswered(turn: Turn, next: Turn | undefined): Refusal | undefined {
  const answered = new Set(leadingResults(next).map(({ block }) => block.tool_use_id))
  const missing = ofType(turn, 'tool_use').filter(({ block }) => !answered.has(block.id))
  const first = missing[0]
  if (!first) return undefined
  const ids = missing.map(({ block }) => textOf(block.id)).join(', ')
  const fault = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}.`
  const rule = 'Each `tool_use` block must have a corresponding `tool_result` block in the next message.'
  return { message: `messages.${first.message}: ${fault} ${rule}` }
}

/** Returns the results at the start of a turn: only these count as "immediately after". */
function leadingResults(turn: Turn | undefined): readonly Placed[] {
  if (turn?.role !== 'user') return []
  const end = turn.blocks.findIndex(({ block }) => block.type !== 'tool_result')
  return end === -1 ? turn.blocks : turn.blocks.slice(0, end)
}

function checkAsked(turn: Turn, previous: Turn | undefined): Refusal | undefined {
  const asked = new Set(ofType(previous, 'tool_use').map(({ block }) => block.id))
  const seen = new Set<string>()
  return firstRefusal(ofType(turn, 'tool_result'), (result) => {
    const id = textOf(result.block.tool_use_id)
    if (!asked.has(id))
      return { message: unexpected(result, 'tool_result', 'tool_use', 'in the previous message') }
    if (seen.has(id)) {
      const fault = 'each tool_use must have a single result. Found multiple `tool_result` blocks with id'
      return { message: `${pathOf(result)}: ${fault}: ${id}` }
    }
    seen.add(id)
    return undefined
  })
}

function unexpected(result: Placed, type: string, callType: string, where: string): string {
  const id = textOf(result.block.tool_use_id)
  const fault = `unexpected \`tool_use_id\` found in \`${type}\` blocks: ${id}.`
  return `${pathOf(result)}: ${fault} Each \`${type}\` block must have a corresponding \`${callType}\` block ${where}.`
}

/** Checks hosted searches: a result follows its search, at the latest in the next reply. */
function checkSearches(turns: readonly Turn[]): Refusal | undefined {
  const replies = turns.filter((turn) => turn.role === 'assistant')
  const last = turns.at(-1)
  return firstRefusal(
    replies.entries(),
    ([index, turn]) =>
      checkFound(turn, replies[index - 1]) ?? checkSearched(turn, replies[index + 1], turn === last),
  )
}

function checkFound(turn: Turn, early: Turn | undefined): Refusal | undefined {
  const asked = new Set(ofType(early, 'server_tool_use').map(({ block }) => block.id))
  return firstRefusal(turn.blocks, (placed) => {
    const { block } = placed
    if (block.type === 'server_tool_use') asked.add(block.id)
    if (block.type !== 'tool_search_tool_result' || asked.has(block.tool_use_id)) return undefined
    return { message: unexpected(placed, 'tool_search_tool_result', 'server_tool_use', 'before it') }
  })
}

function checkSearched(turn: Turn, late: Turn | undefined, isLast: boolean): Refusal | undefined {
  const waits = ofType(turn, 'tool_use').length > 0
  if (isLast || (waits && late === undefined)) return undefined
  const replies = [
    ...ofType(turn, 'tool_search_tool_result'),
    ...(waits ? ofType(late, 'tool_search_tool_result') : []),
  ]
  const found = new Set(replies.map(({ block }) => block.tool_use_id))
  const searches = ofType(turn, 'server_tool_use').filter(({ block }) =>
    textOf(block.name).startsWith('tool_search_tool_'),
  )
  const open = searches.find(({ block }) => !found.has(block.id))
  if (!open) return undefined
  const fault = `\`${textOf(open.block.name)}\` tool use with id \`${textOf(open.block.id)}\` was found`
  const rule = 'without a corresponding `tool_search_tool_result` block'
  return { message: `messages.${open.message}: ${fault} ${rule}` }
}
