// Handles models that bind thinking to its prefix (wire 44). Some hidden searches are not restored, which changes the
// prefix; the API is asked to drop the thinking after them instead of refusing the request.
import { defaultCapabilities } from '@toolshelf/core'
import { capabilityOf, fieldsOf, parseBetas } from '@toolshelf/core/internal'
import { type Headers, type MessagesRequest, THINKING_BINDING } from '../types.ts'

export function isBound({ model, thinking }: MessagesRequest): boolean {
  const { type } = fieldsOf(thinking)
  const isThinking = type === 'enabled' || type === 'adaptive'
  return isThinking && capabilityOf(model, 'anthropic', defaultCapabilities).boundThinking
}

/** Adds the option to drop mismatched thinking; the client's own thinking options take precedence. */
export function withDroppedThinking(request: MessagesRequest): MessagesRequest {
  const binding = { prefix_mismatch_behavior: 'drop_block' }
  return { ...request, thinking: { block_binding: binding, ...fieldsOf(request.thinking) } }
}

export function withBindingBeta(headers: Headers): Headers {
  const betas = new Set([...parseBetas(headers['anthropic-beta']), THINKING_BINDING])
  return { ...headers, 'anthropic-beta': [...betas].join(',') }
}
