// Checks thinking: the form and position of its blocks, and the parameters that go with `enabled`.

import { type Fields, fieldsOf, type Placed, pathOf, textOf, unexpectedTag } from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import type { Turn } from '../turns.ts'

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
  if (!KINDS.includes(type)) return { message: unexpectedTag('thinking', String(type)) }
  const isForced = ['any', 'tool'].includes(textOf(fieldsOf(choice).type))
  return type === 'enabled' && isForced
    ? { message: 'Thinking may not be enabled when tool_choice forces tool use.' }
    : undefined
}

/** Documentation, "Extended thinking": a budget below `max_tokens`, no other temperature than 1, and no `top_k`. */
function checkBudget(request: Fields, betas: readonly string[]): Refusal | undefined {
  const { thinking, max_tokens: maxTokens, temperature = 1, top_k: topK } = request
  const { type, budget_tokens: budget } = fieldsOf(thinking)
  if (type !== 'enabled') return undefined
  if (!Number.isInteger(budget)) return { message: 'thinking.enabled.budget_tokens: Field required' }
  if (Number(budget) < MIN_BUDGET) {
    const rule = `Input should be greater than or equal to ${MIN_BUDGET}`
    return { message: `thinking.enabled.budget_tokens: ${rule}` }
  }
  if (Number(budget) >= Number(maxTokens) && !betas.includes(INTERLEAVED)) {
    return { message: '`max_tokens` must be greater than `thinking.budget_tokens`.' }
  }
  if (temperature !== 1) return { message: '`temperature` may only be set to 1 when thinking is enabled.' }
  return topK === undefined || topK === null
    ? undefined
    : { message: '`top_k` must be unset when thinking is enabled.' }
}

function checkTurn(turn: Turn): Refusal | undefined {
  if (turn.role !== 'assistant') return undefined
  const last = turn.blocks.at(-1)
  if (!last || !isThought(last)) return firstRefusal(turn.blocks, checkForm)
  const fault = `The final block in an assistant message cannot be \`${textOf(last.block.type)}\`.`
  return { message: `messages.${last.message}: ${fault}` }
}

/** SDK, `ThinkingBlockParam` and `RedactedThinkingBlockParam`: neither can be a cache breakpoint. */
function checkForm(placed: Placed): Refusal | undefined {
  if (!isThought(placed)) return undefined
  const { block } = placed
  const fields = block.type === 'thinking' ? ['thinking', 'signature'] : ['data']
  const place = `${pathOf(placed)}.${textOf(block.type)}`
  const missing = fields.find((field) => typeof block[field] !== 'string')
  if (missing) return { message: `${place}.${missing}: Field required` }
  const extra = Object.keys(block).find((field) => field !== 'type' && !fields.includes(field))
  return extra === undefined ? undefined : { message: `${place}.${extra}: Extra inputs are not permitted` }
}

/** Checks that with `enabled` thinking, everything since the last user text starts with a thinking block. */
function checkNewestReply(turns: readonly Turn[]): Refusal | undefined {
  const spoke = turns.findLastIndex((turn) => turn.role === 'user' && !turn.blocks.some(isResult))
  const [first] = turns.slice(spoke + 1).find(({ role }) => role === 'assistant')?.blocks ?? []
  if (!first || isThought(first)) return undefined
  const found = `Expected \`thinking\` or \`redacted_thinking\`, but found \`${textOf(first.block.type)}\`.`
  const rule = 'When `thinking` is enabled, a final `assistant` message must start with a thinking block'
  return {
    message: `${pathOf(first)}.type: ${found} ${rule} (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  }
}

function isResult({ block }: Placed): boolean {
  return block.type === 'tool_result'
}

function isThought({ block }: Placed): boolean {
  return block.type === 'thinking' || block.type === 'redacted_thinking'
}
