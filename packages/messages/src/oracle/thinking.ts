// Checks thinking: its form and place, the parameters that go with it, and, for models that bind it to everything before it, that this
// is unchanged (wire 44).
// Implements wire 44.

import {
  type Fields,
  fieldsOf,
  hash,
  listOf,
  type Placed,
  pathOf,
  textOf,
  toJson,
  unexpectedTag,
  type WalkStep,
  walkRequest,
  withoutCacheControl,
} from '@toolshelf/core/internal'
import { THINKING_BINDING } from '../types.ts'
import { checkExtra, firstRefusal, type Refusal, type Turn } from './turns.ts'

export function checkThinking(
  request: Fields,
  turns: readonly Turn[],
  betas: readonly string[],
  isWhole: boolean,
): Refusal | undefined {
  return (
    checkConfig(request) ??
    (isWhole ? checkBudget(request, betas) : undefined) ??
    firstRefusal(turns, checkTurn) ??
    (fieldsOf(request.thinking).type === 'enabled' ? checkNewestReply(turns) : undefined)
  )
}

/** SDK, `ThinkingConfigParam`. */
const KINDS: readonly unknown[] = ['enabled', 'disabled', 'adaptive', 'between_tools']
/** SDK, `ThinkingConfigEnabled.budget_tokens`. */
const MIN_BUDGET = 1024
/** Documentation, "Extended thinking": with it the budget may exceed `max_tokens`. */
const INTERLEAVED = 'interleaved-thinking-2025-05-14'

/** Documentation, "Extended thinking": `enabled` thinking cannot be combined with a forced tool. */
function checkConfig({ thinking, tool_choice: choice }: Fields): Refusal | undefined {
  if (thinking === undefined || thinking === null) return undefined
  const { type } = fieldsOf(thinking)
  if (!KINDS.includes(type)) return unexpectedTag('thinking', type)
  const isForced = ['any', 'tool'].includes(textOf(fieldsOf(choice).type))
  return type === 'enabled' && isForced
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined
}

/** Documentation, "Extended thinking": a budget below `max_tokens`, no other temperature than 1, and no `top_k`. */
function checkBudget(request: Fields, betas: readonly string[]): Refusal | undefined {
  const { thinking, max_tokens: maxTokens, temperature = 1, top_k: topK } = request
  const { type, budget_tokens: budget } = fieldsOf(thinking)
  if (type !== 'enabled') return undefined
  if (!Number.isInteger(budget)) return 'thinking.enabled.budget_tokens: Field required'
  if (Number(budget) < MIN_BUDGET) {
    return `thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_BUDGET}`
  }
  if (Number(budget) >= Number(maxTokens) && !betas.includes(INTERLEAVED)) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`.'
  }
  if (temperature !== 1) return '`temperature` may only be set to 1 when thinking is enabled.'
  return topK === undefined || topK === null ? undefined : '`top_k` must be unset when thinking is enabled.'
}

function checkTurn(turn: Turn): Refusal | undefined {
  if (turn.role !== 'assistant') return undefined
  const last = turn.blocks.at(-1)
  if (!last || !isThought(last)) return firstRefusal(turn.blocks, checkForm)
  const fault = `The final block in an assistant message cannot be \`${textOf(last.block.type)}\`.`
  return `messages.${last.message}: ${fault}`
}

/** SDK, `ThinkingBlockParam` and `RedactedThinkingBlockParam`: neither can be a cache breakpoint. */
function checkForm(placed: Placed): Refusal | undefined {
  if (!isThought(placed)) return undefined
  const { block } = placed
  const fields = block.type === 'thinking' ? ['thinking', 'signature'] : ['data']
  const place = `${pathOf(placed)}.${textOf(block.type)}`
  const missing = fields.find((field) => typeof block[field] !== 'string')
  if (missing) return `${place}.${missing}: Field required`
  return checkExtra(block, (field) => field === 'type' || fields.includes(field), place)
}

/** Checks that with `enabled` thinking, everything since the last user text starts with a thinking block. */
function checkNewestReply(turns: readonly Turn[]): Refusal | undefined {
  const asks = ({ role, blocks }: Turn) =>
    role === 'user' && blocks.every(({ block }) => block.type !== 'tool_result')
  const spoke = turns.findLastIndex(asks)
  const [first] = turns.slice(spoke + 1).find(({ role }) => role === 'assistant')?.blocks ?? []
  if (!first || isThought(first)) return undefined
  const found = `Expected \`thinking\` or \`redacted_thinking\`, but found \`${textOf(first.block.type)}\`.`
  const rule = 'When `thinking` is enabled, a final `assistant` message must start with a thinking block'
  return `${pathOf(first)}.type: ${found} ${rule} (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`
}

function isThought({ block }: Placed): boolean {
  return block.type === 'thinking' || block.type === 'redacted_thinking'
}

/**
 * Returns the signature that such a model puts on thinking in its reply, after the blocks of `reply`.
 *
 * @example
 * const signature = signThinking(prepared.request)
 * messages.push({ role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature }] })
 */
export function signThinking(request: unknown, reply: readonly unknown[] = []): string {
  const fields = fieldsOf(request)
  const messages = listOf(fields.messages)
  const answered = { ...fields, messages: [...messages, { role: 'assistant', content: reply }] }
  return SIGNED + chain(answered).end
}

/** Refuses thinking that `signThinking` bound to another conversation; accepts signatures of any other origin. */
export function checkBoundThinking(request: unknown, betas: readonly string[]): Refusal | undefined {
  const { block_binding: binding } = fieldsOf(fieldsOf(request).thinking)
  const isDropped = fieldsOf(binding).prefix_mismatch_behavior === 'drop_block'
  if (isDropped && betas.includes(THINKING_BINDING)) return undefined
  const broken = chain(request).before.find(({ step, prefix }) => {
    const signature = textOf(step.block.signature)
    return step.block.type === 'thinking' && signature.startsWith(SIGNED) && signature !== SIGNED + prefix
  })
  if (!broken) return undefined
  const fault = 'Invalid `signature` in `thinking` block. The block is bound to a different conversation.'
  return `${pathOf(broken.step)}: ${fault}`
}

const SIGNED = 'oracle:'

type Link = { readonly step: WalkStep; readonly prefix: string }

/**
 * Computes a hash of everything before each block, and before what would follow: system, visible tools, earlier content; without
 * thinking, cache breakpoints, and deferred tools that nothing before the block refers to.
 */
function chain(request: unknown): { before: Link[]; end: string } {
  const { tools, system, steps } = walkRequest(request)
  let prefix = hash(toJson([tools, system]))
  const before: Link[] = []
  for (const step of steps) {
    before.push({ step, prefix })
    if (isThought(step)) continue
    const loaded = step.segments.filter((segment) => segment.kind === 'functions')
    prefix = hash(toJson([prefix, step.role, withoutCacheControl(step.block), loaded]))
  }
  return { before, end: prefix }
}
