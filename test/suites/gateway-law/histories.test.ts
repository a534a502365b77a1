// Histories as clients send them: edited, shortened, forged, of another process, or with results that are too long to be read whole.
import { describe, expect, it, test } from 'vitest'
import { assistant, text, use, user } from '../../../packages/testkit/src/blocks.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { extendsPrefix, renderRequest, type Trace, validateRequest } from '../../doors.ts'
import { play, wires } from './gateways.ts'
import { blocksOf, calledIn, loadedIn, toolFor } from './model.ts'

const MODEL = 'claude-sonnet-5'
const [SEND, LIST] = ['mcp__mail__send', 'mcp__mail__list']
const tools = ['Read', SEND, LIST].map(toolFor)
const asked = (...messages: Loose[]): Loose => ({ model: MODEL, max_tokens: 4096, tools, messages })
const byHand = { thinking: { type: 'enabled', budget_tokens: 1024 } }
const start = user(text('go'))
const find = (query: string) => ({ type: 'tool_use', id: 'toolu_s', name: 'ToolSearch', input: { query } })
const result = (id: string, content: Loose = 'ran', more: Loose = {}) => ({
  ...{ type: 'tool_result', tool_use_id: id, content },
  ...more,
})
const thought = (number = 1) => ({ type: 'thinking', thinking: `(${number})`, signature: `s${number}` })
const done = [text('Done.')]
const isValid = (request: Loose) => expect(validateRequest(request)).toBeUndefined()

/** What each message says, in a word for each block. */
const outline = ({ messages }: Loose): string[] =>
  messages.map(({ role, content }: Loose) => {
    const words = blocksOf(content).map(({ type, name, thinking, content: inner, text: said = '' }) => {
      if (type === 'tool_use') return `${name}()`
      const found = blocksOf(inner).map(({ tool_name, text: told }: Loose) => tool_name ?? told)
      return type === 'tool_result' ? `→${found}` : (thinking ?? said.split('\n')[0])
    })
    return `${role}: ${words.join(' ')}`
  })

/** Two requests of a client: the model says these, one after the other, and then that it is done. */
async function twoTurns(
  samplings: readonly Loose[][],
  words: Loose[] = [],
  edit = (blocks: Loose[]) => blocks,
) {
  const { ask, sent } = await play({ says: (_, n) => samplings[n] ?? done })
  const { content } = (await ask({ ...asked(start), ...byHand })).body
  const kept = edit(content)
  const results = kept
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name }) => result(id, `${name} ran`))
  const answer = await ask({ ...asked(start, assistant(...kept), user(...results, ...words)), ...byHand })
  expect(answer.body.content).toEqual(done)
  return outline(sent().at(-1)).slice(2)
}

describe('a search that thinking leads to', () => {
  it.each([
    [
      'wire 28 beside a call stays in the turn that the thought starts',
      [[thought(), find(`select:${SEND}`), use('c')]],
      ['assistant: (1) ToolSearch() Read()', `user: →${SEND} →Read ran Tool loaded.`],
    ],
    [
      'before a call without a thought of its own joins the turn of the thought',
      [
        [thought(), find(`select:${SEND}`)],
        [text('Found.'), use('c', SEND)],
      ],
      [`assistant: (1) Found. ToolSearch() ${SEND}()`, `user: →${SEND} →${SEND} ran Tool loaded.`],
    ],
    [
      'before a call with a thought of its own is in its own turn, as it ran',
      [
        [thought(), find(`select:${SEND}`)],
        [thought(2), use('c', SEND)],
      ],
      [
        'assistant: (1) ToolSearch()',
        `user: →${SEND} Tool loaded.`,
        `assistant: (2) ${SEND}()`,
        `user: →${SEND} ran`,
      ],
    ],
    [
      'that was never made is put beside the call',
      [[thought(), use('c', LIST)]],
      [`assistant: (1) ToolSearch() ${LIST}()`, `user: →${LIST} →${LIST} ran Tool loaded.`],
    ],
    [
      'is one turn with others of the same sampling',
      [
        [thought(), find(`select:${SEND}`), find(`select:${LIST}`)],
        [thought(2), use('c', SEND)],
      ],
      [
        'assistant: (1) ToolSearch() ToolSearch()',
        `user: →${SEND} →${LIST} Tool loaded.`,
        `assistant: (2) ${SEND}()`,
        `user: →${SEND} ran`,
      ],
    ],
  ] as [string, Loose[][], string[]][])('%s', async (_, samplings, expected) => {
    expect(await twoTurns(samplings)).toEqual(expected)
  })

  it("N4 the user's words after a call stay there", async () => {
    const said = await twoTurns([[thought(), find(`select:${SEND}`), use('c')]], [text('Hurry.')])
    expect(said.at(-1)).toMatch(/ →Read ran( Tool loaded\.)? Hurry\./)
  })
})

