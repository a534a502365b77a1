// Validates a request as the API does, and returns the API's error: the order of all checks, the parameters, the body.
// Implements W1, wire 32.

import {
  changeIn,
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  nameOf,
  textOf,
  unexpectedTag,
} from '@toolshelf/core/internal'
import { checkContents, checkMarks, checkMessages, checkSystem, withoutUnknown } from './content.ts'
import { checkOldProxy } from './old-proxy.ts'
import { checkBoundThinking, checkThinking } from './thinking.ts'
import { checkReferences, checkSchemas, checkTools } from './tools.ts'
import {
  type ApiError,
  checkPairing,
  checkSystemTurns,
  INLINE_TOOLS,
  NO_OBJECT,
  type Refusal,
  type Turn,
  toApiError,
  turnsOf,
} from './turns.ts'

/** Options of `validateRequest`. */
export type ValidateOptions = {
  /** The values of the `anthropic-beta` header. */
  readonly betas?: readonly string[]
  /** Behaves like a proxy from before tool search (W2). Default: false. */
  readonly isOldProxy?: boolean
  /** Behaves like a model that binds thinking to everything before it (wire 44). Default: false. */
  readonly bindsThinking?: boolean
  /** The request is complete, as sent to `/v1/messages`: checks model, `max_tokens` and thinking budget too. Default: false. */
  readonly isComplete?: boolean
  /**
   * Checks only what tool search depends on. For a gateway in front of an API that may know more block types or have other
   * limits, and that reports them itself. Default: false.
   */
  readonly isLenient?: boolean
  /** The `request_id` of the error. Default: `req_oracle`. */
  readonly requestId?: string
}

/**
 * Returns the error with which the API would refuse a request; undefined if it would accept it.
 *
 * @example
 * expect(validateRequest(prepared.request)).toBeUndefined()
 */
export function validateRequest(request: unknown, options: ValidateOptions = {}): ApiError | undefined {
  const refusal = check(request, options)
  return refusal === undefined ? undefined : toApiError(refusal, options.requestId ?? 'req_oracle')
}

/** The same for a gateway in front of an API that may know more: fields that are new to us are no mistakes (wire 34). */
export function validateKnown(request: Fields, betas: readonly string[]): ApiError | undefined {
  return validateRequest(withoutUnknown(request), { betas, isLenient: true })
}

function check(request: unknown, options: ValidateOptions): Refusal | undefined {
  if (!isFields(request)) return NO_OBJECT
  const betas = options.betas ?? []
  const { tools, system, messages } = request
  const shape =
    (options.isOldProxy ? checkOldProxy(request, betas) : undefined) ??
    checkTools(tools, betas.includes(INLINE_TOOLS)) ??
    checkSystem(system) ??
    checkMessages(messages)
  if (shape) return shape
  const turns = turnsOf(messages)
  return (
    checkSystemTurns(turns, betas) ??
    checkPairing(turns) ??
    checkReferences(tools, turns) ??
    (options.isLenient ? undefined : checkDetails(request, turns, options)) ??
    (options.bindsThinking ? checkBoundThinking(request, betas) : undefined)
  )
}

/** Further rules of the API, each with its source. */
function checkDetails(
  request: Fields,
  turns: readonly Turn[],
  { betas = [], isComplete = false }: ValidateOptions,
): Refusal | undefined {
  return (
    (isComplete ? checkWhole(request) : undefined) ??
    checkChoice(request, turns) ??
    checkEnd(request, turns) ??
    checkSchemas(request.tools, turns) ??
    checkContents(turns) ??
    checkThinking(request, turns, betas, isComplete) ??
    checkMarks(request) ??
    checkBody(request)
  )
}

/** SDK, `MessageCreateParams.messages`. */
const MAX_MESSAGES = 100_000

/** What a host could still add. SDK: `max_tokens` 0 fills the prompt cache. Documentation, "Create a Message": temperature, stops. */
function checkWhole(request: Fields): Refusal | undefined {
  const { model, messages, max_tokens: maxTokens, temperature = 0, stop_sequences: stops } = request
  if (model === undefined) return 'model: Field required'
  if (typeof model !== 'string' || model === '') return 'model: Input should be a valid string'
  if (listOf(messages).length > MAX_MESSAGES)
    return `messages: List should have at most ${MAX_MESSAGES} items`
  if (maxTokens === undefined) return 'max_tokens: Field required'
  if (!Number.isInteger(maxTokens)) return 'max_tokens: Input should be a valid integer'
  if (Number(maxTokens) < 0) return 'max_tokens: Input should be greater than or equal to 0'
  if (!(Number(temperature) >= 0 && Number(temperature) <= 1)) return 'temperature: range: 0..1'
  return listOf(stops).some((stop) => textOf(stop).trim() === '')
    ? 'stop_sequences: each stop sequence must contain non-whitespace'
    : undefined
}

/** SDK, `ToolChoice`. */
const CHOICES: readonly unknown[] = ['auto', 'any', 'tool', 'none']

/** A choice needs tools, and a forced tool must be one of them. Whether it may be a deferred one is not published (wire 32). */
function checkChoice({ tool_choice: choice, tools }: Fields, turns: readonly Turn[]): Refusal | undefined {
  if (choice === undefined || choice === null) return undefined
  const { type, name } = fieldsOf(choice)
  if (!isFields(choice) || !CHOICES.includes(type)) {
    return unexpectedTag('tool_choice', type)
  }
  const added = turns.flatMap(({ blocks }) => blocks.flatMap(({ block }) => changeIn(block)?.name ?? []))
  const names = new Set([...listOf(tools).map((tool) => nameOf(fieldsOf(tool))), ...added])
  if (names.size === 0) return 'tool_choice: tool_choice may only be specified while providing tools'
  if (type !== 'tool' || names.has(textOf(name))) return undefined
  return `tool_choice.tool: Tool '${textOf(name)}' not found in provided tools`
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
    return `This model does not support assistant message prefill. ${rule}`
  }
  if (type !== 'text' || textOf(text) === textOf(text).trimEnd()) return undefined
  return 'messages: final assistant content cannot end with trailing whitespace'
}

/** Documentation, "Request size limits": 32 MB. A character takes at least a byte. */
const MAX_CHARACTERS = 32 * 1024 * 1024

/** Matches an escaped lone surrogate in JSON; a literal backslash is written twice. */
const LONE_HALF = /(?<!\\)(?:\\\\)*\\ud[89a-f]/

/** Checks the size of a request, and that its JSON has no lone surrogates. */
function checkBody(request: Fields): Refusal | undefined {
  const json = written(request)
  if (json.length > MAX_CHARACTERS) return { message: 'Request exceeds the maximum size', isTooLarge: true }
  const { index } = LONE_HALF.exec(json) ?? {}
  if (index === undefined) return undefined
  const place = `line 1 column ${index + 1} (char ${index})`
  return `The request body is not valid JSON: no low surrogate in string: ${place}`
}

/** The request as its host would write it, halves of characters included; empty if it is nested too deeply for that. */
function written(request: Fields): string {
  try {
    return JSON.stringify(request)
  } catch {
    return ''
  }
}
