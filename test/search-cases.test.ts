// What the model reads, word for word: of a search, of a call that cannot be run, of an output that cannot be shown.
import { describe, expect, it } from 'vitest'
import type { ServerDetails, ShelfOptions } from '../src/index.ts'
import { ask } from './support/ask.ts'
import { EMAIL, ISSUE, LIST, SEND, tools } from './support/blocks.ts'
import { BOUND_MODEL, builtIn, type Loose, mcp, quietShelf, Talk } from './support/talk.ts'

const call = (name: string, input: Loose = {}) => ({ id: 'toolu_1', name, input })
const many = (count: number, state: ServerDetails['state'], more: object = {}) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, { state, ...more }]))

describe('the words of a search', () => {
  const words = async (query: string, options: ShelfOptions = {}) =>
    (await ask(quietShelf({ tools, ...options }), query)).said

  it.each<[string, string, ShelfOptions, string]>([
    ['S13 nothing found', 'zebra', {}, 'No deferred tool matches "zebra". 4 deferred tools can be searched.'],
    [
      'S12 a name that nobody has',
      'select:zzzzzzzz',
      {},
      'No deferred tool matches "select:zzzzzzzz". 4 deferred tools can be searched. There is no tool named "zzzzzzzz".',
    ],
    [
      'S12 a name that is nearly there',
      `select:${EMAIL},mcp__email__send_emails`,
      {},
      `There is no tool named "mcp__email__send_emails". Nearest: ${EMAIL}.`,
    ],
    [
      'S8 a server that failed without a reason',
      'slack',
      { servers: { x: { state: 'failed' } } },
      'Not searched, failed to connect: x (no reason given).',
    ],
    [
      'S8 a disabled one',
      'slack',
      { servers: { x: { state: 'disabled' }, y: { state: 'connected' } } },
      'Not searched, disabled: x.',
    ],
    [
      'S8 twenty that failed',
      'slack',
      { servers: many(20, 'failed', { error: 'E' }) },
      `Not searched, failed to connect: ${Array.from({ length: 20 }, (_, index) => `s${index} (E)`).join(', ')}.`,
    ],
  ])('%s', async (_, query, options, said) => {
    expect((await words(query, options)).replace('Tool search: ', '')).toBe(said)
  })

  it('S12 of many names ten are answered, three with the nearest ones', async () => {
    const asked = Array.from({ length: 12 }, (_, index) => `mcp__slack__send_messag${index}`)
    const said = await words(`select:${asked.join(',')}`)
    expect(said.match(/There is no tool named/g)).toHaveLength(10)
    expect(said.match(/Nearest: /g)).toHaveLength(3)
    expect(said).toMatch(/ 2 more of the names do not exist\.$/)
    const ten = await words(`select:${asked.slice(0, 10).join(',')}`)
    expect(ten).not.toContain('more of the names')
  })

  it('S8 of many servers twenty are named', async () => {
    const said = await words('slack', { servers: many(23, 'failed', { error: 'E' }) })
    expect(said).toContain('s19 (E), 3 more.')
    expect(said).not.toContain('s20')
  })

  it('S13 what rules keep back, and what more would match, is counted', async () => {
    const shelf = quietShelf({ tools, maxResults: 1, allowLoad: ({ name }) => name !== 'send_message' })
    expect((await ask(shelf, 'slack')).said).toBe(
      "1 found but kept back by the host's rules. 1 more matched and are not loaded; use more specific words or a larger max_results.",
    )
    const all = quietShelf({ tools, allowLoad: () => true })
    expect((await ask(all, 'slack')).said).toBe('')
    const failing = quietShelf({ tools, allowLoad: () => Promise.reject(new Error('no')) })
    expect((await ask(failing, 'email')).said).toBe("1 found but kept back by the host's rules.")
  })

  it.each<[string, string[]]>([
    ['MCP__Slack__Send_Message', [SEND]],
    ['READ', ['Read']],
    ['mcp__slack', [SEND, LIST]],
    ['MCP__SLACK__', [SEND, LIST]],
    ['slack__', [SEND, LIST]],
    [`please use \`${ISSUE}\`, now`, [ISSUE]],
    [`+send (${LIST})`, [SEND, EMAIL]],
    ['+send', [SEND, EMAIL]],
    ['+send +slack', [SEND]],
    ['+send +issue', []],
    ['+ send', [SEND, EMAIL]],
    ['+slack channels', [LIST, SEND]],
    ['+GitHub', [ISSUE]],
    ['+create-issue', [ISSUE]],
    ['read', ['Read']],
    ['please read', []],
    ['send\u0000\u0001email', [EMAIL, SEND]],
  ])('S1 S2 S4 %j finds %j', async (query, names) => {
    expect((await ask(quietShelf({ tools }), query)).names).toEqual(names)
  })

  it('S10 of two names that differ by case, the deferred tool is meant first', async () => {
    const shelf = quietShelf({
      tools: [
        builtIn('FETCH'),
        builtIn('fetch_', { shouldDefer: true }),
        builtIn('Fetch', { shouldDefer: true }),
        builtIn('fETCH', { shouldDefer: true }),
      ],
    })
    expect((await ask(shelf, 'select:fetch')).names).toEqual(['Fetch'])
  })

  it('S15 a query longer than can be searched loses its end, and half a name with it', async () => {
    const query = `select:${SEND},${'x'.repeat(2_000)}`
    const { names, said } = await ask(quietShelf({ tools }), query)
    expect([names, said]).toEqual([
      [SEND],
      'Tool search: Only the first 2000 characters of the query were searched.',
    ])
    expect((await ask(quietShelf({ tools }), `slack ${' '.repeat(1_994)}`)).said).toBe('')
  })

  it('S17 a shortened hit counts as left over, as hits that were not shown do', async () => {
    const long = (name: string) => mcp('files', name, { description: `open ${'x '.repeat(800)}` })
    const shelf = quietShelf({ tools: ['a', 'b', 'c', 'd'].map(long), answerTokens: 900, maxResults: 3 })
    const { tools: whole, shortened, left } = await shelf.search({ query: 'open' })
    expect([whole.length + shortened.length, left]).toEqual([3, 1 + shortened.length])
    expect(shortened.length).toBeGreaterThan(0)
  })

  it('S7 a ranker may count wrong, name foreign tools or fail', async () => {
    const [first] = quietShelf({ tools }).partition().deferred
    const stranger = quietShelf({ tools: [mcp('x', 'y')] }).partition().deferred[0]!
    const notices: string[] = []
    const ranked = async (rank: Loose) => {
      const shelf = quietShelf({ tools, rank, notify: (message) => notices.push(message) })
      return shelf.search({ query: 'anything at all' })
    }
    const known = (list: Loose) => list.filter(({ name }: Loose) => name === first?.name)
    const odd = await ranked((all: Loose) => ({
      hits: [
        { tool: known(all)[0], score: 2 },
        { tool: stranger, score: 1 },
      ],
      matched: Number.NaN,
    }))
    expect([odd.tools.map(({ name }) => name), odd.left]).toEqual([[first?.name], 0])
    const unread = await ranked((all: Loose) => ({
      hits: [{ tool: all[0], score: 1 }],
      matched: 3,
      unread: 7,
    }))
    expect(unread.remark).toContain(
      '7 tools were not searched, because they are still being read; try again shortly.',
    )
    expect(unread.left).toBe(2)
    await ranked(() => {
      throw new Error('broken')
    })
    expect(notices).toEqual(['the ranker failed, so the classic one is used: Error: broken'])
  })
})

