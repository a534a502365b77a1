// Recognises a client of the sessionless protocol by the origin of its request and its client info.
// Implements H9.
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server'
import { type ClientIdentity, dropOldest, type Fields, fieldsOf } from '@toolshelf/core/internal'

/** Returns the client's own name and version in a request of the sessionless protocol. */
export function clientInfoIn(envelope: Fields | undefined): ClientIdentity | undefined {
  const { name, version } = fieldsOf(envelope?.[CLIENT_INFO_META_KEY])
  if (typeof name !== 'string') return undefined
  return { name, ...(typeof version === 'string' ? { version } : {}) }
}

const MAX_KNOWN = 1000

/** Creates an empty set of clients. */
export function createIdentities() {
  const known = new Map<string, object>()
  return {
    /** Returns the same object for the same client. */
    of(origin: string, envelope: Fields | undefined) {
      const key = JSON.stringify([origin, envelope?.[CLIENT_INFO_META_KEY] ?? null]).slice(0, 2000)
      const client = known.get(key) ?? {}
      known.delete(key)
      known.set(key, client)
      dropOldest(known, MAX_KNOWN)
      return client
    },
  }
}
