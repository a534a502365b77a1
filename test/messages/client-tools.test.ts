// The client's tools stay the client's: their names, their fields, and where their cache breakpoints may go.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Fields, fieldsOf, listOf } from '../../src/lib/index.ts'
import { createChatUpstream, createResponsesUpstream } from '../../src/messages/upstream/index.ts'
import { namesOf } from '../../src/messages/upstream/openai.ts'
import { assistant, deferred, result, text, tool, use, user } from '../oracle/requests.ts'
import { runs } from '../support/runs.ts'
import { always } from './script-talk.ts'
import { ask, blockLine, emulate, hosted, kinds, reply, start } from './support/gateways.ts'
import { startChat, startResponses } from './support/openai-models.ts'
import { modelOf, replyOf } from './support/played-model.ts'

/** 100 characters, as a plugin's prefix and a long tool make them. */
const LONG = `mcp__plugin_acme-developer-platform_${'x'.repeat(32)}__create_pull_request_review_cmt`
const longTool = (more: Fields = {}) => tool(LONG, { input_schema: { type: 'object' }, ...more })
const mark = { cache_control: { type: 'ephemeral' } }

/** Requests as the model got them, without what a script upstream adds. */
const marksIn = (value: unknown): number => JSON.stringify(value).split('"cache_control":{').length - 1

describe.each(kinds)('on %s', (kind) => {
  test('H3 a name of 100 characters reaches the client as it sent it, in shelve', async () => {
    expect(LONG).toHaveLength(100)
    const script = always({ call: LONG, search: 'pull request review' }, { say: 'Done.' })
    const gateway = await emulate(kind, script, { mode: 'shelve' })
    const tools = [tool('Read'), longTool(), tool('mcp__mail__send')]
    const first = await reply(gateway, ask(tools))
    expect(first.content.map(blockLine)).toEqual([`tool_use ${LONG} {}`])
    const next = ask(tools, user(text('go')), assistant(...first.content), answersTo(first.content))
    expect((await reply(gateway, next)).content.map(blockLine)).toEqual([
      expect.stringMatching(/^text Done\./),
    ])
  })

  test('H3 a name of 100 characters is found under that name by a hosted search, and the next turn is valid', async () => {
    const gateway = await emulate(kind, always({ call: LONG, search: 'review' }, { say: 'Done.' }), {
      mode: 'emulate',
    })
    const tools = [tool('Read'), hosted('regex'), longTool({ defer_loading: true })]
    const first = await reply(gateway, ask(tools))
    expect(first.content.map(blockLine)).toEqual([
      'server_tool_use tool_search_tool_regex {"pattern":"review"}',
      `result [${LONG}]`,
      `tool_use ${LONG} {}`,
    ])
    const next = ask(tools, user(text('go')), assistant(...first.content), answersTo(first.content))
    expect((await reply(gateway, next)).stop_reason).toBe('end_turn')
  })

  test.each([
    ['on a tool that stays', [tool('Bash', mark), tool('Read')]],
    ['on a tool that is deferred', [tool('Bash'), tool('Read'), tool('mcp__mail__list', mark)]],
    ['on each of three', [tool('Bash', mark), tool('Read', mark), tool('mcp__mail__list', mark)]],
    ['on a tool of the API', [tool('Bash', mark), { type: 'bash_20250124', name: 'bash', ...mark }]],
  ])('a breakpoint %s moves and is never copied', async (_, tools) => {
    const script = always({ call: 'mcp__mail__send', search: 'mail send' }, { say: 'Done.' })
    const gateway = await emulate(kind, script, { mode: 'shelve' })
    const asked: Fields = {
      ...ask([...tools, tool('mcp__mail__send')], user(text('one', mark))),
      system: [text('system', mark)],
    }
    await reply(gateway, asked)
    expect(gateway.seen.length).toBeGreaterThan(1)
    for (const { request } of gateway.seen) {
      expect(marksIn(request)).toBeLessThanOrEqual(marksIn(asked))
      expect(marksIn(request.tools)).toBe(1)
      expect(marksIn(request.system)).toBe(1)
    }
  })
})

