// Statements 1 to 11 through the gateway: what it takes and what it refuses, whatever the model behind it knows.
import { describe, expect, test } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import {
  assistant,
  deferred,
  found,
  loading,
  reference,
  result,
  search,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, COUNT, count, emulate, hosted, kinds, pass, post, refused, reply } from './support/gateways.ts'

const hello = always({ say: 'Hello.' })
const read = tool('Read')
const later = deferred('later')
const invalid = { status: 400, type: 'invalid_request_error', code: undefined }
const ALL_DEFERRED = 'At least one tool must have defer_loading=false. All tools cannot be deferred.'

describe.each(kinds)('emulate on %s', (kind) => {
  test.each([
    'tool_search_tool_regex',
    'tool_search_tool_regex_20251119',
    'tool_search_tool_bm25',
    'tool_search_tool_bm25_20251119',
  ])('wire 1 takes %s and deferred tools without a beta', async (type) => {
    const gateway = await emulate(kind, hello)
    const name = type.replace('_20251119', '')
    const { stop_reason } = await reply(gateway, ask([{ type, name }, later]))
    expect(stop_reason).toBe('end_turn')
    const both = ask([read, { type, name, defer_loading: true }, later])
    expect((await reply(gateway, both)).stop_reason).toBe('end_turn')
  })

  test('wire 1 takes the betas of old, and they stay here', async () => {
    const gateway = await emulate(kind, hello)
    for (const beta of ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'])
      expect((await reply(gateway, ask([read, later]), { 'anthropic-beta': beta })).stop_reason).toBe(
        'end_turn',
      )
  })

  test('wire 2 refuses tools that all wait, for messages and for counting', async () => {
    const gateway = await emulate(kind, hello)
    for (const path of ['/v1/messages', COUNT])
      expect(await refused(gateway, ask([later]), { path })).toEqual({ ...invalid, message: ALL_DEFERRED })
    expect((await reply(gateway, ask([]))).stop_reason).toBe('end_turn')
  })

  test('wire 3 refuses a breakpoint on a tool that waits, and names it', async () => {
    const gateway = await emulate(kind, hello)
    const marked = deferred('marked', { cache_control: { type: 'ephemeral' } })
    expect(await refused(gateway, ask([read, marked]))).toEqual({
      ...invalid,
      message:
        "Tool 'marked' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.",
    })
  })

  test('wire 4 refuses a reference to a missing tool, wherever it occurs', async () => {
    const gateway = await emulate(kind, hello)
    const message = "Tool reference 'gone' not found in available tools"
    const long = [...loading('gone'), assistant(text('Well.')), user(text('And now?'))]
    expect(await refused(gateway, ask([read], ...long))).toEqual({ ...invalid, message })
    const hostedHistory = [
      user(text('go')),
      assistant(search('srvtoolu_1'), found('srvtoolu_1', 'gone'), text('Well.')),
      user(text('And now?')),
    ]
    expect(await refused(gateway, ask([hosted('regex'), later], ...hostedHistory))).toMatchObject({ message })
  })

  test('wire 5 takes a reference to a tool that never waited, and shows it once', async () => {
    const gateway = await emulate(kind, hello)
    await reply(gateway, ask([read, later], ...loading('Read')))
    const shown = gateway.seen[0]?.segments.filter(({ text }) => text.includes('does Read'))
    expect(shown).toHaveLength(1)
  })

  test('wire 6 refuses references beside other content in a result, and takes text beside the result', async () => {
    const gateway = await emulate(kind, hello)
    const turns = (...blocks: unknown[]) => [user(text('go')), assistant(use('a')), user(...blocks)]
    const mixed = turns(result('a', [reference('later'), text('Loaded.')]))
    expect(await refused(gateway, ask([read, later], ...mixed))).toEqual({
      ...invalid,
      message: expect.stringContaining(
        'Tool definitions/code execution functions cannot be mixed with other content',
      ),
    })
    const apart = turns(result('a', [reference('later')]), text('Loaded.'))
    expect((await reply(gateway, ask([read, later], ...apart))).stop_reason).toBe('end_turn')
  })

  test('wire 7 refuses a client’s result for a hosted search', async () => {
    const gateway = await emulate(kind, hello)
    const turns = [user(text('go')), assistant(search('srvtoolu_1')), user(result('srvtoolu_1'))]
    const { status, type, message } = await refused(gateway, ask([hosted('regex'), later], ...turns))
    expect({ status, type }).toEqual({ status: 400, type: 'invalid_request_error' })
    expect(message).toContain('srvtoolu_1')
  })

  test.each(['computer_toolset_20260801', 'browser_toolset_20260801'])(
    'wire 8 refuses %s that waits as a whole, or whose members differ',
    async (type) => {
      const gateway = await emulate(kind, hello)
      expect(await refused(gateway, ask([read, { type, defer_loading: true }]))).toEqual({
        ...invalid,
        message: `tools.1.${type}.defer_loading: Extra inputs are not permitted`,
      })
      const configs = { click: { defer_loading: true }, type: { defer_loading: false } }
      expect(await refused(gateway, ask([read, { type, configs }]))).toEqual({
        ...invalid,
        message: `tools.1.${type}.configs: defer_loading must be the same for every enabled member`,
      })
    },
  )

  test('wire 9 refuses more than 10,000 tools that wait', async () => {
    const gateway = await emulate(kind, hello)
    const small = (_: unknown, index: number) => ({
      name: `t${index}`,
      input_schema: { type: 'object' },
      defer_loading: true,
    })
    const many = Array.from({ length: 10_001 }, small)
    expect(await refused(gateway, ask([read, ...many]))).toMatchObject({
      status: 400,
      code: 'available_tools_limit_exceeded',
    })
    // What is taken is the same for all of them, and half a CPU second of work.
    if (kind !== kinds[0] && !isThorough) return
    expect((await reply(gateway, ask([read, ...many.slice(1)]))).stop_reason).toBe('end_turn')
  })

  test('wire 10 takes a client’s own search: no search tool, an undeclared name, any id', async () => {
    const gateway = await emulate(
      kind,
      always({ call: 'find_my_tools' }, { call: 'later', input: { key: 1 } }),
    )
    const turns = [
      user(text('go')),
      assistant(use('auto_load_1', 'find_my_tools')),
      user(result('auto_load_1', [reference('later')])),
    ]
    const { content } = await reply(gateway, ask([read, later], ...turns))
    expect(content).toMatchObject([{ type: 'tool_use', name: 'later', input: { key: 1 } }])
  })

  test('wire 11 refuses in the API’s envelope, with an id that the header repeats', async () => {
    const gateway = await emulate(kind, hello)
    const { status, headers, body } = await post(gateway, ask([later]))
    expect(status).toBe(400)
    expect(body).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: ALL_DEFERRED },
      request_id: headers.get('request-id'),
    })
    expect(body.request_id).toMatch(/^req_/)
  })

  test.each([
    ['no JSON', '{"model":'],
    ['no object', '[]'],
    ['no messages', '{"model":"m"}'],
    ['messages that are none', '{"model":"m","messages":"hi"}'],
    ['tools that are none', '{"model":"m","messages":[],"tools":{}}'],
  ])('wire 11 so does a body with %s', async (_, body) => {
    const gateway = await emulate(kind, hello)
    const answer = await post(gateway, body)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.any(String) },
      request_id: expect.stringMatching(/^req_/),
    })
  })
})

describe('in front of a native API', () => {
  test('wire 2, 3, 4, 11 what it refuses comes through word for word', async () => {
    const gateway = await pass(hello)
    const marked = deferred('marked', { cache_control: { type: 'ephemeral' } })
    const requests = [ask([later]), ask([read, marked]), ask([read, later], ...loading('gone'))]
    const told = await Promise.all(requests.map((request) => refused(gateway, request)))
    expect(told.map(({ message }) => message)).toEqual([
      ALL_DEFERRED,
      expect.stringContaining("Tool 'marked'"),
      "Tool reference 'gone' not found in available tools",
    ])
    expect(await refused(gateway, ask([later]), { path: COUNT })).toMatchObject({ message: ALL_DEFERRED })
  })

  test('wire 1, 10 what it takes is taken', async () => {
    const gateway = await pass(always({ call: 'search' }, { call: 'later' }))
    const headers = { 'anthropic-beta': 'advanced-tool-use-2025-11-20,tool-search-tool-2025-10-19' }
    const { content } = await reply(gateway, ask([read, later], ...loading('later')), headers)
    expect(content).toMatchObject([{ type: 'tool_use', name: 'later' }])
    expect(await count(gateway, ask([read, later]))).toBeGreaterThan(0)
  })
})
