// Tracks connected clients: which is which, what it can do for servers, and which can answer a question outside of a call.
// Implements H9.
import { CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, type Server } from '@modelcontextprotocol/server'
import { type ClientIdentity, type Fields, fieldsOf, setNewest } from '@toolshelf/core/internal'
import { PAGES, passableExtensions } from '../greeting/greeting.ts'
import { assertSendable } from '../lists/lists.ts'
import type { QuestionHandler } from '../types.ts'

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

const NEEDED: { readonly [method: string]: string } = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** Returns the capabilities to forward to servers: what they may request, and the extensions that pass through. */
export function capabilitiesOf(server: Server, envelope?: Fields): Fields {
  const given = (envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}) as Fields
  const asked = new Set(Object.values(NEEDED))
  const extensions = passableExtensions(given.extensions)
  return {
    ...Object.fromEntries(Object.entries(given).filter(([name]) => asked.has(name))),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  }
}

/** Returns whether the client renders MCP App pages. */
export function showsPages({ extensions }: Fields): boolean {
  return ((extensions ?? {}) as Fields)[PAGES] !== undefined
}

/** Returns whether the client can answer requests of this method. */
export function canAnswer(capabilities: Fields, method: string): boolean {
  const needed = NEEDED[method]
  return needed !== undefined && capabilities[needed] !== undefined
}

/** Returns the client's own name and version in a request of the sessionless protocol. */
export function clientInfoIn(envelope: Fields | undefined): ClientIdentity | undefined {
  const { name, version } = fieldsOf(envelope?.[CLIENT_INFO_META_KEY])
  if (typeof name !== 'string') return undefined
  return { name, ...(typeof version === 'string' ? { version } : {}) }
}

const MAX_KNOWN = 1000

/** Creates an empty set of clients of the sessionless protocol, recognised by the origin of their requests and their client info. */
export function createIdentities() {
  const known = new Map<string, object>()
  return {
    /** Returns the same object for the same client. */
    of(origin: string, envelope: Fields | undefined) {
      const key = JSON.stringify([origin, envelope?.[CLIENT_INFO_META_KEY] ?? null]).slice(0, 2000)
      const client = known.get(key) ?? {}
      setNewest(known, key, client, MAX_KNOWN)
      return client
    },
  }
}