describe.each([
  ['Chat Completions', startChat, createChatUpstream],
  ['Responses', startResponses, createResponsesUpstream],
] as const)('in front of %s', (_, startModel, create) => {
  test.each([
    ['shelve', 'gpt-5.4', 65],
    ['shelve', 'gpt-4o', 128],
    ['emulate', 'gpt-5.4', 128],
    ['emulate', 'gpt-4o', 65],
    ['off', 'gpt-4o', 128],
  ])("H3 %s, %s: a name of %i characters stays the client's", async (mode, model, length) => {
    const name = `mcp__plugin_${'x'.repeat(length - 24)}__send_mail1`
    expect(name).toHaveLength(length)
    const short = namesOf([{ name }]).short(name)
    const { url } = await startModel(short, 'send mail')
    const gateway = await start(create({ url }), { mode })
    const target = tool(name, { input_schema: { type: 'object' } })
    const tools =
      mode === 'emulate'
        ? [tool('Read'), hosted('bm25'), { ...target, defer_loading: true }]
        : [tool('Read'), tool('mcp__box__open'), target]
    const asked = (...turns: Fields[]) => ({ ...ask(tools, user(text('go')), ...turns), model })
    const { content } = await reply(gateway, asked())
    const call = content.find(({ type }) => type === 'tool_use')
    expect(call?.name).toBe(name)
    const ran = user(result(String(call?.id), `${short} ran`))
    expect((await reply(gateway, asked(assistant(...content), ran))).stop_reason).toBe('end_turn')
  })
})

const anyMark = fc.constantFrom({}, {}, mark)
const anyMarked = fc.record({
  system: fc.array(anyMark, { maxLength: 2 }),
  tools: fc.array(anyMark, { minLength: 6, maxLength: 6 }),
  blocks: fc.array(anyMark, { minLength: 7, maxLength: 7 }),
})

test.each(kinds)('never more breakpoints than the client sent, on %s', async (wire) => {
  const names = ['Read', 'Bash', 'mcp__mail__send', 'mcp__mail__list', 'mcp__box__open', 'mcp__box__shut']
  await fc.assert(
    fc.asyncProperty(anyMarked, fc.constantFrom('shelve', 'emulate'), async (marks, mode) => {
      const model = modelOf(
        (_, sampling) => ({
          content: sampling === 1 ? [searchFor(mode)] : [text('Done.')],
        }),
        { wire: wire === 'native' && mode === 'emulate' ? 'append' : wire },
      )
      const isDeferred = (name: string) => mode === 'emulate' && name.startsWith('mcp__')
      const tools = names.map((name, index) =>
        isDeferred(name) ? deferred(name) : tool(name, marks.tools[index]),
      )
      const [m0, m1, m2, m3, m4, m5, m6] = marks.blocks
      const asked = {
        ...ask(
          [...(mode === 'emulate' ? [hosted('bm25')] : []), ...tools],
          user(text('one', m0)),
          assistant(text('two', m1), { ...use('toolu_a', 'mcp__box__open'), ...m2 }),
          user({ ...result('toolu_a', 'ran'), ...m3 }, text('three', m4)),
          assistant(text('four', m5)),
          user(text('five', m6)),
        ),
        system: marks.system.map((one) => text('system', one)),
      }
      fc.pre(marksIn(asked) <= 4)
      await replyOf(model.upstream, asked, mode)
      expect(model.requests).toHaveLength(2)
      for (const request of model.requests) expect(marksIn(request)).toBeLessThanOrEqual(marksIn(asked))
    }),
    { numRuns: runs(20) },
  )
})

function searchFor(mode: string): Fields {
  const name = mode === 'shelve' ? 'ToolSearch' : 'tool_search_tool_bm25'
  return { type: 'tool_use', id: 'toolu_s', name, input: { query: 'mail send' } }
}

test('the fields of a tool reach an upstream that knows them, deferred or not', async () => {
  const fields = {
    strict: true,
    input_examples: [{ to: 'me' }],
    allowed_callers: ['direct'],
    eager_input_streaming: true,
  }
  const script = always({ call: 'mcp__mail__send', search: 'mail send' }, { say: 'Done.' })
  const gateway = await emulate('native', script, { mode: 'shelve' })
  await reply(gateway, ask([tool('Read', fields), tool('mcp__mail__send', fields)]))
  const sent = listOf(gateway.seen.at(-1)?.request.tools).map(fieldsOf)
  for (const name of ['Read', 'mcp__mail__send'])
    expect(sent.find((one) => one.name === name)).toMatchObject(fields)
})

test.each(['tool_search', 'grep_search', 'search_tools', 'codebase_search', 'list_files'])(
  "shelve keeps a client's own %s in sight",
  async (name) => {
    const gateway = await emulate('native', always({ say: 'Hi.' }), { mode: 'shelve' })
    await reply(gateway, ask([tool(name), tool('send_mail'), tool('list_mail')]))
    expect(gateway.seen[0]?.visible).toEqual(['ToolSearch', name])
  },
)

function answersTo(content: readonly Fields[]): Fields {
  const calls = content.filter(({ type }) => type === 'tool_use')
  return user(...calls.map(({ id }) => result(String(id), 'ran')))
}