describe('S8 a search while servers connect', () => {
  /** A timer that never ends, and whether the search went on without it. */
  async function isAtOnce(query: string, servers: object, more: readonly Loose[] = []): Promise<boolean> {
    let isWaiting = false
    let over = () => {}
    const timer = () => {
      isWaiting = true
      return {
        over: new Promise<void>((resolve) => {
          over = resolve
        }),
        cancel: () => {},
      }
    }
    const shelf = quietShelf({ tools: [...tools, ...more], servers: servers as never, timer })
    const searching = shelf.search({ query })
    for (let turn = 0; turn < 50 && !isWaiting; turn++) await Promise.resolve()
    over()
    await searching
    return !isWaiting
  }
  const slow = { slow: { state: 'pending' } }

  it.each<[string, boolean]>([
    ['slack send message', true],
    ['send', true],
    ['"send", (slack)', true],
    ['send-message', true],
    ['send-', true],
    ['sendMessage', false],
    [SEND, true],
    [`select:${SEND}`, true],
    [`select:${SEND},${ISSUE}`, true],
    [`select:${SEND},other`, false],
    ['slack zebra', false],
    ['send-zebra', false],
    ['zebra', false],
    ['"" ()', false],
    ['slow send', false],
    ['Slow: send', false],
    ['slower send', false],
    ['发送', true],
  ])('%j is answered at once: %j', async (query, isQuick) => {
    expect(await isAtOnce(query, slow, [mcp('chat', '发送')])).toBe(isQuick)
  })

  it('waits for nobody whose tools are known from before, nor for one that has settled', async () => {
    const known = { slack: { state: 'pending' } }
    expect(await isAtOnce('slack', known)).toBe(true)
    expect(await isAtOnce('zebra', known)).toBe(false)
    expect(await isAtOnce('zebra', { slow: { state: 'failed' } })).toBe(true)
  })

  it('continues as soon as the server that the query names has its tools', async () => {
    const timer = () => ({ over: new Promise<void>(() => {}), cancel: () => {} })
    const servers = { github2: { state: 'pending' }, slow: { state: 'pending' } } as const
    const shelf = quietShelf({ tools, servers, timer })
    const searching = shelf.search({ query: 'github2 zebras' })
    shelf.add([mcp('github2', 'count_zebras')])
    expect((await searching).tools.map(({ name }) => name)).toContain('mcp__github2__count_zebras')
  })

  it('says which servers have been searched since the last time', async () => {
    const shelf = quietShelf({
      tools,
      servers: { a: { state: 'pending' }, b: { state: 'pending' } },
      pendingWaitMs: 0,
    })
    const talk = new Talk(shelf)
    await talk.user().prepare()
    const first = await ask(shelf, 'slack')
    expect(first.said).toBe('Tool search: Not searched, still connecting: a, b; try again shortly.')
    shelf.add([mcp('a', 'x')])
    const second = await ask(shelf, 'slack')
    expect(second.said).toBe(
      'Tool search: Connected since your last search and searched now: a. Not searched, still connecting: b; try again shortly.',
    )
    const third = await ask(shelf, 'slack')
    expect(third.said).toBe('Tool search: Not searched, still connecting: b; try again shortly.')
  })
})

