// The API's own searches, run by the gateway: which calls it answers, over which tools, within which limits.
import { expect, it } from 'vitest'
import type { Rank } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { plainSearchTool, startHosted, variantOf } from '../../src/messages/hosted/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { createClientWork } from '../../src/users/index.ts'
import { assistant, deferred, found, result, system, text, tool, use, user } from '../oracle/requests.ts'

const hostedUse = (id: string, name: string, input: unknown) => ({ type: 'server_tool_use', id, name, input })
const addition = (definition: unknown) => ({
  type: 'tool_addition',
  tool: { type: 'tool_definition', definition },
})
const { signal } = new AbortController()
const unlimited = () => createClientWork({ client: 'me' })
let runs = 0

/** A search over the same tools finds the same list, so each run describes one of them anew. */
function requestOf(): Fields {
  return {
    model: 'm',
    max_tokens: 5,
    tools: [
      { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
      { type: 'tool_search_tool_regex', name: 'own_regex', defer_loading: true },
      tool('plain'),
      deferred('mail', { description: `run ${++runs}` }),
      deferred('mail', { description: 'the later one' }),
      deferred('fax'),
      deferred('mcp__a.b__c d'),
    ],
    messages: [
      user(text('go')),
      assistant(
        hostedUse('srvtoolu_0', 'tool_search_tool_bm25', { query: 'earlier' }),
        use('toolu_0', 'plain'),
      ),
      user(result('toolu_0'), addition(tool('of_the_user'))),
      assistant(
        hostedUse('srvtoolu_1', 'tool_search_tool_bm25', { query: 'answered' }),
        found('srvtoolu_1', 'mail'),
        hostedUse('srvtoolu_2', 'tool_search_tool_regex', { pattern: 'open' }),
        hostedUse('srvtoolu_3', 'web_search', { query: 'other' }),
        hostedUse('srvtoolu_4', 'tool_search_tool_bm25', 'odd'),
        use('toolu_1', 'plain'),
        use('toolu_9', 'tool_search_tool_bm25'),
      ),
      user(result('toolu_1')),
      system(text('Now.'), addition(tool('added')), {
        type: 'tool_removal',
        tool: { type: 'tool_reference', name: 'fax' },
      }),
      { role: 'system', content: 'words' },
    ],
  }
}

it('wire 17 20 21 23 28 hosted searches are answered, each within its limits', async () => {
  const lines: string[] = []
  const write = (about: string, value: unknown) => lines.push(`${about} ${JSON.stringify(value)}`)
  const rank =
    (variant: string): Rank =>
    (tools, query, limit) => {
      write(`  ${variant}`, [tools.map(({ name }) => name), query.slice(0, 20), limit])
      if (query === 'throw') throw new Error('thrown')
      if (query === 'odd') throw 'odd'
      const hits = tools.slice(0, limit).map((one, index) => ({ tool: one, score: 9 - index }))
      return { hits, matched: tools.length, ...(query === 'named' ? { ranker: 'other' } : {}) }
    }
  const request = requestOf()
  const searching = await startHosted(request as unknown as MessagesRequest, {
    ...{ work: unlimited(), signal },
    rankers: { bm25: rank('bm25'), regex: rank('regex') },
    onSearch: (names) => write('  searched', names),
    trace: (event) => write('  event', event),
  })
  write('opening', searching.opening)
  const names = ['tool_search_tool_bm25', 'own_regex', 'plain', 'tool_search_tool_regex']
  write('is a search', names.map(searching.isSearch))
  for (const [variant, key, most] of [
    ['bm25', 'query', 500],
    ['regex', 'pattern', 200],
  ] as const) {
    const words = [
      'mail',
      'named',
      'throw',
      'odd',
      '',
      '  ',
      5,
      undefined,
      'x'.repeat(most),
      'x'.repeat(most + 1),
    ]
    const limits = [1, 2, 10_000, 0, 10_001, 1.5, '2', null]
    const inputs = [
      ...words.map((word) => ({ [key]: word })),
      ...limits.map((limit) => ({ [key]: 'mail', limit })),
      { [key === 'query' ? 'pattern' : 'query']: 'of the other' },
    ]
    for (const input of inputs) {
      await searching.shown({ id: 'toolu_x', name: `tool_search_tool_${variant}`, input })
      write(variant, input)
      for (const answer of await searching.answer(0)) write('  →', answer)
    }
  }
  for (const id of ['toolu_7', 'srvtoolu_8', 'call_9', 'x_toolu_9'])
    write('shown', await searching.shown({ id, name: 'tool_search_tool_bm25', input: { query: id } }))
  write('together', (await searching.answer(0)).length)
  write('called', searching.callId('toolu_5', 3))
  searching.said({ type: 'text', text: 'Said last.' })
  const { messages, ...rest } = await searching.request()
  expect(rest).toEqual({ model: request.model, max_tokens: 5, tools: request.tools })
  expect(messages.slice(0, -1)).toEqual(request.messages)
  const last = messages.at(-1) as { role: string; content: Fields[] }
  write('sent', [last.role, last.content.length, last.content[0], last.content.at(-1)])
  write('stops with', searching.stopReason)
  for (const variant of ['bm25', 'regex'] as const) write('plain', plainSearchTool(variant))
  const cut = lines.map((line) => line.replace(/x{30,}/g, (long) => `<${long.length} x>`))
  await expect(`${cut.join('\n')}\n`).toMatchFileSnapshot('./conversations/hosted.txt')
})

it('wire 17 a request without searches is sent as it is, and a search without tools finds none', async () => {
  const request = { model: 'm', max_tokens: 5, messages: [user(text('hi'))] } as unknown as MessagesRequest
  const rank: Rank = (tools) => ({
    hits: tools.map((one) => ({ tool: one, score: 1 })),
    matched: tools.length,
  })
  const seen: unknown[] = []
  const searching = await startHosted(request, {
    ...{ work: unlimited(), signal, rankers: { bm25: rank, regex: rank } },
    onSearch: (names) => seen.push(names),
  })
  expect(searching.opening).toEqual([])
  expect((await searching.request()).messages).toBe(request.messages)
  await searching.shown({ id: 'toolu_1', name: 'tool_search_tool_bm25', input: { query: 'x' } })
  expect(await searching.answer(0)).toEqual([found('srvtoolu_1')])
  expect(await searching.answer(0)).toEqual([])
  expect(seen).toEqual([[]])
  const again = deferred('again', { description: `run ${++runs}` })
  const corpora: unknown[] = []
  const keeping: Rank = (tools) => {
    corpora.push(tools)
    return { hits: [], matched: 0 }
  }
  for (const tools of [[again], [{ ...again }], [again, deferred('other')]]) {
    const one = await startHosted(
      { ...request, tools },
      {
        ...{ work: unlimited(), signal, rankers: { bm25: keeping, regex: keeping } },
        onSearch: () => {},
      },
    )
    await one.shown({ id: 'a', name: 'tool_search_tool_bm25', input: { query: 'x' } })
    await one.answer(0)
  }
  expect(corpora[1]).toBe(corpora[0])
  expect(corpora[2]).not.toBe(corpora[0])
})

it('hosted search tools are known by their types', () => {
  const types = [
    'tool_search_tool_bm25',
    'tool_search_tool_regex_20251119',
    'tool_search_tool_regex_2',
    'x_tool_search_tool_bm25',
    undefined,
  ]
  expect(types.map((type) => variantOf({ type }))).toEqual(['bm25', 'regex', undefined, undefined, undefined])
})