test('a search stays between the same words when a client leaves out thinking', async () => {
  const { ask, sent } = await play({
    says: (_, n) =>
      [
        [thought(), text('one'), find(`select:${LIST}`)],
        [thought(2), text('two'), find(`select:${SEND}`)],
        [text('three'), use('c')],
      ][n] ?? done,
  })
  const { content } = (await ask({ ...asked(start), thinking: { type: 'adaptive' } })).body
  for (const kept of [content, content.filter(({ type }: Loose) => type !== 'thinking')]) {
    const id = content.at(-1).id
    await ask(asked(start, assistant(...kept), user(result(id))))
    expect(
      outline(sent().at(-1))
        .slice(2)
        .map((line) => line.replaceAll(/\(\d\) /g, '')),
    ).toEqual([
      ...['assistant: one ToolSearch()', `user: →${LIST} Tool loaded.`],
      ...['assistant: two ToolSearch()', `user: →${SEND} Tool loaded.`],
      ...['assistant: three Read()', 'user: →ran'],
    ])
  }
})

test('what no call carries is remembered for the client that it is of, whatever it drops of the reply', async () => {
  const { ask, sent } = await play({
    says: (_, n) => (n === 0 ? [thought(), find(`select:${SEND}`)] : n === 1 ? [text('Well.')] : done),
  })
  await ask({ ...asked({ role: 'user', content: 'go' }), thinking: { type: 'adaptive' } })
  const loaded = async (reply: Loose, key = 'key') => {
    await ask(asked(start, reply, user(text('And?'))), { 'x-api-key': key })
    return loadedIn(sent().at(-1)).includes(SEND)
  }
  const marked = { ...text('Well.'), cache_control: { type: 'ephemeral' } }
  expect(await loaded(assistant(thought(), text('Well.')))).toBe(true)
  expect(await loaded(assistant(marked))).toBe(true)
  expect(await loaded({ role: 'assistant', content: 'Well.' })).toBe(true)
  expect(await loaded(assistant(text('Other.')))).toBe(false)
  expect(await loaded(assistant(text('Well.')), 'other key')).toBe(false)
})

describe('an id', () => {
  it.each(['a__shelf_x', 'a__shelf_0_0_short', 'a__shelf_0_0-', 'toolu_shelf_1'])(
    'that looks like one of ours stays what it is: %s',
    async (id) => {
      const { ask, sent } = await play({ says: () => done })
      await ask(asked(start, assistant(use(id)), user(result(id))))
      expect(blocksOf(sent()[0].messages[2].content)).toMatchObject([{ id, name: 'Read' }])
    },
  )

  it('with a mark of our own that the model made up comes back to it', async () => {
    const { ask, sent } = await play({
      says: (_, n) => (n === 0 ? [find(`select:${SEND}`)] : [use('a__shelf_', SEND)]),
    })
    const { content } = (await ask(asked(start))).body
    await ask(asked(start, assistant(...content), user(result(content[0].id))))
    expect(calledIn(sent().at(-1))).toEqual([SEND])
    expect(JSON.stringify(sent().at(-1).messages)).toContain('"id":"a__shelf_"')
  })

  it('that a client forged restores no more than a bounded number of searches', async () => {
    const { ask, sent } = await play({ says: (_, n) => (n === 0 ? [find(`select:${SEND}`)] : [use('c')]) })
    const { content } = (await ask(asked(start))).body
    const [id, code] = content[0].id.split('__shelf_')
    for (const [count, expected] of [
      [1000, 2 * 50],
      [20_000, 0],
    ] as const) {
      const forged = `${id}__shelf_${Array.from({ length: count }, () => code).join('-')}`
      await ask(asked(start, assistant(use(forged)), user(result(forged))))
      expect(sent().at(-1).messages.length).toBe(4 + expected)
      isValid(sent().at(-1))
    }
  })
})

