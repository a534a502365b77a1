// The handle by which the model names a result. It opens nothing by itself: a store returns only what its owner put
// there, so a handle that a server writes into its output reads nothing that is not the conversation's own.

const PREFIX = 'result_'

export function handleOf(id: string): string {
  return PREFIX + id
}

/** Returns the id in what the model wrote as a handle; undefined if that is none. */
export function idIn(handle: unknown): string | undefined {
  const [, id] = (typeof handle === 'string' && /^\s*(?:result[_:])?([a-z0-9]{8,64})\s*$/.exec(handle)) || []
  return id
}
