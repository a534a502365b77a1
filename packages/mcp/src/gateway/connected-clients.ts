// Tracks connected clients, and finds the one that can answer a question outside of a call. Recognises a client of the
// sessionless protocol by the origin of its request and its client info.
// Implements H9.

import { CLIENT_INFO_META_KEY, type Server } from '@modelcontextprotocol/server'
import { type ClientIdentity, dropOldest, type Fields, fieldsOf } from '@toolshelf/core/internal'
import { assertSendable } from '../lists/lists.ts'
import type { QuestionHandler } from '../types.ts'
import { canAnswer, capabilitiesOf } from './capabilities.ts'

export type ConnectedClients = ReturnType<typeof createConnectedClients>

/** Milliseconds to wait for an answer, which a person may need. */
const MAX_ANSWER_MS = 600_000

export function createConnectedClients() {
  const connected = new Set<Server>()
  let mayHaveOthers = false

  function soleClient(): Server | undefined {
    const [first, ...others] = connected
    return others.length === 0 && !mayHaveOthers ? first : undefined
  }

  return {
    add: (client: Server) => void connected.add(client),
    delete: (client: Server) => void connected.delete(client),
    /** From now on no client is the sole one: others may come without a session, or to another replica. */
    disableSoleClient() {
      mayHaveOthers = true
    },
    /** Returns the only connected client; undefined if there is none, or may be more than one. */
    soleClient,
    /** Returns whether a client may be there to hear something. */
    hasAny: () => connected.size > 0 || mayHaveOthers,
    all: () => [...connected],
    /** Answers questions that servers ask outside of calls. */
    questionHandler: {
      get client() {
        return soleClient()
      },
      // Servers read the roots when they start; all other questions belong to a call.
      async ask(method, params) {
        const client = soleClient()
        if (method !== 'roots/list') throw new Error('questions are passed on only during a call')
        if (!client || !canAnswer(capabilitiesOf(client), method))
          throw new Error(`no client supports ${method}`)
        // The SDK's union of requests cannot be built from a method that varies.
        const request = assertSendable({ method, params }) as never
        return (await client.request(request, { timeout: MAX_ANSWER_MS })) as typeof params
      },
    } satisfies QuestionHandler,
  }
}

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
