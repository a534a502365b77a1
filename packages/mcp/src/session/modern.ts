// Handles the differences of the newer protocol: a question belongs to a call, which is sent again with the answer; and
// client capabilities are sent with each request instead of once per connection.
import {
  CLIENT_CAPABILITIES_META_KEY,
  type Client,
  LOG_LEVEL_META_KEY,
  type McpSubscription,
} from '@modelcontextprotocol/client'
import type { Fields } from '@toolshelf/core/internal'
import { passableMeta } from '../protocol/protocol.ts'
import type { QuestionHandler } from '../types.ts'
import type { SessionCallOptions } from './session.ts'

/** The newer protocol of a connection. */
type Modern = {
  /** Sends a request, and again with the answers each time the server asks; `send` gets the parameters to add. */
  inRounds(send: (added: Fields) => Promise<Fields>, options: SessionCallOptions): Promise<Fields>
  /** Handles subscriptions and log levels, which the newer protocol has no requests for; undefined for other methods. */
  instead(method: string, params: Fields): Promise<Fields> | undefined
}

const MAX_ROUNDS = 20

/** Creates the newer protocol of a client. */
export function createModern(client: Client): Modern {
  const subscriptions = new Map<string, McpSubscription>()
  const hasLogging = client.getServerCapabilities()?.logging !== undefined
  let level: unknown = 'info'

  const metaFor = (questionHandler: QuestionHandler | undefined) => ({
    ...(questionHandler?.capabilities
      ? { [CLIENT_CAPABILITIES_META_KEY]: questionHandler.capabilities }
      : {}),
    ...(hasLogging ? { [LOG_LEVEL_META_KEY]: level } : {}),
  })

  async function subscribe(uri: string): Promise<Fields> {
    if (!subscriptions.has(uri)) subscriptions.set(uri, await client.listen({ resourceSubscriptions: [uri] }))
    return {}
  }

  async function unsubscribe(uri: string): Promise<Fields> {
    await subscriptions.get(uri)?.close()
    subscriptions.delete(uri)
    return {}
  }

  return {
    async inRounds(send, { questionHandler, signal, meta }) {
      let added: Fields = {}
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const result = await send({ ...added, _meta: { ...passableMeta(meta), ...metaFor(questionHandler) } })
        if (result.resultType !== 'input_required') return result
        const { inputRequests, requestState } = result
        added = {
          inputResponses: await answer((inputRequests ?? {}) as Questions, questionHandler, signal),
          ...(requestState !== undefined ? { requestState } : {}),
        }
      }
      throw new Error(`it asked ${MAX_ROUNDS} questions without giving an answer`)
    },
    instead(method, params) {
      if (method === 'resources/subscribe') return subscribe(String(params.uri))
      if (method === 'resources/unsubscribe') return unsubscribe(String(params.uri))
      if (method !== 'logging/setLevel') return undefined
      level = params.level
      return Promise.resolve({})
    },
  }
}

type Questions = { readonly [key: string]: { readonly method: string; readonly params?: Fields } }

async function answer(
  questions: Questions,
  questionHandler: QuestionHandler | undefined,
  signal: AbortSignal | undefined,
): Promise<Fields> {
  const answers = Object.entries(questions).map(async ([key, { method, params = {} }]) => {
    if (!questionHandler) throw new Error(`it asks for ${method}, but no client can answer`)
    return [key, await questionHandler.ask(method, params, signal, key)] as const
  })
  return Object.fromEntries(await Promise.all(answers))
}
