// Golden streams: the order of events, block by block, as in recorded traffic (wire 1.5 and 1.6).
import { describe, expect, test } from 'vitest'
import { OFFLINE_NOTE } from '../../src/messages/upstream/index.ts'
import { assistant, text, tool, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, emulate, hosted, kinds, lines, open, post, stream, ways } from './support/gateways.ts'
import {
  call,
  contentOf,
  ended,
  issue,
  resultOf,
  results,
  searchFor,
  tools,
  usageOf,
  words,
} from './support/golden.ts'

describe.each(ways)('%s', (way) => {
  test('wire 22, 24, 27 a hosted search', async () => {
    const script = always({ say: 'I look.' }, { call: 'create_issue', input: { title: 'x' } })
    const gateway = await open(way, script)
    const events = await stream(gateway, ask(tools))
    expect(lines(events)).toEqual([
      'message_start',
      ...words(0, 'I look.'),
      ...searchFor(1, 'create issue'),
      ...resultOf(2, '[create_issue]'),
      ...call(3, 'tool_use create_issue', '{"title":"x"}'),
      ...ended('tool_use'),
    ])
    const [first, second] = gateway.seen
    expect(gateway.seen).toHaveLength(2)
    expect(usageOf(events)).toEqual({ first: first?.tokens, last: first!.tokens + second!.tokens })
    expect(events.filter(({ type }) => type === 'message_start')).toHaveLength(1)
  })

  test('wire 24, 28 a client’s call beside a search: the result starts the reply to the client’s', async () => {
    const script = always(
      { calls: [{ call: 'Read', input: { path: 'a' } }, { search: 'create issue' }] },
      { call: 'create_issue' },
    )
    const gateway = await open(way, script)
    const first = await stream(gateway, ask(tools))
    expect(lines(first)).toEqual([
      'message_start',
      ...call(0, 'tool_use Read', '{"path":"a"}'),
      ...searchFor(1, 'create issue'),
      ...ended('tool_use'),
    ])
    const content = contentOf(first)
    const turns = [user(text('go')), assistant(...content), results(content)]
    const second = await stream(gateway, ask(tools, ...turns))
    expect(lines(second)).toEqual([
      'message_start',
      ...resultOf(0, '[create_issue]'),
      ...call(1, 'tool_use create_issue', '{}'),
      ...ended('tool_use'),
    ])
    expect(contentOf(second)[0]).toMatchObject({ tool_use_id: content[1]?.id })
    const whole = [...turns, assistant(...contentOf(second)), results(contentOf(second))]
    expect(lines(await stream(gateway, ask(tools, ...whole)))).toEqual([
      'message_start',
      ...words(0, OFFLINE_NOTE),
      ...ended('end_turn'),
    ])
  })

  test('wire 20, 24 a search that fails', async () => {
    const regex = [hosted('regex'), issue]
    const gateway = await open(
      way,
      always({ call: 'tool_search_tool_regex', input: { pattern: '(' } }, { say: 'Well.' }),
    )
    const events = await stream(gateway, ask(regex))
    expect(lines(events)).toEqual([
      'message_start',
      ...call(0, 'server_tool_use tool_search_tool_regex', '{"pattern":"("}'),
      ...resultOf(1, 'invalid_tool_input'),
      ...words(2, `Well.\n${OFFLINE_NOTE}`),
      ...ended('end_turn'),
    ])
  })

  test('wire 21, 24 a search that finds nothing', async () => {
    const gateway = await open(way, always({ search: 'zebra' }, { say: 'Nothing.' }))
    expect(lines(await stream(gateway, ask(tools)))).toEqual([
      'message_start',
      ...searchFor(0, 'zebra'),
      ...resultOf(1, '[]'),
      ...words(2, `Nothing.\n${OFFLINE_NOTE}`),
      ...ended('end_turn'),
    ])
  })

  test('wire 24 several searches at once', async () => {
    const gateway = await open(way, always({ calls: [{ search: 'issue' }, { search: 'mail' }] }))
    expect(lines(await stream(gateway, ask(tools)))).toEqual([
      'message_start',
      ...searchFor(0, 'issue'),
      ...searchFor(1, 'mail'),
      ...resultOf(2, '[create_issue]'),
      ...resultOf(3, '[send_mail]'),
      ...words(4, OFFLINE_NOTE),
      ...ended('end_turn'),
    ])
  })

  test('wire 22, 27 searches past the bound pause the turn, and the next request continues it', async () => {
    const searches = Array.from({ length: 11 }, () => ({ search: 'mail' }))
    const gateway = await open(way, always(...searches, { call: 'send_mail' }))
    const paused = await stream(gateway, ask(tools))
    const rounds = Array.from({ length: 10 }, (_, round) => [
      ...searchFor(2 * round, 'mail'),
      ...resultOf(2 * round + 1, '[send_mail]'),
    ])
    expect(lines(paused)).toEqual(['message_start', ...rounds.flat(), ...ended('pause_turn')])
    const tokens = gateway.seen.reduce((sum, seen) => sum + seen.tokens, 0)
    expect(usageOf(paused)).toEqual({ first: gateway.seen[0]?.tokens, last: tokens })
    const turns = [user(text('go')), assistant(...contentOf(paused))]
    expect(lines(await stream(gateway, ask(tools, ...turns)))).toEqual([
      'message_start',
      ...searchFor(0, 'mail'),
      ...resultOf(1, '[send_mail]'),
      ...call(2, 'tool_use send_mail', '{}'),
      ...ended('tool_use'),
    ])
  })

  test('thinking comes before a search and after it', async () => {
    const script = always({ think: 'Hm.' }, { call: 'send_mail' }, { say: 'Sent.' })
    const gateway = await open(way, script)
    expect(lines(await stream(gateway, ask(tools))).slice(0, 6)).toEqual([
      'message_start',
      '0 start thinking',
      '0 thinking_delta Hm.',
      '0 signature_delta script',
      '0 stop',
      '1 start server_tool_use tool_search_tool_bm25 {}',
    ])
  })

  test('the upstream breaks off midway: sends the text so far, then an error and no end', async () => {
    const script = always({ call: 'send_mail' }, { say: 'One two three four.' }, { cut: true })
    const gateway = await open(way, script)
    const first = contentOf(await stream(gateway, ask(tools)))
    const turns = [user(text('go')), assistant(...first), results(first)]
    const told = lines(await stream(gateway, ask(tools, ...turns)))
    expect(told.slice(0, 2)).toEqual(['message_start', '0 start text'])
    expect(told[2]).toMatch(/^0 text_delta One /)
    expect(told.slice(3)).toEqual(['error api_error'])
  })

  test('the upstream breaks off after a search: the search result stays', async () => {
    const script = always({ search: 'mail' }, { say: 'One two three four.' }, { cut: true })
    const told = lines(await stream(await open(way, script), ask(tools)))
    expect(told.slice(0, 7)).toEqual([
      'message_start',
      ...searchFor(0, 'mail'),
      ...resultOf(1, '[send_mail]'),
    ])
    expect(told.at(-1)).toBe('error api_error')
  })

  test('the upstream refuses to continue after a search: its own error ends the stream', async () => {
    const script = always({ search: 'mail' }, { fail: { status: 529, message: 'Busy.' } })
    const gateway = await open(way, script)
    const events = await stream(gateway, ask(tools))
    expect(lines(events).at(-1)).toBe('error overloaded_error')
    expect(events.at(-1)?.error).toEqual({ type: 'overloaded_error', message: 'Busy.' })
    const whole = await post(gateway, ask(tools))
    expect(whole.status).toBe(529)
    expect(whole.body.error).toEqual({ type: 'overloaded_error', message: 'Busy.' })
  })
})

