// Says what a refusal is (wire 11), and checks a conversation as turns, which are adjacent messages of one role: each call has one
// result at the start of the next turn (wire 7, 10; 1.6), and system messages change tools only where they may (wire 42; 1.14).
// Implements wire 7, 10, 11, 42.

import {
  blocksOf,
  type Fields,
  fieldsOf,
  isChange,
  isDirective,
  listOf,
  type Placed,
  pathOf,
  type TurnRole,
  textOf,
  unexpectedTag,
} from '@toolshelf/core/internal'

/** The error with which the API would refuse a request. */
export type ApiError = {
  status: number
  /** The JSON body, as the API would send it. */
  body: {
    type: 'error'
    error: {
      type: 'invalid_request_error' | 'request_too_large'
      message: string
      details?: { error_code: string }
    }
    request_id: string
  }
}

/** A reason to refuse a request, before it becomes an `ApiError`. */
export type Refusal =
  | string
  | { readonly message: string; readonly code?: string; readonly isTooLarge?: boolean }

export function toApiError(refusal: Refusal, requestId: string): ApiError {
  const { message, code, isTooLarge = false } = typeof refusal === 'string' ? { message: refusal } : refusal
  const details = code === undefined ? {} : { details: { error_code: code } }
  return {
    status: isTooLarge ? 413 : 400,
    body: {
      type: 'error',
      error: { type: isTooLarge ? 'request_too_large' : 'invalid_request_error', message, ...details },
      request_id: requestId,
    },
  }
}

/** The API's words for a value that must be an object. */
export const NO_OBJECT = 'Input should be a valid dictionary or object to extract fields from'

/** Refuses the first field that is not known. */
export function checkExtra(
  fields: Fields,
  isKnown: (field: string) => boolean,
  place: string,
): Refusal | undefined {
  const extra = Object.keys(fields).find((field) => !isKnown(field))
  return extra === undefined ? undefined : `${place}.${extra}: Extra inputs are not permitted`
}

/** Returns the first refusal; checks no later items. */
export function firstRefusal<Item>(
  items: Iterable<Item>,
  check: (item: Item) => Refusal | undefined,
): Refusal | undefined {
  for (const item of items) {
    const refusal = check(item)
    if (refusal) return refusal
  }
  return undefined
}

export type Turn = { readonly role: TurnRole; readonly message: number; readonly blocks: readonly Placed[] }

export function turnsOf(messages: unknown): Turn[] {
  const turns: { role: TurnRole; message: number; blocks: Placed[] }[] = []
  for (const [message, value] of listOf(messages).entries()) {
    const fields = fieldsOf(value)
    if (isDirective(fields)) continue
    const role = fields.role as TurnRole
    const last = turns.at(-1)
    const turn = last?.role === role ? last : { role, message, blocks: [] }
    if (turn !== last) turns.push(turn)
    for (const [index, block] of blocksOf(fields.content).entries()) {
      turn.blocks.push({ message, index, role, block })
    }
  }
  return turns
}

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
      if (seen.has(id)) return `${pathOf(use)}: \`tool_use\` ids must be unique`
      seen.add(id)
      return undefined
    },
  )
}

function checkAnswered(turn: Turn, next: Turn | undefined): Refusal | undefined {
  const results = next?.role === 'user' ? next.blocks : []
  // Only the results at the start of a turn count as "immediately after".
  const end = [...results, undefined].findIndex((placed) => placed?.block.type !== 'tool_result')
  const answered = new Set(results.slice(0, end).map(({ block }) => block.tool_use_id))
  const missing = ofType(turn, 'tool_use').filter(({ block }) => !answered.has(block.id))
  if (!missing[0]) return undefined
  const ids = missing.map(({ block }) => textOf(block.id)).join(', ')
  const fault = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}.`
  const rule = 'Each `tool_use` block must have a corresponding `tool_result` block in the next message.'
  return `messages.${missing[0].message}: ${fault} ${rule}`
}

function checkAsked(turn: Turn, previous: Turn | undefined): Refusal | undefined {
  const asked = new Set(ofType(previous, 'tool_use').map(({ block }) => block.id))
  const seen = new Set<string>()
  return firstRefusal(ofType(turn, 'tool_result'), (result) => {
    const id = textOf(result.block.tool_use_id)
    if (!asked.has(id)) return unexpected(result, 'tool_result', 'tool_use', 'in the previous message')
    if (seen.has(id)) {
      const fault = 'each tool_use must have a single result. Found multiple `tool_result` blocks with id'
      return `${pathOf(result)}: ${fault}: ${id}`
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
    return unexpected(placed, 'tool_search_tool_result', 'server_tool_use', 'before it')
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
  return `messages.${open.message}: ${fault} ${rule}`
}

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
  if (betas.includes(INLINE_TOOLS)) return undefined
  if (!betas.includes(TOOL_CHANGES)) return unexpectedTag(pathOf(change), block.type)
  const { type } = fieldsOf(block.tool)
  return type === 'tool_definition'
    ? unexpectedTag(`${pathOf(change)}.${textOf(block.type)}.tool`, type)
    : undefined
}

const BY_REFERENCE = ['tool_reference', 'mcp_tool_reference', 'mcp_toolset_reference']

function checkTarget(change: Placed): Refusal | undefined {
  const { block } = change
  const place = `${pathOf(change)}.${textOf(block.type)}.tool`
  const tool = fieldsOf(block.tool)
  const type = textOf(tool.type)
  if (type === 'tool_definition' && block.type === 'tool_addition') return undefined
  if (!BY_REFERENCE.includes(type)) return unexpectedTag(place, type)
  const field = type === 'tool_reference' ? 'name' : 'server_name'
  return typeof tool[field] === 'string' ? undefined : `${place}.${type}.${field}: Field required`
}

function checkPlace(
  turn: Turn,
  before: Turn | undefined,
  after: Turn | undefined,
  changesTools: boolean,
): Refusal | undefined {
  const path = `messages.${turn.message}`
  const follows = before?.role === 'user' || (before?.role === 'assistant' && endsInServerResult(before))
  if (!follows) return `${path}: a system message must directly follow a user turn`
  if (after && after.role !== 'assistant') {
    return `${path}: a system message must be last or be followed by an assistant turn`
  }
  if (!changesTools || before?.role === 'user') return undefined
  return `${path}: tools cannot be changed directly after a paused turn`
}

/** Whether a turn was paused: it ends in a server tool's result, and has no client call that waits for one. */
function endsInServerResult(turn: Turn): boolean {
  const waits = turn.blocks.some(({ block }) => block.type === 'tool_use')
  return !waits && textOf(turn.blocks.at(-1)?.block.type).endsWith('_tool_result')
}