describe('a reply that no API takes back', () => {
  it.each([
    ['a thought behind its call', [thought(), use('c'), thought(2)], ['(1) Read()']],
    ['a thought alone', [thought()], []],
    ['nothing', [], []],
  ])('%s is left out', async (_, blocks, expected) => {
    const { ask, sent } = await play({ says: () => done })
    const next = expected.length > 0 ? user(result('c')) : start
    await ask({ ...asked(start, assistant(...(blocks as Loose[])), next), thinking: { type: 'adaptive' } })
    const said = outline(sent()[0]).filter((line) => line.startsWith('assistant'))
    expect(said).toEqual(expected.map((line) => `assistant: ${line}`))
    isValid(sent()[0])
  })

  it('that only searched is followed by whatever comes next', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `mcp__mail__${index}`)
    const { ask, sent } = await play({ says: (_, n) => (n < 9 ? [find(`select:${names[n]}`)] : []) })
    const body = { ...asked(start), tools: names.map(toolFor) }
    expect((await ask(body)).body).toMatchObject({
      content: [text(expect.any(String))],
      stop_reason: 'end_turn',
    })
    expect((await ask({ ...body, messages: [start, assistant(), user(text('Well?'))] })).status).toBe(200)
    isValid(sent().at(-1))
  })
})

test('words put into the mouth of the model stay the last message', async () => {
  const { ask, sent } = await play({ says: (_, n) => (n === 0 ? [find(`select:${SEND}`)] : done) })
  const prefill = { role: 'assistant', content: 'I would' }
  await ask({ ...asked(start, prefill), model: 'claude-opus-4-5' })
  expect(sent()[0].messages.at(-1)).toEqual(prefill)
  const after = ['assistant: I would', 'assistant: ToolSearch()', `user: →${SEND} Tool loaded.`]
  expect(outline(sent()[1]).slice(2)).toEqual(after)
})

test.each(wires)('a tool that the client forces is in sight, deferred or not (%s)', async (wire) => {
  const { ask, sent } = await play({ wire, says: () => done })
  await ask({ ...asked(start), tool_choice: { type: 'tool', name: SEND } })
  expect(sent()[0].tool_choice).toEqual({ type: 'tool', name: SEND })
  expect(sent()[0].tools).toContainEqual(toolFor(SEND))
})

describe('later requests of a conversation that have no tools (titles, summaries, counts)', () => {
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  it.each([
    ['shelve', undefined],
    ['shelve', []],
    ['auto:1', [toolFor('Glob')]],
    ['emulate', undefined],
  ] as const)('wire 40 are ones that an old API takes (%s, %j)', async (mode, later) => {
    const says = (_: Loose, n: number) =>
      (mode === 'emulate' ? [[use('c')]] : [[find('mail send')], [use('c', SEND)]])[n] ?? done
    const { ask, model } = await play({ wire: 'append', mode, contextWindow: 1000, says })
    const own =
      mode === 'emulate'
        ? [search, ...tools.map((tool) => ({ ...tool, defer_loading: tool.name !== 'Read' }))]
        : tools
    const { body } = await ask({ ...asked(start), tools: own })
    const call = body.content.find(({ type }: Loose) => type === 'tool_use')
    const messages = [start, assistant(...body.content), user(result(call.id), text('Title?'))]
    const { tools: _, ...rest } = asked(...messages)
    const next = later ? { ...rest, tools: later } : rest
    const answered = await ask(next)
    expect(answered.body, answered.text).toMatchObject({ content: done })
    const sent = JSON.stringify(model.samplings.at(-1)?.request)
    expect(sent).not.toMatch(/caller|__shelf_|srvtoolu_|tool_search/)
    const { max_tokens: __, ...counted } = next
    expect((await ask(counted, {}, 'messages/count_tokens')).body.input_tokens).toBeGreaterThan(0)
  })
})

