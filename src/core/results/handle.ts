// Converts between ids of results and the handles by which the model names them. A handle grants no access: a store
// returns only what its owner stored, so a handle that a server writes into its output cannot read another
// conversation's results.

const PREFIX = 'result_'

/** Returns the handle of a result. */
export function handleOf(id: string): string {
  return PREFIX + id
}

/** Returns the id in a handle that the model wrote; undefined if it is not one. */
export function idIn(handle: unknown): string | undefined {
  const [, id] = (typeof handle === 'string' && /^\s*(?:result[_:])?([a-z0-9]{8,64})\s*$/.exec(handle)) || []
  return id
}