describe('shelve', () => {
  const many = [
    tool('Read'),
    ...Array.from({ length: 6 }, (_, index) => tool(`mail_${index}`)),
    tool('zebra'),
  ]

  test.each(kinds)('on %s: a search of its own leaves no event, and blocks count on', async (kind) => {
    const script = always({ say: 'I look.' }, { call: 'zebra', input: { stripes: 3 } })
    const gateway = await emulate(kind, script, { mode: 'shelve' })
    const events = await stream(gateway, ask(many))
    expect(lines(events)).toEqual([
      'message_start',
      ...words(0, 'I look.'),
      ...call(1, 'tool_use zebra', '{"stripes":3}'),
      ...ended('tool_use'),
    ])
    const [first, second] = gateway.seen
    expect(gateway.seen).toHaveLength(2)
    expect(first?.visible).not.toContain('zebra')
    expect(usageOf(events)).toEqual({ first: first?.tokens, last: first!.tokens + second!.tokens })
    expect(JSON.stringify(events)).not.toMatch(/ToolSearch|tool_reference|server_tool_use/)
  })

  test.each(kinds)('on %s: a call beside a search', async (kind) => {
    const script = always({ calls: [{ call: 'Read' }, { search: 'zebra' }] }, { call: 'zebra' })
    const gateway = await emulate(kind, script, { mode: 'shelve' })
    const first = await stream(gateway, ask(many))
    expect(lines(first)).toEqual(['message_start', ...call(0, 'tool_use Read', '{}'), ...ended('tool_use')])
    const content = contentOf(first)
    const turns = [user(text('go')), assistant(...content), results(content)]
    const second = lines(await stream(gateway, ask(many, ...turns)))
    expect(second).toEqual(['message_start', ...call(0, 'tool_use zebra', '{}'), ...ended('tool_use')])
  })

  test.each(kinds)('on %s: after searches past the bound the model answers without another', async (kind) => {
    const searches = Array.from({ length: 12 }, (_, index) => ({ search: `mail ${index}` }))
    const gateway = await emulate(kind, always({ say: 'Hm.' }, ...searches), { mode: 'shelve' })
    expect(lines(await stream(gateway, ask(many)))).toEqual([
      'message_start',
      ...words(0, 'Hm.'),
      ...['1 start text', expect.stringMatching(/^1 text_delta I cannot see a search tool/), '1 stop'],
      ...ended('end_turn'),
    ])
    expect(gateway.seen).toHaveLength(10)
  })
})
