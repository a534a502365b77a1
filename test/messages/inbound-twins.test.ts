// A conversation in another API and its twin in the Messages API: the model of chance sees the same tools and the same
// messages, whatever it says. And whatever a client sends, it gets a reply or a well-shaped error.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderRequest, visibleTools } from '../../src/core/oracle/index.ts'
import { type Fields, fieldsOf, listOf, textOf } from '../../src/lib/index.ts'
import { chatApi, type InboundApi, messagesApi, responsesApi } from '../../src/messages/inbound/index.ts'
import {
  type HttpAnswer,
  type MessagesRequest,
  parseModeSetting,
  type UpstreamWire,
} from '../../src/messages/index.ts'
import { runs, seedOr } from '../support/runs.ts'
import {
  anySampling,
  type Bit,
  clientTools,
  MODEL,
  openGateway,
  randomModel,
} from './support/random-client.ts'

/** One client: what it sends next, and what it makes of a reply. */
type Speaker = {
  readonly api: InboundApi
  readonly body: (tools: readonly Fields[]) => Fields
  readonly take: (document: Fields, words: string) => void
}

function messagesSpeaker(): Speaker {
  const messages: Fields[] = [{ role: 'user', content: 'Begin.' }]
  return {
    api: messagesApi,
    body: (tools) => ({ model: MODEL, max_tokens: 2048, tools, messages }),
    take({ content }, words) {
      const blocks = listOf(content).map(fieldsOf)
      if (blocks.length > 0) messages.push({ role: 'assistant', content: blocks })
      const calls = blocks.filter(({ type }) => type === 'tool_use')
      const results = calls.map(({ id, name }) => ({
        ...{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: `${name} ran` }] },
      }))
      messages.push({ role: 'user', content: results.length > 0 ? results : words })
    },
  }
}

function chatSpeaker(): Speaker {
  const messages: Fields[] = [{ role: 'user', content: 'Begin.' }]
  return {
    api: chatApi,
    body: (tools) => ({ model: MODEL, max_tokens: 2048, tools: tools.map(toChatTool), messages }),
    take({ choices }, words) {
      const { content, tool_calls: calls } = fieldsOf(fieldsOf(listOf(choices)[0]).message)
      messages.push({ role: 'assistant', content, ...(calls ? { tool_calls: calls } : {}) })
      for (const { id, function: called } of listOf(calls).map(fieldsOf))
        messages.push({ role: 'tool', tool_call_id: id, content: `${fieldsOf(called).name} ran` })
      if (listOf(calls).length === 0) messages.push({ role: 'user', content: words })
    },
  }
}

function responsesSpeaker(): Speaker {
  const input: Fields[] = [{ type: 'message', role: 'user', content: 'Begin.' }]
  const toFunction = ({ name, description, input_schema: parameters }: Fields) => ({
    ...{ type: 'function', name, description, parameters, strict: false },
  })
  return {
    api: responsesApi,
    body: (tools) => ({
      ...{ model: MODEL, max_output_tokens: 2048, tools: tools.map(toFunction), input, store: false },
      include: ['reasoning.encrypted_content'],
    }),
    take({ output }, words) {
      const items = listOf(output).map(fieldsOf)
      input.push(...items)
      const calls = items.filter(({ type }) => type === 'function_call')
      for (const { call_id, name } of calls)
        input.push({ type: 'function_call_output', call_id, output: `${name} ran` })
      if (calls.length === 0) input.push({ type: 'message', role: 'user', content: words })
    },
  }
}

const toChatTool = ({ name, description, input_schema: parameters }: Fields) => ({
  type: 'function',
  function: { name, description, parameters },
})

type Setup = { readonly count: number; readonly wire: UpstreamWire; readonly mode: 'shelve' | 'off' }

/** What the model was sent in a whole conversation. */
async function heard(speaker: Speaker, setup: Setup, samplings: readonly (readonly Bit[])[]) {
  const tools = clientTools(setup.count)
  const model = randomModel(samplings, setup.wire, tools)
  const gateway = openGateway(model.upstream)
  for (let turn = 1; ; turn++) {
    const body = JSON.parse(JSON.stringify(speaker.body(tools))) as Fields
    const inbound = speaker.api.read(body)
    const { sampled } = await gateway.reply(inbound.request, {
      setting: parseModeSetting(setup.mode)!,
      call: { headers: {}, signal: new AbortController().signal, terms: inbound.terms },
      owner: 'someone',
      inbound: { ...inbound, api: speaker.api.name },
    })
    if (!sampled || 'refused' in sampled) throw new Error('refused')
    const writer = inbound.reply()
    for await (const event of sampled.events) writer.add(event)
    speaker.take(JSON.parse(writer.document()), `Go on, ${turn}.`)
    if (model.isDone()) return model.received.map(({ request }) => request)
  }
}

/** The request as the model reads it. Thoughts of replies without calls are of no use to it, and other APIs drop them. */
function readBy(request: MessagesRequest) {
  const messages = request.messages.map((message) => {
    const blocks = listOf(message.content).map(fieldsOf)
    return Array.isArray(message.content)
      ? { ...message, content: blocks.filter(({ type }) => type !== 'thinking') }
      : message
  })
  const plain = {
    ...request,
    messages: messages.filter(({ content }) => textOf(content) !== '' || listOf(content).length > 0),
  }
  return { visible: visibleTools(plain), text: renderRequest(plain).map(({ text }) => text) }
}

const setups: fc.Arbitrary<Setup> = fc.record({
  count: fc.constantFrom(5, 20),
  wire: fc.constantFrom('native', 'append', 'bridge') as fc.Arbitrary<UpstreamWire>,
  mode: fc.constantFrom('shelve', 'shelve', 'off'),
})

