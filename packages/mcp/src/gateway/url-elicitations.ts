// Handles calls that a server refuses until the user has visited a URL (error -32042). Clients of the older protocol
// get the error with its data and call again; for those of the newer one, which has no such error, the gateway asks and
// calls again.
import type { Server } from '@modelcontextprotocol/server'
import { dropOldest, type Fields } from '@toolshelf/core/internal'
import type { McpHost, QuestionHandler } from '../types.ts'

type ElicitationCaller = {
  readonly client: Server
  readonly isStateless: boolean
  readonly questionHandler?: QuestionHandler
  readonly signal?: AbortSignal
}

type Elicitation = { readonly id: string; readonly params: Fields }

const URL_ELICITATION_REQUIRED = -32042
const MAX_PER_CALL = 5
const MAX_REMEMBERED = 1000
/** Milliseconds until the next attempt, unless the server reports earlier that the user is done. */
const RETRIES = [5000, 10_000, 20_000, 30_000]

/** Tracks which client was sent to which URL, so that only this client is notified when the user is done. */
export function createUrlElicitations(host: McpHost) {
  const clients = new Map<string, Server>()
  const waiting = new Map<string, () => void>()

  const stop = host.listen((event) => {
    if (event.type !== 'elicitation') return
    const key = keyOf(event.server, event.id)
    waiting.get(key)?.()
    const params = { elicitationId: event.id }
    void clients
      .get(key)
      ?.notification({ method: 'notifications/elicitation/complete', params })
      .catch(() => {})
    clients.delete(key)
  })

  function remember(server: string, elicitations: readonly Elicitation[], client: Server): void {
    for (const { id } of elicitations) {
      clients.set(keyOf(server, id), client)
      dropOldest(clients, MAX_REMEMBERED)
    }
  }

  /** Resolves when the server reports one of them as done, or after `limit` milliseconds. */
  async function done(server: string, elicitations: readonly Elicitation[], limit: number): Promise<void> {
    const keys = elicitations.map(({ id }) => keyOf(server, id))
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limit)
      for (const key of keys)
        waiting.set(key, () => {
          clearTimeout(timer)
          resolve()
        })
    })
    for (const key of keys) waiting.delete(key)
  }

  return {
    /** Runs a call to `server` on behalf of a client. */
    async run<Output>(
      server: string,
      { client, isStateless, questionHandler, signal }: ElicitationCaller,
      call: () => Promise<Output>,
    ): Promise<Output> {
      let isAsked = false
      for (const pause of [...RETRIES, undefined]) {
        try {
          return await call()
        } catch (error) {
          const elicitations = elicitationsOf(error)
          if (elicitations.length === 0) throw error
          if (!isStateless) remember(server, elicitations, client)
          if (!isStateless || !questionHandler) throw error
          if (pause === undefined) throw unfinished(elicitations)
          if (!isAsked) await askFor(elicitations, questionHandler, signal)
          isAsked = true
          await done(server, elicitations, pause)
          signal?.throwIfAborted()
        }
      }
      throw new Error('unreachable')
    },
    /** Forgets a client that has disconnected. */
    leave(client: object) {
      for (const [key, other] of clients) if (other === client) clients.delete(key)
    },
    close: stop,
  }
}

async function askFor(
  elicitations: readonly Elicitation[],
  questionHandler: QuestionHandler,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ask = async ({ params }: Elicitation, index: number) => {
    const answer = await questionHandler
      .ask('elicitation/create', params, signal, `url-${index + 1}`)
      .catch(() => {
        throw unfinished(elicitations)
      })
    if (answer.action !== 'accept') throw new Error(`the user did not agree to open ${params.url}`)
  }
  await Promise.all(elicitations.map(ask))
}

function unfinished(elicitations: readonly Elicitation[]): Error {
  const steps = elicitations.map(({ params: { message, url } }) => `${message} ${url}`)
  return new Error(`the user must first visit a page, then call again: ${steps.join('; ')}`)
}

/** Returns the pages of an error -32042; none for any other error. */
function elicitationsOf(error: unknown): Elicitation[] {
  const { cause } = error as { cause?: { code?: unknown; data?: Fields } }
  const given = cause?.code === URL_ELICITATION_REQUIRED ? cause.data?.elicitations : undefined
  if (!Array.isArray(given)) return []
  return given.slice(0, MAX_PER_CALL).flatMap((one: Fields | null) => {
    const { elicitationId, url, message } = one ?? {}
    if (typeof elicitationId !== 'string' || typeof url !== 'string') return []
    return [{ id: elicitationId, params: { mode: 'url', url, message: String(message ?? '') } }]
  })
}

function keyOf(server: string, id: string): string {
  return JSON.stringify([server, id])
}
