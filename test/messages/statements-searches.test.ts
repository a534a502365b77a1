// Statements 17 to 23 through the gateway: the API's own searches, run here.
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import { assistant, deferred, text, tool, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, blockLine, emulate, hosted, type Kind, kinds, reply } from './support/gateways.ts'

type Variant = 'regex' | 'bm25'
type Answer = Fields & {
  readonly tool_references?: readonly { readonly tool_name: string }[]
  readonly error_code?: string
  readonly error_message?: string
}

/** The result of one search that the model makes with this input. */
async function find(kind: Kind, variant: Variant, input: Fields, tools: readonly Fields[]): Promise<Answer> {
  const gateway = await emulate(kind, always({ call: `tool_search_tool_${variant}`, input }))
  const { content, stop_reason } = await reply(gateway, ask([hosted(variant), tool('Read'), ...tools]))
  expect(stop_reason).toBe('end_turn')
  expect(content[0]).toMatchObject({ type: 'server_tool_use', input })
  expect(content[1]).toMatchObject({ type: 'tool_search_tool_result', tool_use_id: content[0]?.id })
  return content[1]?.content as Answer
}

const namesIn = ({ tool_references: references = [] }: Answer) => references.map(({ tool_name }) => tool_name)
const key = { regex: 'pattern', bm25: 'query' }
const numbered = (count: number) => Array.from({ length: count }, (_, index) => deferred(`mail_${index}`))

/** A tool that has the word in one field alone. */
const fields: readonly (readonly [string, Fields])[] = [
  ['name', { name: 'zebra' }],
  ['description', { description: 'Feeds the zebra.' }],
  ['argument names', { input_schema: { type: 'object', properties: { zebra: { type: 'string' } } } }],
  [
    'argument descriptions',
    { input_schema: { type: 'object', properties: { a: { type: 'string', description: 'which zebra' } } } },
  ],
]