describe('the words about a call', () => {
  const said = (shelf: Loose, name: string, input: Loose = {}): string | undefined =>
    shelf.check(call(name, input))?.content[0].text

  it('V1 about a tool that nobody has', async () => {
    const shelf = quietShelf({ tools, servers: { slow: { state: 'pending' } } })
    const SEARCH = 'Search for it with ToolSearch.'
    expect(said(shelf, 'zzzzzzzz')).toBe(
      `There is no tool named "zzzzzzzz". ${SEARCH} Some servers are still connecting.`,
    )
    expect(said(quietShelf({ tools }), 'zzzzzzzz')).toBe(`There is no tool named "zzzzzzzz". ${SEARCH}`)
    expect(said(quietShelf({ tools }), 'Raed')).toBe(
      `There is no tool named "Raed". Nearest: Read. ${SEARCH}`,
    )
  })

  it('V1 N5 about one that was removed', async () => {
    const shelf = quietShelf({ tools })
    const talk = new Talk(shelf, BOUND_MODEL)
    await talk.user().prepare()
    await talk.search(`select:${SEND}`)
    await talk.prepare()
    shelf.remove(SEND)
    expect(said(shelf, SEND)).toBe(
      `"${SEND}" is no longer available: it was removed. Do the task another way.`,
    )
    expect(said(shelf, `${SEND}s`)).toContain('There is no tool named')
  })

  it('V2 V3 about arguments, by the names that the model was sent', () => {
    const input_schema = {
      type: 'object',
      properties: {
        'a b': { type: 'number' },
        c: { type: 'boolean' },
        d: { type: 'object', properties: { 'a b': { type: 'integer' } } },
        'e f': { type: 'object', properties: { g: { type: 'array' } } },
      },
      required: ['c'],
    }
    const shelf = quietShelf({ tools: [mcp('s', 't', { input_schema, alwaysLoad: true })] })
    const lines = (input: Loose) => said(shelf, 'mcp__s__t', input)?.split('\n').slice(1)
    expect(lines({ a_b: '5', c: true })).toEqual([
      '- a_b must be a number, not the string "5": write it without quotes',
    ])
    expect(lines({ c: 'yes', d: { 'a b': '5' }, e_f: { g: '[]' } })).toEqual([
      '- c must be true or false, not the string "yes": write it without quotes',
      '- d.a b must be a whole number, not the string "5": write it without quotes',
      '- e_f.g must be a JSON list, not the string "[]": write it without quotes',
    ])
    expect(lines({})).toEqual(['- c: is required'])
    expect(lines('text')).toEqual([
      expect.stringMatching(/^- the input must be a JSON object, not the string "text"/),
    ])
    expect(lines({ c: true, a_b: 5 })).toBeUndefined()
  })

  it('V2 a schema that is none, or a validator that fails, refuses nothing', () => {
    const check = (options: ShelfOptions, input_schema?: Loose) =>
      said(quietShelf({ tools: [builtIn('T', { input_schema })], ...options }), 'T', 5)
    const wrong = () => [{ path: '', message: 'wrong' }]
    expect(check({ validate: wrong }, {})).toBe(
      'The input of "T" does not fit its schema:\n- the input: wrong',
    )
    expect(check({ validate: wrong }, true)).toBeUndefined()
    expect(check({ validate: wrong })).toBeUndefined()
    expect(check({ validate: () => Promise.resolve(wrong()) as never }, {})).toBeUndefined()
    const failing = () => {
      throw new Error('broken')
    }
    expect(check({ validate: failing }, {})).toBeUndefined()
  })

  it.each<[Loose, boolean]>([
    [{ name: SEND, arguments: {} }, true],
    [{ name: SEND }, true],
    [{ name: SEND, text: 'x' }, false],
    [{ name: SEND, arguments: null }, true],
    [{ name: SEND, arguments: null, input: {} }, false],
    [{ name: SEND, arguments: {}, more: 1 }, true],
    [{ name: 5 }, false],
    [{}, false],
    [null, false],
    [undefined, false],
  ])('V4 the bridge takes %j: %j', async (input, isTaken) => {
    const shelf = quietShelf({ tools, wire: 'bridge' })
    await new Talk(shelf).user().prepare()
    const text = said(shelf, 'CallTool', input) ?? ''
    expect(text.startsWith('CallTool takes {"name":')).toBe(!isTaken)
  })
})

