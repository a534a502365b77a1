// Validates a request as the API does, and returns the API's error.
// Implements W1.

import { type Fields, isFields } from '@toolshelf/core/internal'
import { checkBody } from './checks/body.ts'
import { checkSystemTurns, INLINE_TOOLS } from './checks/changes.ts'
import { checkContents } from './checks/content.ts'
import { checkMarks } from './checks/marks.ts'
import { checkMessages, checkSystem } from './checks/messages.ts'
import { checkOldProxy } from './checks/old-proxy.ts'
import { checkPairing } from './checks/pairing.ts'
import { checkParameters } from './checks/parameters.ts'
import { checkReferences } from './checks/references.ts'
import { checkSchemas } from './checks/schemas.ts'
import { checkThinking } from './checks/thoughts.ts'
import { checkTools } from './checks/tools.ts'
import { type ApiError, type Refusal, toApiError } from './error.ts'
import { checkBoundThinking } from './thinking.ts'
import { type Turn, turnsOf } from './turns.ts'

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

function check(request: unknown, options: ValidateOptions): Refusal | undefined {
  if (!isFields(request))
    return { message: 'Input should be a valid dictionary or object to extract fields from' }
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
    checkParameters(request, turns, isComplete) ??
    checkSchemas(request.tools, turns) ??
    checkContents(turns) ??
    checkThinking(request, turns, betas, isComplete) ??
    checkMarks(request) ??
    checkBody(request)
  )
}
