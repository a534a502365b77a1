// Tracks which clients are connected, and finds the one that a question outside of a call can go to.
import type { Server } from '@modelcontextprotocol/server'
import type { QuestionHandler } from '../types.ts'
import { canAnswer, capabilitiesOf } from './capabilities.ts'
import { sendable } from './sendable.ts'

export type ConnectedClients = {
  add(client: Server): void
  delete(client: Server): void
  /** Notes a client without a session: it counts even if it called long ago. */
  sawStateless(): void
  /** The only client there has been; undefined if there is none, or more than one. */
  only(): Server | undefined
  /** Whether any client has come yet. */
  hasAny(): boolean
  all(): readonly Server[]
  /** Answers what servers ask outside of calls. */
  readonly questionHandler: QuestionHandler
}

/** Milliseconds: a person may need time to answer. */
const MAX_ANSWER_MS = 600_000

export function createConnectedClients(): ConnectedClients {
  const connected = new Set<Server>()
  let hadStateless = false

  function only(): Server | undefined {
    const [first, ...others] = connected
    return others.length === 0 && !hadStateless ? first : undefined
  }

  return {
    add: (client) => void connected.add(client),
    delete: (client) => void connected.delete(client),
    sawStateless() {
      hadStateless = true
    },
    only,
    hasAny: () => connected.size > 0 || hadStateless,
    all: () => [...connected],
    questionHandler: {
      get client() {
        return only()
      },
      // Servers read the roots when they start; all other questions belong to a call.
      async ask(method, params) {
        const client = only()
        if (method !== 'roots/list') throw new Error('questions are passed on only during a call')
        if (!client || !canAnswer(capabilitiesOf(client), method))
          throw new Error(`no client supports ${method}`)
        const request = sendable({ method, params }) as never
        return (await client.request(request, { timeout: MAX_ANSWER_MS })) as typeof params
      },
    },
  }
}
