// What must hold for every client that searches with the API's own tools, where the model behind knows none of them:
// it cannot see what is behind, and a stream says what the whole reply says.
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blocksOf } from '../../src/core/oracle/index.ts'
import { type Fields, textOf } from '../../src/lib/index.ts'
import type { MessagesRequest, UpstreamWire } from '../../src/messages/index.ts'
import { createMessagesMetrics, parseModeSetting, serveMessagesGateway } from '../../src/messages/index.ts'
import { refusal, result, text } from '../oracle/requests.ts'
import { runs, seedOr } from '../support/runs.ts'
import {
  anySampling,
  asking,
  type Bit,
  clientTools,
  loadedIn,
  MODEL,
  openGateway,
  randomModel,
} from './support/random-client.ts'

const numRuns = runs(8)
const seed = seedOr(20261116)
const WIRES: readonly UpstreamWire[] = ['native', 'append', 'bridge']
const someSamplings = fc.array(anySampling, { maxLength: 10, size: 'max' })
type Samplings = readonly (readonly Bit[])[]

const tools = [
  { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
  ...clientTools(20).map((tool) => (tool.name === 'Read' ? tool : { ...tool, defer_loading: true })),
]

/** The client's next messages: results, further words, or a paused reply as it is. */
function goOn({ content, stop_reason: stop }: Fields, turn: number): Fields[] {
  const blocks = blocksOf(content)
  const reply = { role: 'assistant', content: blocks }
  if (stop === 'pause_turn') return [reply]
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const results = calls.map(({ id }) => result(textOf(id), 'It ran.'))
  return [reply, { role: 'user', content: results.length > 0 ? results : [text(`Go on, ${turn}.`)] }]
}

type Talk = { readonly replies: Fields[]; readonly loaded: string[][]; readonly requests: MessagesRequest[] }

async function converse(wire: UpstreamWire, samplings: Samplings): Promise<Talk> {
  const model = randomModel(samplings, wire, clientTools(20))
  const ask = asking(openGateway(model.upstream), 'emulate')
  const replies: Fields[] = []
  const requests: MessagesRequest[] = []
  let messages: Fields[] = [{ role: 'user', content: 'Begin.' }]
  for (let turn = 1; ; turn++) {
    const request = { model: MODEL, max_tokens: 100, tools, messages }
    requests.push(request)
    const reply = await ask(request)
    replies.push(reply)
    if (model.isDone()) {
      const loaded = model.received.map((one) => loadedIn(one.request))
      return { replies, loaded, requests }
    }
    messages = [...messages, ...goOn(reply, turn)]
  }
}

describe(`emulating (PROPERTY_SEED=${seed} PROPERTY_RUNS=${numRuns})`, () => {
  it('wire 30 39 the client gets the same replies whatever the wire, and what it sends back is valid', () =>
    fc.assert(
      fc.asyncProperty(someSamplings, async (samplings) => {
        // The model of chance throws at a request that its API would refuse.
        const [native, ...others] = await Promise.all(WIRES.map((wire) => converse(wire, samplings)))
        for (const other of others) expect(other).toEqual(native)
        for (const request of native?.requests ?? []) expect(refusal(request)).toBeUndefined()
      }),
      { seed, numRuns },
    ))

  it.for(['shelve', 'emulate'])('wire 24 29 %s: the stream and the whole reply are one', (mode) =>
    fc.assert(
      fc.asyncProperty(someSamplings, fc.constantFrom(...WIRES), async (samplings, wire) => {
        const given = mode === 'emulate' ? tools : clientTools(20)
        const [streamed, whole] = await Promise.all(
          [true, false].map((isStream) => askOverHttp(mode, wire, samplings, given, isStream)),
        )
        expect(streamed).toEqual(whole)
      }),
      { seed, numRuns: Math.ceil(numRuns / 2) },
    ),
  )
})

/** The first reply, as the official client reads it. */
async function askOverHttp(
  mode: string,
  wire: UpstreamWire,
  samplings: Samplings,
  given: readonly Fields[],
  isStream: boolean,
): Promise<unknown> {
  const gateway = openGateway(randomModel(samplings, wire, clientTools(20)).upstream)
  const setting = parseModeSetting(mode) ?? expect.fail()
  const served = await serveMessagesGateway({ gateway, setting, metrics: createMessagesMetrics(), port: 0 })
  try {
    const { messages } = new Anthropic({ apiKey: 'test', baseURL: served.url, maxRetries: 0 })
    const request = {
      ...{ model: MODEL, max_tokens: 100, tools: given as unknown as Anthropic.ToolUnion[] },
      messages: [{ role: 'user' as const, content: 'Begin.' }],
    }
    const reply = isStream ? await messages.stream(request).finalMessage() : await messages.create(request)
    // The client itself adds an empty field to what it has streamed.
    return { ...JSON.parse(JSON.stringify(reply)), parsed_output: undefined }
  } finally {
    await served.close()
  }
}