const speakers = [
  ['chat', chatSpeaker],
  ['responses', responsesSpeaker],
] as const

async function expectTwins(newSpeaker: () => Speaker, setup: Setup, samplings: readonly (readonly Bit[])[]) {
  const own = await heard(newSpeaker(), setup, samplings)
  const twin = await heard(messagesSpeaker(), setup, samplings)
  expect(own.map(readBy)).toEqual(twin.map(readBy))
}

describe('twins', { timeout: 120_000 + runs(20) * 200 }, () => {
  it.each(speakers)('the model of a client of %s sees what that of a Messages client sees', (_, newSpeaker) =>
    fc.assert(
      fc.asyncProperty(setups, fc.array(anySampling, { maxLength: 8 }), (setup, samplings) =>
        expectTwins(newSpeaker, setup, samplings),
      ),
      { numRuns: runs(20), seed: seedOr(20261117) },
    ),
  )

  it.each(speakers)(
    'of %s: a search behind thinking that is not sent back keeps its place',
    (_, newSpeaker) =>
      expectTwins(newSpeaker, { count: 5, wire: 'native', mode: 'shelve' }, [
        [{ kind: 'think' }, { kind: 'find', picks: [0] }],
        [{ kind: 'text' }, { kind: 'find', picks: [0] }],
        [{ kind: 'think' }, { kind: 'text' }],
        [{ kind: 'text' }],
      ]),
  )
})

/** Bodies that are nearly right: each field has its own kind of value, or any. */
const anything = fc.jsonValue({ maxDepth: 3 })
const nearly = (value: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: anything })
const part = fc.record(
  {
    type: nearly(fc.constantFrom('text', 'image_url', 'file', 'refusal', 'input_audio', 'tool_reference')),
    text: nearly(fc.string()),
    image_url: nearly(fc.record({ url: fc.constantFrom('data:image/png;base64,AA', 'http://x', 'data:') })),
    file: anything,
  },
  { requiredKeys: ['type'] },
)
const call = fc.record({
  id: nearly(fc.string()),
  type: nearly(fc.constantFrom('function', 'custom')),
  function: nearly(fc.record({ name: nearly(fc.string()), arguments: nearly(fc.json()) })),
})
const message = fc.record(
  {
    role: nearly(fc.constantFrom('user', 'assistant', 'system', 'developer', 'tool', 'function')),
    content: nearly(fc.oneof(fc.string(), fc.array(nearly(part), { maxLength: 3 }), fc.constant(null))),
    tool_calls: nearly(fc.array(nearly(call), { maxLength: 3 })),
    tool_call_id: nearly(fc.string()),
  },
  { requiredKeys: ['role'] },
)
const chatTool = fc.record(
  {
    type: nearly(fc.constantFrom('function', 'custom', 'tool_search', 'web_search')),
    function: nearly(fc.record({ name: nearly(fc.string()), description: anything, parameters: anything })),
    custom: anything,
    defer_loading: nearly(fc.boolean()),
  },
  { requiredKeys: ['type'] },
)
const chatBody = fc.record(
  {
    model: nearly(fc.constantFrom('m', 'claude-opus-5-5', '')),
    messages: nearly(fc.array(nearly(message), { maxLength: 5 })),
    tools: nearly(fc.array(nearly(chatTool), { maxLength: 4 })),
    tool_choice: nearly(fc.constantFrom('auto', 'required', 'none')),
    response_format: nearly(fc.constantFrom({ type: 'json_object' }, { type: 'json_schema' })),
    stream: nearly(fc.boolean()),
    stop: anything,
    reasoning_effort: anything,
    temperature: anything,
  },
  { requiredKeys: ['model', 'messages'] },
)

describe('fuzzed requests', { timeout: 600_000 + runs(300) * 100 }, () => {
  it('of chat clients get a reply or a well-shaped error', () =>
    fc.assert(
      fc.asyncProperty(chatBody, async (body) => {
        const { status, document } = await answerTo(chatApi, body as Fields)
        if (status === 200) expect(listOf(document.choices)).toHaveLength(1)
        else
          expect(document.error).toMatchObject({
            message: expect.stringMatching(/./),
            type: expect.stringMatching(/_error$/),
          })
      }),
      { numRuns: runs(60), seed: seedOr(20261117) },
    ))
})

/** What a client gets for a request, without the network. */
async function answerTo(api: InboundApi, body: Fields): Promise<{ status: number; document: Fields }> {
  const model = randomModel([[{ kind: 'text' }]], 'append', clientTools(1))
  try {
    const inbound = api.read(body)
    const { sampled } = await openGateway(model.upstream).reply(inbound.request, {
      setting: parseModeSetting('shelve')!,
      call: { headers: {}, signal: new AbortController().signal, terms: inbound.terms },
      owner: 'someone',
      inbound: { ...inbound, api: api.name },
    })
    if (!sampled || 'refused' in sampled) throw new Error('refused')
    const writer = inbound.reply()
    for await (const event of sampled.events) writer.add(event)
    return { status: 200, document: body.stream === true ? { choices: [{}] } : JSON.parse(writer.document()) }
  } catch (error) {
    // The model of chance throws where its API would refuse the request.
    if ((error as Error).message.startsWith('refused')) return { status: 200, document: { choices: [{}] } }
    const { answer } = error as { answer?: HttpAnswer }
    if (!answer) throw error
    return { status: answer.status, document: JSON.parse(api.error(answer).body) }
  }
}
