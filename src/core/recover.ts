// A back-end that turns out not to know references (G6): which errors say so.

/** The message of a 400 that refuses our blocks, our fields or our beta header; of no other error. */
export function rejection(error: unknown, betas: readonly string[]): string | undefined {
  const status = field(error, 'status') ?? field(error, 'statusCode')
  if (status !== 400) return undefined
  const message = messageOf(error)
  if (refusesType.test(message)) return message
  if (knowsTheProtocol.test(message)) return undefined
  if (refusesBlocks.test(message)) return message
  return refusesBeta.test(message) && betas.length > 0 && namesOneOf(betas, message) ? message : undefined
}

export function betasIn(headers: { readonly [name: string]: string }): string[] {
  return (headers['anthropic-beta'] ?? '').split(',').filter((beta) => beta !== '')
}

const refusesBlocks = /tool_reference|defer_loading|tool_addition|tool_removal|tool_search_tool/i

const refusesType = /content type\S* .*not supported|unsupported content type/i

const refusesBeta = /anthropic-beta|(unknown|unsupported|invalid) beta|beta header/i

/** Complaints that only a back-end which understands deferral can make: the request was wrong, not the back-end. */
const knowsTheProtocol =
  /cannot have both defer_loading|must have defer_loading=false|references unknown tool|tool_search_tool_result/i

/** A refusal that quotes other betas is about the host's own. */
function namesOneOf(betas: readonly string[], message: string): boolean {
  return betas.some((beta) => message.includes(beta)) || !/[a-z]+-\d{4}-\d{2}-\d{2}/.test(message)
}

function messageOf(error: unknown): string {
  const body = field(error, 'error')
  const parts = [field(error, 'message'), field(body, 'message'), field(field(body, 'error'), 'message')]
  return parts.filter((part) => typeof part === 'string').join('\n')
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
