// Reports the tools that a client sent with a request that the library does not prepare.
import type { TraceListener } from '@toolshelf/core'
import {
  type DescribedTools,
  describePool,
  nameOf,
  oncePerFrozen,
  serverOfName,
  toJson,
} from '@toolshelf/core/internal'
import type { Fields } from './types.ts'

/** The pool that each conversation last reported. */
const reported = new WeakMap<TraceListener, string>()

/** Reports the tools if they have changed, deferred ones as the client marked them. Returns the id of the pool. */
export function reportTools(trace: TraceListener, tools: readonly Fields[]): string {
  const { id, events } = describePool(splitTools(tools))
  if (reported.get(trace) !== id) for (const event of events) trace(event)
  reported.set(trace, id)
  return id
}

/** Lists that were sent before are the same frozen objects. */
const splitTools = oncePerFrozen((tools: readonly Fields[]): DescribedTools => {
  const described = tools.map((tool) => {
    const name = nameOf(tool)
    return { name, server: serverOfName(name), json: toJson(tool), isDeferred: tool.defer_loading === true }
  })
  return {
    immediate: described.filter(({ isDeferred }) => !isDeferred),
    deferred: described.filter(({ isDeferred }) => isDeferred),
  }
})
