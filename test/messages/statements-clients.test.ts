// Statements 36 to 38 through the gateway: Claude Code's own search, threads, and the upstream's errors.
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'
import { assistant, deferred, reference, result, text, tool, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import {
  ask,
  blockLine,
  COUNT,
  emulate,
  hosted,
  kinds,
  open,
  post,
  record,
  refused,
  reply,
  start,
  ways,
} from './support/gateways.ts'

const hello = always({ say: 'Hello.' })
const read = tool('Read')
const later = deferred('later')
const message = JSON.stringify({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'Hi.' }], usage: { input_tokens: 1, output_tokens: 1 } },
})
const fine = { status: 200, headers: { 'content-type': 'application/json' }, body: message }

/** Tools as Claude Code sends them: the core, its search, one that always waits, and those that were found. */
const claudeCode = (...found: Fields[]) => [
  ...[read, tool('Bash'), tool('ToolSearch'), deferred('DeferredToolPlaceholder')],
  ...found,
]

describe.each(ways)('Claude Code on %s', (way) => {
  test('wire 36 a ToolSearch round trip: the tool is found, joins the tools and is called', async () => {
    const script = always(
      { call: 'ToolSearch', input: { query: 'select:mcp__mail__send' } },
      { call: 'mcp__mail__send', input: { to: 'me' } },
      { say: 'Sent.' },
    )
    const gateway = await open(way, script)
    const headers = {
      'anthropic-beta': 'advanced-tool-use-2025-11-20,fine-grained-tool-streaming-2025-05-14',
    }
    const asked = ask(claudeCode())
    const first = await reply(gateway, asked, headers)
    expect(first.content.map(blockLine)).toEqual(['tool_use ToolSearch {"query":"select:mcp__mail__send"}'])
    const found = claudeCode(deferred('mcp__mail__send'))
    const turns = [
      user(text('go')),
      assistant(...first.content),
      user(result(String(first.content[0]?.id), [reference('mcp__mail__send')]), text('Tool loaded.')),
    ]
    const second = await reply(gateway, ask(found, ...turns), headers)
    expect(second.content.map(blockLine)).toEqual(['tool_use mcp__mail__send {"to":"me"}'])
    const more = [assistant(...second.content), user(result(String(second.content[0]?.id)))]
    const third = await reply(gateway, ask(found, ...turns, ...more), headers)
    expect(third.content.map(blockLine)).toEqual([expect.stringMatching(/^text Sent/)])
    expect(gateway.seen.map(({ visible }) => visible.includes('DeferredToolPlaceholder'))).toEqual(
      gateway.seen.map(() => false),
    )
  })
})

describe('threads', () => {
  const thread = { type: 'new' }
  test.each(['emulate', 'shelve', 'off', 'auto'])(
    'wire 37 are refused with their code in mode %s',
    async (mode) => {
      for (const kind of kinds) {
        const gateway = await emulate(kind, hello, { mode })
        for (const path of ['/v1/messages', COUNT])
          expect(await refused(gateway, { ...ask([read, later]), thread }, { path })).toMatchObject({
            ...{ status: 400, type: 'invalid_request_error', code: 'thread_unsupported_request' },
          })
        expect((await reply(gateway, ask([read, later]))).stop_reason).toBe('end_turn')
      }
    },
  )

  test('wire 37 are the upstream’s where it speaks today’s API or is asked as it is, else refused', async () => {
    const { url, requests } = await record(fine)
    const body = { ...ask([]), thread }
    await post(await start(createMessagesUpstream({ url, wire: 'native' })), body)
    await post(await start(createMessagesUpstream({ url }), { mode: 'pass' }), body)
    expect(requests.map((request) => JSON.parse(request.body).thread)).toEqual([thread, thread])
    const old = await start(createMessagesUpstream({ url }))
    expect(await refused(old, body)).toMatchObject({ code: 'thread_unsupported_request' })
    expect(requests).toHaveLength(2)
  })
})

describe('the upstream’s errors', () => {
  const errors = [
    [
      429,
      '{"type":"error", "error":{"type":"rate_limit_error","message":"Slow \\u0064own"},"request_id":"r1"}\n',
    ],
    [
      529,
      '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded","capability_rejected":"x"}}',
    ],
    [400, '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}'],
    [500, '<html>Oh no</html>'],
    [401, ''],
  ] as const
  const theirs = { 'retry-after': '17', 'request-id': 'req_9', 'x-should-retry': 'false' }
  const ways = [
    ['pass', 'native', 'auto'],
    ['pass', undefined, 'auto'],
    ['emulate', 'append', 'auto'],
    ['emulate', 'bridge', 'auto'],
    ['emulate', 'native', 'emulate'],
    ['shelve', 'append', 'shelve'],
    ['off', 'append', 'off'],
  ] as const

  test.each(ways)('wire 38 come through to the byte: %s, %s', async (expected, wire, mode) => {
    for (const [status, body] of errors) {
      const { url } = await record({ status, headers: { 'content-type': 'text/odd', ...theirs }, body })
      const gateway = await start(createMessagesUpstream({ url, wire }), { mode })
      const waiting = expected === 'shelve' || (expected === 'pass' && !wire) ? tool('later') : later
      for (const stream of [false, true])
        for (const path of ['/v1/messages', COUNT]) {
          const answer = await post(gateway, { ...ask([read, waiting]), stream }, { path })
          expect(answer.text).toBe(body)
          expect(answer.status).toBe(status)
          expect(answer.headers.get('content-type')).toBe('text/odd')
          for (const [name, value] of Object.entries(theirs)) expect(answer.headers.get(name)).toBe(value)
          expect(answer.headers.get('x-toolshelf-mode')).toBe(expected)
        }
    }
  })

  test.each(kinds)('wire 38 so do those of the script on %s', async (kind) => {
    const gateway = await emulate(kind, always({ fail: { status: 529, message: 'Busy.' } }))
    const { status, body } = await post(gateway, ask([read, later]))
    expect({ status, error: body.error }).toEqual({
      status: 529,
      error: { type: 'overloaded_error', message: 'Busy.' },
    })
  })

  test('wire 38 a redirect is handed on, not followed', async () => {
    const elsewhere = await record(fine)
    const { url } = await record({ status: 307, headers: { location: elsewhere.url.href }, body: '' })
    const gateway = await start(createMessagesUpstream({ url }))
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify(ask([hosted('bm25'), later])),
      redirect: 'manual',
    })
    expect(answer.status).toBe(307)
    expect(elsewhere.requests).toEqual([])
  })
})
