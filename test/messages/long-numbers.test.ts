// Numbers that JavaScript cannot hold reach the upstream and the client digit for digit, on every wire.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { Upstream } from '../../src/messages/index.ts'
import {
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
} from '../../src/messages/upstream/index.ts'
import { post, start } from './support/gateways.ts'

const LONG = '12345678901234567890123'
const OTHER = '-98765432109876543210.125'

/** An upstream over HTTP that gives this text to every request, and keeps what came. */
async function saying(body: string, type = 'application/json') {
  const bodies: string[] = []
  const server = createServer(async (incoming, outgoing) => {
    bodies.push(await text(incoming))
    outgoing.writeHead(200, { 'content-type': type }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), bodies }
}

const input = `{"id":${LONG},"inner":{"deep":[${OTHER},"${LONG}"]}}`
const usage = '"usage":{"input_tokens":1,"output_tokens":1}'
const messageWith = (call: string) =>
  `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,"content":[${call}],${usage}}`
const call = `{"type":"tool_use","id":"toolu_1","name":"find","input":${input}}`
const through = `{"type":"tool_use","id":"toolu_1","name":"CallTool","input":{"name":"find","arguments":${input}}}`
const streamed = (block: string, json: string) =>
  [
    `{"type":"message_start","message":${messageWith('')}}`,
    `{"type":"content_block_start","index":0,"content_block":${block}}`,
    ...[json.slice(0, 12), json.slice(12)].map(
      (part) =>
        `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(part)}}}`,
    ),
    '{"type":"content_block_stop","index":0}',
    '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}',
    '{"type":"message_stop"}',
  ]
    .map((data) => `event: x\ndata: ${data}\n\n`)
    .join('')
const chat = `{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"find","arguments":${JSON.stringify(input)}}}]},"finish_reason":"tool_calls"}]}`
const responses = `{"status":"completed","output":[{"type":"function_call","call_id":"call_1","name":"find","arguments":${JSON.stringify(input)}}],"usage":{}}`

const schema = `{"type":"object","properties":{"id":{"type":"integer","maximum":${LONG}}}}`
const tool = `{"name":"find","description":"finds","input_schema":${schema},"input_examples":[{"id":${LONG}}]}`
const requestWith = (tools: string, more = '') =>
  `{"model":"m","max_tokens":100,"tools":[${tools}],"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[${call}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ran"}]}]${more}}`

const whole = messageWith(call)
const bridged = messageWith(through)
const empty = (name: string) => `{"type":"tool_use","id":"toolu_1","name":"${name}","input":{}}`
const throughInput = `{"name":"find","arguments":${input}}`

type Case = [string, string, string, (url: URL) => Upstream, string?]
const messages = (wire: 'native' | 'append' | 'bridge') => (url: URL) => createMessagesUpstream({ url, wire })
const cases: Case[] = [
  ['Messages, off', 'off', whole, messages('append')],
  ['Messages, shelve, native', 'shelve', whole, messages('native')],
  ['Messages, shelve, append', 'shelve', whole, messages('append')],
  ['Messages, shelve, bridge', 'shelve', bridged, messages('bridge')],
  [
    'Messages that streams, native',
    'shelve',
    streamed(empty('find'), input),
    messages('native'),
    'text/event-stream',
  ],
  [
    'Messages that streams, bridge',
    'shelve',
    streamed(empty('CallTool'), throughInput),
    messages('bridge'),
    'text/event-stream',
  ],
  ['Chat Completions', 'off', chat, (url) => createChatUpstream({ url })],
  ['Chat Completions, shelve', 'shelve', chat, (url) => createChatUpstream({ url })],
  ['Responses', 'off', responses, (url) => createResponsesUpstream({ url })],
]

test.each(cases)('%s', async (_, mode, answer, open, type) => {
  const upstream = await saying(answer, type)
  const gateway = await start(open(upstream.url), { mode })
  const digits = (json: string) => json.replaceAll(/\\+"/g, '"').replaceAll(/\s/g, '')
  for (const more of ['', ',"stream":true']) {
    const got = await post(gateway, requestWith(tool, more))
    expect(got.status).toBe(200)
    const said = more === '' ? got.text : partsOf(got.text)
    expect(digits(said)).toContain(input)
  }
  const sent = digits(upstream.bodies[0] ?? '')
  expect(sent).toContain(input)
  expect(sent.split(`"maximum":${LONG}`).length).toBeGreaterThan(1)
})

/** The fragments of a call's input, put together. */
function partsOf(stream: string): string {
  const parts = [...stream.matchAll(/"partial_json":("(?:[^"\\]|\\.)*")/g)]
  return parts.map(([, json = '""']) => JSON.parse(json) as string).join('')
}
