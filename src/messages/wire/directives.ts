// Applies directives, the system messages that change `output_config` from their place on, for upstreams that have none.
import { isDirective } from '../../core/oracle/index.ts'
import { type Fields, fieldsOf } from '../../lib/index.ts'
import type { MessagesRequest } from '../types.ts'

/** Returns a request whose `output_config` is the one that holds for the next reply. */
export function withDirectives(request: MessagesRequest): MessagesRequest {
  const directives = request.messages.filter((message) => message.role === 'system' && isDirective(message))
  if (directives.length === 0) return request
  const configs = directives.map(({ output_config: config }) => fieldsOf(config))
  const output_config: Fields = Object.assign({}, fieldsOf(request.output_config), ...configs)
  return { ...request, output_config }
}