describe.each(kinds)('emulate on %s', (kind) => {
  describe.each(['regex', 'bm25'] as const)('%s', (variant) => {
    test('wire 17 finds five unless the search says how many', async () => {
      const input = { [key[variant]]: 'mail' }
      expect(namesIn(await find(kind, variant, input, numbered(8)))).toHaveLength(5)
      expect(namesIn(await find(kind, variant, { ...input, limit: 1 }, numbered(8)))).toHaveLength(1)
      expect(namesIn(await find(kind, variant, { ...input, limit: 10_000 }, numbered(8)))).toHaveLength(8)
    })

    test.each(fields)('wire 18 searches the %s', async (_, fields) => {
      const animal = { ...deferred('animal', { description: 'One.' }), ...fields }
      const found = await find(kind, variant, { [key[variant]]: 'zebra' }, [deferred('other'), animal])
      expect(found).toEqual({
        type: 'tool_search_tool_search_result',
        tool_references: [{ type: 'tool_reference', tool_name: animal.name }],
      })
    })

    test.each([
      ['no text', {}],
      ['an empty text', { text: ' ' }],
      ['a text that is none', { text: 5 }],
      ['too long a text', { text: 'a'.repeat(variant === 'regex' ? 201 : 501) }],
      ['a limit of 0', { text: 'mail', limit: 0 }],
      ['a limit of 10,001', { text: 'mail', limit: 10_001 }],
      ['half a limit', { text: 'mail', limit: 1.5 }],
      ['a limit that is no number', { text: 'mail', limit: '3' }],
    ])(
      'wire 20 reports %s to the model, without failing the request',
      async (_, { text, ...rest }: Fields) => {
        const input = { ...(text === undefined ? {} : { [key[variant]]: text }), ...rest }
        expect(await find(kind, variant, input, numbered(2))).toEqual({
          type: 'tool_search_tool_result_error',
          error_code: 'invalid_tool_input',
          error_message: expect.stringMatching(/./),
        })
      },
    )

    test('wire 20 the longest text is taken', async () => {
      const longest = {
        [key[variant]]: `mail${' '.repeat(variant === 'regex' ? 196 : 496)}`.replace(/ /g, '|'),
      }
      expect(await find(kind, variant, longest, numbered(1))).not.toHaveProperty('error_code')
    })

    test('wire 21 what matches nothing finds an empty list', async () => {
      expect(await find(kind, variant, { [key[variant]]: 'zebra' }, numbered(2))).toEqual({
        type: 'tool_search_tool_search_result',
        tool_references: [],
      })
    })

    test('wire 23 only tools that wait are found, those in sight and the search itself are not', async () => {
      const tools = [tool('mail_open'), deferred('mail_waiting')]
      expect(namesIn(await find(kind, variant, { [key[variant]]: 'mail' }, tools))).toEqual(['mail_waiting'])
      expect(namesIn(await find(kind, variant, { [key[variant]]: 'search' }, tools))).toEqual([])
    })
  })

  test('wire 17 each has its own key', async () => {
    for (const [variant, input] of [
      ['regex', { query: 'mail' }],
      ['bm25', { pattern: 'mail' }],
    ] as const)
      expect(await find(kind, variant, input, numbered(1))).toMatchObject({
        error_code: 'invalid_tool_input',
      })
  })

  test.each([
    ['SEND.*MAIL', 'without case'],
    ['(?i)send', 'with Python’s flag'],
    ['(?P<verb>send)_', 'with Python’s groups'],
    ['\\Asend_mail\\Z', 'with Python’s anchors'],
    ['d_m', 'anywhere'],
  ])('wire 19 %s is found %s', async (pattern) => {
    const tools = [deferred('read_file', { description: 'Reads.' }), deferred('send_mail')]
    expect(namesIn(await find(kind, 'regex', { pattern }, tools))).toEqual(['send_mail'])
  })

  test('wire 20 reports a bad pattern to the model', async () => {
    expect(await find(kind, 'regex', { pattern: '(mail' }, numbered(1))).toMatchObject({
      type: 'tool_search_tool_result_error',
      error_code: 'invalid_tool_input',
      error_message: expect.stringMatching(/^Invalid regular expression pattern: /),
    })
  })

  test('wire 22 the search runs inside one reply, and the model continues with what it found', async () => {
    const script = always({ say: 'I look.' }, { call: 'mail_1', search: 'mail' }, { say: 'Sent.' })
    const gateway = await emulate(kind, script)
    const { content, stop_reason } = await reply(gateway, ask([hosted('bm25'), ...numbered(2)]))
    expect(content.map(blockLine)).toEqual([
      'text I look.',
      'server_tool_use tool_search_tool_bm25 {"query":"mail"}',
      'result [mail_0,mail_1]',
      'tool_use mail_1 {}',
    ])
    expect(stop_reason).toBe('tool_use')
  })

  test('wire 22 endless searches pause the turn, and the client’s next request continues it', async () => {
    const searches = Array.from({ length: 12 }, (_, index) => ({ search: `mail ${index}` }))
    const gateway = await emulate(kind, always(...searches, { say: 'Enough.' }))
    const request = ask([hosted('bm25'), ...numbered(3)])
    const paused = await reply(gateway, request)
    expect(paused.stop_reason).toBe('pause_turn')
    expect(paused.content).toHaveLength(20)
    const next = await reply(
      gateway,
      ask(request.tools as [], user(text('go')), assistant(...paused.content)),
    )
    expect(next.stop_reason).toBe('end_turn')
    expect(next.content).toHaveLength(5)
    expect(next.content.at(-1)).toMatchObject({ type: 'text', text: expect.stringContaining('Enough.') })
  })
})

test('wire 20 a search that breaks is unavailable, and the reply continues', async () => {
  const bm25 = () => {
    throw new Error('the index is gone')
  }
  const gateway = await emulate('append', always({ search: 'mail' }, { say: 'Well.' }), { bm25 })
  const { content, stop_reason } = await reply(gateway, ask([hosted('bm25'), ...numbered(1)]))
  expect(stop_reason).toBe('end_turn')
  expect(content[1]?.content).toEqual({
    ...{ type: 'tool_search_tool_result_error', error_code: 'unavailable' },
    error_message: 'the index is gone',
  })
})

describe('a search that takes too long', () => {
  test('wire 19 a pattern that would explode in another engine is answered at once, with what it matches', async () => {
    const tools = [deferred('long', { description: `${'a'.repeat(1_000)}!` })]
    expect(namesIn(await find('append', 'regex', { pattern: '^(a+)+$' }, tools))).toEqual([])
  })
})
