// Checks the other parameters of a request, and how a conversation may end.
// Implements wire 32.

import {
  changeIn,
  entriesOf,
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  textOf,
} from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import type { Turn } from '../turns.ts'

/** Checks parameters; with `isWhole` the request is complete, so parameters that a host could still add are required. */
export function checkParameters(
  request: Fields,
  turns: readonly Turn[],
  isWhole: boolean,
): Refusal | undefined {
  return (
    (isWhole ? (checkModel(request) ?? checkLength(request) ?? checkSampling(request)) : undefined) ??
    checkChoice(request, turns) ??
    checkEnd(request, turns)
  )
}

/** SDK, `MessageCreateParams.messages`. */
const MAX_MESSAGES = 100_000

function checkModel({ model, messages }: Fields): Refusal | undefined {
  if (model === undefined) return { message: 'model: Field required' }
  if (typeof model !== 'string' || model === '') return { message: 'model: Input should be a valid string' }
  if (listOf(messages).length <= MAX_MESSAGES) return undefined
  return { message: `messages: List should have at most ${MAX_MESSAGES} items` }
}

/** SDK, `MessageCreateParams.max_tokens`: 0 fills the prompt cache. */
function checkLength({ max_tokens: maxTokens }: Fields): Refusal | undefined {
  if (maxTokens === undefined) return { message: 'max_tokens: Field required' }
  if (!Number.isInteger(maxTokens)) return { message: 'max_tokens: Input should be a valid integer' }
  return Number(maxTokens) >= 0
    ? undefined
    : { message: 'max_tokens: Input should be greater than or equal to 0' }
}

/** Documentation, "Create a Message": temperature from 0 to 1; stop sequences hold more than white space. */
function checkSampling({ temperature, stop_sequences: stops }: Fields): Refusal | undefined {
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 1)) {
    return { message: 'temperature: range: 0..1' }
  }
  return firstRefusal(listOf(stops), (stop) =>
    textOf(stop).trim() === ''
      ? { message: 'stop_sequences: each stop sequence must contain non-whitespace' }
      : undefined,
  )
}

/** SDK, `ToolChoice`. */
const CHOICES: readonly unknown[] = ['auto', 'any', 'tool', 'none']

/**
 * A choice needs tools, and a forced tool must be one of them. Whether it may be a deferred one is not published (wire
 * 32).
 */
function checkChoice({ tool_choice: choice, tools }: Fields, turns: readonly Turn[]): Refusal | undefined {
  if (choice === undefined || choice === null) return undefined
  const { type, name } = fieldsOf(choice)
  if (!isFields(choice) || !CHOICES.includes(type)) {
    return {
      message: `tool_choice: Input tag '${String(type)}' found using 'type' does not match any of the expected tags`,
    }
  }
  const added = turns.flatMap(({ blocks }) => blocks.flatMap(({ block }) => changeIn(block)?.name ?? []))
  const names = new Set([...entriesOf(tools).map((entry) => entry.name), ...added])
  if (names.size === 0) {
    return { message: 'tool_choice: tool_choice may only be specified while providing tools' }
  }
  if (type !== 'tool' || names.has(textOf(name))) return undefined
  return { message: `tool_choice.tool: Tool '${textOf(name)}' not found in provided tools` }
}

/** Documentation, "Prefill Claude's response": models since Opus 4.6 and Sonnet 4.6 refuse the start of a reply. */
const NO_PREFILL = /(?:opus|sonnet|haiku)-(?:4[-.](?:[6-9]|\d\d)(?!\d)|[5-9])|fable|mythos/i

/** The same: the start of a reply cannot end with white space. A reply that was paused after a search may continue. */
function checkEnd({ model }: Fields, turns: readonly Turn[]): Refusal | undefined {
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return undefined
  const { type, text } = last.blocks.at(-1)?.block ?? {}
  const isPaused = last.blocks.some(({ block }) => /^server_tool_use$|_tool_result$/.test(textOf(block.type)))
  if (NO_PREFILL.test(textOf(model)) && !isPaused) {
    const rule = 'The conversation must end with a user message.'
    return { message: `This model does not support assistant message prefill. ${rule}` }
  }
  if (type !== 'text' || textOf(text) === textOf(text).trimEnd()) return undefined
  return { message: 'messages: final assistant content cannot end with trailing whitespace' }
}