describe('L1 an output that the API does not take', () => {
  const shelf = quietShelf({ tools })
  const PNG = 'iVBORw0KGgo='
  const shown = (media_type: string, data: string) => ({
    type: 'image',
    source: { type: 'base64', media_type, data },
  })
  const words = (...texts: string[]) => texts.map((text) => ({ type: 'text', text }))

  it.each<[string, Loose, Loose]>([
    ['a resource with text', [{ type: 'resource', resource: { text: 'T', uri: 'u' } }], words('T')],
    ['one without', [{ type: 'resource', resource: { uri: 'u' } }], words('A resource: u')],
    ['a link', [{ type: 'resource_link', uri: 'u' }], words('A resource: u')],
    ['a clip', [{ type: 'audio', data: 'x' }], words('An audio clip that cannot be shown here.')],
    [
      'an image of a server',
      [{ type: 'image', data: PNG, mimeType: 'image/png' }],
      [shown('image/png', PNG)],
    ],
    [
      'one of a wrong type',
      [{ type: 'image', data: PNG, mimeType: 'image/jpeg' }],
      [shown('image/png', PNG)],
    ],
    [
      'one in a data URL',
      [{ type: 'image', data: `data:image/gif;base64,AAAA` }],
      [shown('image/gif', 'AAAA')],
    ],
    [
      'one that cannot be shown',
      [{ type: 'image', data: 'AAAA', mimeType: 'image/bmp' }],
      words('An image of type image/bmp that cannot be shown here.'),
    ],
    [
      'one of the API that cannot',
      [{ type: 'image', source: { type: 'base64', media_type: 'x/y', data: 'AAAA' } }],
      words('An image of type x/y that cannot be shown here.'),
    ],
    ['one of nothing', [{ type: 'image' }], words('An image of type undefined that cannot be shown here.')],
    ['an unknown block', [{ type: 'zebra', n: 1 }], words('{"type":"zebra","n":1}')],
    ['empty text', [{ type: 'text', text: '' }], words('The tool returned nothing.')],
    ['half a character', [{ type: 'text', text: '\ud800' }], words('\ufffd')],
    ['structured content', { content: [], structuredContent: { a: [1] } }, words('{"a":[1]}')],
    ['structured content alone', { structuredContent: { a: 1 } }, words('{"a":1}')],
    ['structured content beside content', { content: words('x'), structuredContent: { a: 1 } }, words('x')],
    ['an object', { type: 'zebra', cache_control: {} }, words('{"type":"zebra"}')],
    ['a number as content', { content: 5 }, words('5')],
    ['content that is missing', { content: undefined }, words('The tool returned nothing.')],
    [
      'a reference within',
      { content: [{ type: 'zebra', list: [{ type: 'tool_reference' }, 1] }] },
      words('{"type":"zebra","list":[1]}'),
    ],
  ])('%s', (_, output, content) => {
    const made = shelf.result(call('x'), output) as Loose
    expect([made.content, made.is_error]).toEqual([content, undefined])
  })

  it('an error holds text only', () => {
    const output = {
      content: [
        { type: 'image', data: PNG },
        { type: 'text', text: 'x' },
      ],
      isError: true,
    }
    const note = 'The error came with a block of type "image", which cannot be shown beside it.'
    expect(shelf.result(call('x'), output)).toMatchObject({ is_error: true, content: words(note, 'x') })
    expect(shelf.result(call('x'), { ...output, isError: false })).not.toHaveProperty('is_error')
    expect(
      shelf.result(call('x'), { type: 'tool_result', is_error: true, content: 'x' } as Loose),
    ).toHaveProperty('is_error')
    expect(
      shelf.result(call('x'), { type: 'other', is_error: true, content: 'x' } as Loose),
    ).not.toHaveProperty('is_error')
    expect(shelf.result(call('x'), output, { isError: false })).not.toHaveProperty('is_error')
  })
})