describe('a model that binds its thinking', () => {
  it.each([{ model: 'claude-opus-4-8', ...byHand }, { model: 'claude-opus-5-5' }])(
    'wire 44 is asked to drop thinking only where it thinks and binds (%j)',
    async (more) => {
      const { ask, model } = await play({ says: () => done })
      await ask({ ...asked(start), ...more })
      expect(model.samplings[0]?.request.thinking).toEqual('thinking' in more ? more.thinking : undefined)
      expect(model.samplings[0]?.headers['anthropic-beta'] ?? '').not.toContain('binding')
    },
  )

  it('N5 a client that edits a message or adds a tool that is always sent is answered', async () => {
    const says = (_: Loose, n: number) => (n === 0 ? [thought(), find('mail')] : [thought(2), ...done])
    const { ask } = await play({ says })
    const body = { ...asked(start), model: 'claude-opus-5-5', ...byHand }
    const { content } = (await ask(body)).body
    const messages = [user(text('edited')), assistant(...content), user(text('And?'))]
    expect((await ask({ ...body, messages, tools: [...tools, toolFor('Glob')] })).status).toBe(200)
  })
})

describe('a long result', () => {
  const long = JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, title: `Issue ${id}` })))
  const history = (more: Loose = {}, content = long) => [
    start,
    assistant(use('toolu_a')),
    user(result('toolu_a', content, more)),
  ]
  const read = (input: Loose, id = 'toolu_r') => [{ type: 'tool_use', id, name: 'ReadResult', input }]
  const handleIn = (value: Loose) => /result_[a-z0-9]{16}/.exec(JSON.stringify(value))?.[0]
  const hasReader = ({ tools: given = [] }: Loose) => given.some(({ name }: Loose) => name === 'ReadResult')

  it.each(wires)('is a preview for the model, which reads on; the client sees neither (%s)', async (wire) => {
    const events: Trace[] = []
    const openTrace = () => Object.assign((event: Trace) => void events.push(event), { traceId: 'x' })
    const says = (request: Loose, n: number) =>
      n === 0 ? read({ handle: handleIn(request), path: '[7].title' }) : done
    const { ask, sent } = await play({ wire, resultBudget: 1000, says, openTrace: openTrace as never })
    expect((await ask(asked(...history()))).body.content).toEqual(done)
    await ask(asked(...history(), assistant(...done), user(text('And now?'))))
    const [first, second, third] = sent()
    expect(JSON.stringify(first)).toContain('300 × { id: number, title: string }')
    expect(JSON.stringify(first)).not.toContain('Issue 299')
    expect(JSON.stringify(second.messages.at(-1))).toContain('"text":"Issue 7"')
    for (const later of [second, third])
      expect(extendsPrefix(renderRequest(first), renderRequest(later)).extends).toBe(true)
    expect(events.filter(({ type }) => type === 'shelved')).toHaveLength(1)
  })

  it('that failed, is short, or is not asked for stays as it is', async () => {
    for (const [messages, resultBudget] of [
      [history({ is_error: true }), 1000],
      [history({}, 'ok'), 1000],
      [history(), undefined],
    ] as const) {
      const { ask, sent } = await play({ resultBudget, says: () => done })
      await ask(asked(...messages))
      expect(sent()[0].messages.at(-1)).toEqual(messages.at(-1))
      expect(hasReader(sent()[0])).toBe(resultBudget !== undefined)
    }
  })

  it('of another conversation is unknown; a client’s own ReadResult is left alone', async () => {
    const says = (_: Loose, n: number) => (n === 0 ? read({ handle: 'result_0123456789abcdef' }) : done)
    const { ask, sent } = await play({ resultBudget: 1000, says })
    await ask(asked(...history()))
    expect(JSON.stringify(sent()[1].messages.at(-1))).toContain('not on the shelf')
    await ask({ ...asked(...history()), tools: [...tools, toolFor('ReadResult')] })
    expect(JSON.stringify(sent()[2].messages)).toContain('Issue 299')
  })

  it('that a model only reads is answered in the end, without the tool', async () => {
    const says = (request: Loose, n: number) =>
      hasReader(request) ? read({ handle: handleIn(request) }, `toolu_r${n}`) : done
    const { ask, sent } = await play({ resultBudget: 1000, says })
    expect((await ask(asked(...history()))).body).toMatchObject({ content: done })
    expect(sent()).toHaveLength(10)
  })
})
