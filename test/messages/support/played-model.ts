// A model that a test writes sampling by sampling, and a gateway in front of it without HTTP.

import { createCollector, eventsOf } from '../../../src/core/index.ts'
import { type Fields, fieldsOf, listOf, textOf } from '../../../src/lib/index.ts'
import type {
  HttpAnswer,
  MessagesGatewayOptions,
  MessagesRequest,
  Upstream,
  UpstreamWire,
  Wait,
} from '../../../src/messages/index.ts'
import { createMessagesGateway, parseModeSetting } from '../../../src/messages/index.ts'
import { rankers } from '../../../src/rankers/index.ts'
import { refusal } from '../../oracle/requests.ts'

export type Turn =
  | { readonly content: readonly Fields[]; readonly usage?: Fields }
  | { readonly refused: HttpAnswer }
export type Play = (request: MessagesRequest, sampling: number) => Turn

/** A model that a test writes; requests that its API would refuse fail the test. */
export function modelOf(
  play: Play,
  { wire = 'native', maxTools }: { wire?: UpstreamWire; maxTools?: number } = {},
) {
  const requests: MessagesRequest[] = []
  const upstream: Upstream = {
    name: 'played',
    api: 'messages',
    wireFor: () => ({ wire, why: 'asked for', ...(maxTools === undefined ? {} : { maxTools }) }),
    async sample(request) {
      requests.push(JSON.parse(JSON.stringify(request)))
      const turn = play(request, requests.length)
      if ('refused' in turn) return { refused: turn.refused }
      const fault = refusal(request, wire === 'native' ? {} : { isOldProxy: true })
      if (fault) throw new Error(`refused: ${fault}`)
      const isCall = turn.content.some(({ type }) => type === 'tool_use')
      const message = {
        ...{ id: `msg_${requests.length}`, type: 'message', role: 'assistant', model: request.model },
        ...{ content: turn.content, stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null },
        usage: turn.usage ?? { input_tokens: 3, output_tokens: 2 },
      }
      return { events: streamed(message), headers: {} }
    },
    countTokens: async () => undefined,
    models: async () => ({ status: 200, headers: {}, body: '{}' }),
  }
  return { upstream, requests }
}

async function* streamed(message: Fields) {
  yield* eventsOf(message)
}

export async function replyOf(
  upstream: Upstream,
  request: Fields,
  mode = 'shelve',
  wait?: Wait,
  more: Pick<MessagesGatewayOptions, 'resultBudget' | 'openTrace'> = {},
): Promise<Fields> {
  const { lexical: own, bm25, regex } = rankers
  const options = { upstream, rankers: { own, bm25, regex }, ...(wait ? { wait } : {}), ...more }
  const call = { headers: {}, signal: new AbortController().signal }
  const setting = parseModeSetting(mode)!
  const { sampled } = await createMessagesGateway(options).reply(request as MessagesRequest, {
    setting,
    call,
    owner: 'me',
  })
  if (!sampled || 'refused' in sampled) throw new Error(`refused: ${JSON.stringify(sampled)}`)
  const collector = createCollector()
  for await (const event of sampled.events) collector.add(event)
  return collector.message()
}

export const searching = (query: string, id = 'toolu_1'): Fields => ({
  ...{ type: 'tool_use', id, name: 'ToolSearch', input: { query } },
})
export const namesIn = ({ tools }: MessagesRequest) => listOf(tools).map((one) => textOf(fieldsOf(one).name))
