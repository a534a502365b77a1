// Models that bind thinking to what came before it (wire 44). Searches that found nothing, and those that no id carries
// to the next process, are not restored; the API is asked to drop the thinking after them, not to refuse it.
import { capabilities, capabilityOf } from '../../core/index.ts'
import { THINKING_BINDING } from '../../core/oracle/index.ts'
import { fieldsOf, parseBetas } from '../../lib/index.ts'
import type { Headers, MessagesRequest } from '../types.ts'

export function isBound({ model, thinking }: MessagesRequest): boolean {
  const { type } = fieldsOf(thinking)
  const isThinking = type === 'enabled' || type === 'adaptive'
  return isThinking && capabilityOf(model, 'anthropic', capabilities).boundThinking
}

/** What the client says itself about its thinking stays. */
export function withDroppedThinking(request: MessagesRequest): MessagesRequest {
  const binding = { prefix_mismatch_behavior: 'drop_block' }
  return { ...request, thinking: { block_binding: binding, ...fieldsOf(request.thinking) } }
}

export function withBindingBeta(headers: Headers): Headers {
  const betas = new Set([...parseBetas(headers['anthropic-beta']), THINKING_BINDING])
  return { ...headers, 'anthropic-beta': [...betas].join(',') }
}
