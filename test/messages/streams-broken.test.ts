// Streams of upstreams that end oddly or not at all: text that was sent stays, and an error is no end.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventsOf } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import type { StreamEvent, Upstream } from '../../src/messages/index.ts'
import { createMessagesUpstream, UpstreamError } from '../../src/messages/upstream/index.ts'
import { assistant, text, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, eventsIn, lines, post, start, stream, upstreamOf } from './support/gateways.ts'
import { call, contentOf, ended, resultOf, searchFor, tools, words } from './support/golden.ts'

describe('samplings that end oddly', () => {
  /** A gateway before a model that gives these messages, one after the other. */
  function replaying(...messages: Fields[]) {
    let number = 0
    const sample: Upstream['sample'] = async () => ({
      headers: {},
      events: (async function* () {
        yield* eventsOf({ id: 'm', type: 'message', role: 'assistant', model: 'm', ...messages[number++] })
      })(),
    })
    return start({ ...upstreamOf('append', always({ say: 'Hi.' })), sample })
  }
  const searching = (input: unknown) => ({
    type: 'tool_use',
    id: 'toolu_1',
    name: 'tool_search_tool_bm25',
    input,
  })
  const done = { content: [text('Done.')], stop_reason: 'end_turn', usage: {} }

  test('wire 27 counts that are missing in one sampling are those of the others', async () => {
    const usage = { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 7 }
    const gateway = await replaying(
      { content: [searching({ query: 'mail' })], stop_reason: 'tool_use', usage },
      { ...done, usage: { input_tokens: 6, output_tokens: 3, cache_read_input_tokens: null } },
    )
    const events = await stream(gateway, ask(tools))
    expect(events.at(-2)?.usage).toEqual({ input_tokens: 11, output_tokens: 5, cache_read_input_tokens: 7 })
  })

  test('wire 20 a search whose input is not JSON fails, and the model gets an error', async () => {
    const gateway = await replaying(
      { content: [searching('{"query": "ma')], stop_reason: 'tool_use', usage: {} },
      done,
    )
    expect(lines(await stream(gateway, ask(tools)))).toEqual([
      'message_start',
      ...call(0, 'server_tool_use tool_search_tool_bm25', '{}'),
      ...resultOf(1, 'invalid_tool_input'),
      ...words(2, 'Done.'),
      ...ended('end_turn'),
    ])
  })

  test('wire 30 a search at the end of the tokens has its result, so that the reply can be sent back', async () => {
    const gateway = await replaying(
      { content: [searching({ query: 'mail' })], stop_reason: 'max_tokens', usage: {} },
      done,
    )
    const first = await stream(gateway, ask(tools))
    expect(lines(first)).toEqual([
      'message_start',
      ...searchFor(0, 'mail'),
      ...resultOf(1, '[send_mail]'),
      ...ended('max_tokens'),
    ])
    const turns = [user(text('go')), assistant(...contentOf(first)), user(text('go on'))]
    expect(lines(await stream(gateway, ask(tools, ...turns)))).toContain('0 text_delta Done.')
  })
})

describe('a connection that the upstream cuts', () => {
  /** A Messages API that sends these bytes and hangs up. */
  async function cutting(bytes: string) {
    const server = createServer((_, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write(bytes, () => setImmediate(() => outgoing.destroy()))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return createMessagesUpstream({
      url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    })
  }
  const written = (...events: StreamEvent[]) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  const begun = written(
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'He' } },
  )

  test('ends the stream with an error where the reply is ours', async () => {
    const gateway = await start(await cutting(begun))
    const told = lines(eventsIn((await post(gateway, { ...ask(tools), stream: true })).text))
    expect(told).toEqual(['message_start', '0 start text', '0 text_delta He', 'error api_error'])
  })

  test('is an error of the gateway where nothing was sent yet', async () => {
    const gateway = await start(await cutting(begun))
    const { status, body } = await post(gateway, ask(tools))
    expect(status).toBe(502)
    expect(body).toMatchObject({ type: 'error', error: { type: 'api_error' } })
  })

  test('is cut for the client, too, where the reply is passed on', async () => {
    const gateway = await start(await cutting(begun))
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ ...ask([]), stream: true }),
    })
    expect(answer.headers.get('x-toolshelf-mode')).toBe('pass')
    await expect(answer.text()).rejects.toThrow()
  })
})

describe('a client of Responses', () => {
  test('sees one response, which has failed, if the upstream breaks off', async () => {
    const sample: Upstream['sample'] = async () => ({
      headers: {},
      events: (async function* () {
        const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [text('Hello')] }
        yield* [...eventsOf(message)].slice(0, 3)
        throw new UpstreamError('it broke off')
      })(),
    })
    const gateway = await start({ ...upstreamOf('append', always({ say: 'Hi.' })), sample })
    const body = JSON.stringify({ model: 'm', stream: true, input: 'hi' })
    const reply = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', body })
    const events = eventsIn(await reply.text())
    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()])
    const ids = events.flatMap(({ response }) => (response ? [(response as Fields).id] : []))
    expect([...new Set(ids)]).toEqual([expect.stringMatching(/^resp_\w+$/)])
    expect(events.at(-1)?.type).toBe('response.failed')
  })
})
