// Tracks connected clients, and finds the one that can answer a question outside of a call.
import type { Server } from '@modelcontextprotocol/server'
import { assertSendable } from '../lists/lists.ts'
import type { QuestionHandler } from '../types.ts'
import { canAnswer, capabilitiesOf } from './capabilities.ts'

export type ConnectedClients = {
  add(client: Server): void
  delete(client: Server): void
  /** From now on no client is the sole one: others may come without a session, or to another replica. */
  disableSoleClient(): void
  /** Returns the only connected client; undefined if there is none, or may be more than one. */
  soleClient(): Server | undefined
  /** Returns whether a client may be there to hear something. */
  hasAny(): boolean
  all(): readonly Server[]
  /** Answers questions that servers ask outside of calls. */
  readonly questionHandler: QuestionHandler
}

/** Milliseconds to wait for an answer, which a person may need. */
const MAX_ANSWER_MS = 600_000

export function createConnectedClients(): ConnectedClients {
  const connected = new Set<Server>()
  let mayHaveOthers = false

  function soleClient(): Server | undefined {
    const [first, ...others] = connected
    return others.length === 0 && !mayHaveOthers ? first : undefined
  }

  return {
    add: (client) => void connected.add(client),
    delete: (client) => void connected.delete(client),
    disableSoleClient() {
      mayHaveOthers = true
    },
    soleClient,
    hasAny: () => connected.size > 0 || mayHaveOthers,
    all: () => [...connected],
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
    },
  }
}
