// Would the API take this request? If not, the error it would answer with.
import { checkSystemTurns, INLINE_TOOLS } from './checks/changes.ts'
import { checkMessages, checkSystem } from './checks/messages.ts'
import { checkOldProxy } from './checks/old-proxy.ts'
import { checkPairing } from './checks/pairing.ts'
import { checkReferences } from './checks/references.ts'
import { checkTools } from './checks/tools.ts'
import { type ApiError, type Refusal, toApiError } from './error.ts'
import { isFields } from './json.ts'
import { checkBoundThinking } from './thinking.ts'
import { turnsOf } from './turns.ts'

export type ValidateOptions = {
  /** The values of the `anthropic-beta` header. */
  readonly betas?: readonly string[]
  /** Play a proxy from before tool search (W2). */
  readonly oldProxy?: boolean
  /** Play a model that binds thinking to what came before it (wire 44). */
  readonly boundThinking?: boolean
  readonly requestId?: string
}

export function validate(request: unknown, options: ValidateOptions = {}): ApiError | undefined {
  const refusal = check(request, options)
  return refusal && toApiError(refusal, options.requestId ?? 'req_oracle')
}

function check(request: unknown, options: ValidateOptions): Refusal | undefined {
  if (!isFields(request))
    return { message: 'Input should be a valid dictionary or object to extract fields from' }
  const betas = options.betas ?? []
  const { tools, system, messages } = request
  const shape =
    (options.oldProxy ? checkOldProxy(request, betas) : undefined) ??
    checkTools(tools, betas.includes(INLINE_TOOLS)) ??
    checkSystem(system) ??
    checkMessages(messages)
  if (shape) return shape
  const turns = turnsOf(messages)
  return (
    checkSystemTurns(turns, betas) ??
    checkPairing(turns) ??
    checkReferences(tools, turns) ??
    (options.boundThinking ? checkBoundThinking(request, betas) : undefined)
  )
}
