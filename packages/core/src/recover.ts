// Recognises the errors of a back-end that does not support references, and remembers the back-end (G6).
// Implements G6.

import { backEndKey, usesReferences } from './gate.ts'
import { parseBetas } from './lib/json.ts'
import type { Prepared } from './prepare.ts'
import type { Host, RequestLike } from './types.ts'

/** Remembers a refusal and reports it once. Returns whether to send the request again with everything loaded. */
export function learnRejection(
  { settings, rejected }: Host,
  error: unknown,
  model: string,
  sent: Prepared<RequestLike>,
): boolean {
  const spoke = sent.decision.open && usesReferences(sent.decision.wire)
  const message = spoke
    ? rejection(error, parseBetas(sent.headers['anthropic-beta']))?.slice(0, 300)
    : undefined
  if (message === undefined) return false
  const key = backEndKey(settings.baseURL, model)
  if (!rejected.has(key)) {
    rejected.add(key)
    settings.trace?.({ type: 'rejected', model, message })
    settings.notify(
      `${model} refused deferred tools, so all tools are loaded from now on. It said: ${message}`,
    )
  }
  return true
}

/** Returns the message of a 400 that refuses our blocks, fields or beta header; undefined for any other error. */
function rejection(error: unknown, betas: readonly string[]): string | undefined {
  const status = field(error, 'status') ?? field(error, 'statusCode')
  if (status !== 400) return undefined
  const message = messageOf(error)
  if (refusesType.test(message)) return message
  if (knowsTheProtocol.test(message)) return undefined
  if (refusesBlocks.test(message)) return message
  return refusesBeta.test(message) && betas.length > 0 && namesOneOf(betas, message) ? message : undefined
}

const refusesBlocks = /tool_reference|defer_loading|tool_addition|tool_removal|tool_search_tool/i

const refusesType = /content type\S* .*not supported|unsupported content type/i

const refusesBeta = /anthropic-beta|(unknown|unsupported|invalid) beta|beta header/i

/** Errors that only a back-end with support for deferral can report: the request was wrong. */
const knowsTheProtocol =
  /cannot have both defer_loading|must have defer_loading=false|references unknown tool|tool_search_tool_result/i

/** Returns whether a message names one of our betas; a refusal that names only others is about the host's own. */
function namesOneOf(betas: readonly string[], message: string): boolean {
  return betas.some((beta) => message.includes(beta)) || !/[a-z]+-\d{4}-\d{2}-\d{2}/.test(message)
}

function messageOf(error: unknown): string {
  const body = field(error, 'error')
  const parts = [field(field(body, 'error'), 'message'), field(body, 'message'), field(error, 'message')]
  return String(parts.find((part) => typeof part === 'string') ?? '')
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
