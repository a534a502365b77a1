// Long results on the shelf of the library: who gets which, how they are read, and what becomes of them.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryResults, type ResultStore, type Trace } from '../../packages/core/src/index.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { builtIn, type Loose, mcp, quietShelf, Talk } from '../../packages/testkit/src/talk.ts'

const tools = [builtIn('List'), builtIn('Small', { resultBudget: 10 }), mcp('files', 'read')]
const call = { id: 'toolu_1', name: 'List', input: {} }
const items = Array.from({ length: 300 }, (_, id) => ({ id, title: `Issue ${id}`, body: 'text '.repeat(20) }))
const long = JSON.stringify({ total: 300, items })

const shelfWith = (results: Loose = {}, more: Loose = {}) => quietShelf({ tools, results, ...more })
const run = async (shelf: Loose, output: unknown, name = 'List'): Promise<Loose> =>
  shelf.run({ ...call, name }, { execute: () => output })
const handleIn = (result: Loose): string => /result_[a-z0-9]+/.exec(result.content[0].text)?.[0] ?? ''
const read = async (shelf: Loose, input: object): Promise<Loose> =>
  shelf.run({ id: 'toolu_2', name: 'ReadResult', input }, { execute: () => expect.fail('is not run') })

async function readAll(shelf: Loose, handle: string): Promise<string> {
  let text = ''
  for (let page = 1; ; page++) {
    const { content, is_error } = await read(shelf, { handle, page })
    expect(is_error).toBeUndefined()
    text += content[1]?.text ?? ''
    if (!content[0].text.includes('Go on with page')) return text
  }
}

test('H10 a large result is parsed once, and a search in it lets other work run', async () => {
  let pauses = 0
  const shelf = shelfWith({}, { pause: async () => void pauses++ })
  const many = JSON.stringify(Array.from({ length: 4000 }, (_, id) => ({ id, title: `Thing ${id}` })))
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  const handle = handleIn(await run(shelf, many))
  for (const input of [{ search: 'thing 3999' }, { path: '[7].id' }, { search: 'nowhere' }])
    await read(shelf, { handle, ...input })
  expect(parse.mock.calls.filter(([text]) => text === many)).toHaveLength(1)
  // Two searches, each in 4,000 objects with two fields.
  expect(pauses).toBeGreaterThanOrEqual(2 * 20)
  const lines = handleIn(await run(shelf, 'words and words\n'.repeat(5000)))
  pauses = 0
  for (const input of [{ search: 'nowhere' }, { lines: '4999-5000' }])
    await read(shelf, { handle: lines, ...input })
  expect(pauses).toBeGreaterThanOrEqual(2 * 10)
})

test('H10 what is shown of a large result does not keep the rest of it in memory', async () => {
  setFlagsFromString('--expose-gc')
  const used = () => {
    runInNewContext('gc')()
    return process.memoryUsage().heapUsed
  }
  // Lines of a million characters, in a text that is another one each time, as a store on disk reads it.
  const large = (seed: number) => `${`${seed} word `.repeat(160_000)}\n`.repeat(5)
  const store = { put: async () => {}, get: async () => large(7), drop: async () => {} } as ResultStore
  const shelf = shelfWith({ store })
  const kept: unknown[] = []
  const handle = handleIn(await run(shelf, large(7)))
  const before = used()
  for (let count = 1; count <= 20; count++) {
    kept.push(await read(shelf, { handle, page: count }), await read(shelf, { handle, lines: '2' }))
    kept.push(await read(shelf, { handle, search: '7 word 7' }), await run(shelf, large(count)))
  }
  expect(used() - before).toBeLessThan(80_000_000)
  expect(kept).toHaveLength(80)
})

describe('what is put on the shelf', () => {
  test('a result above the budget becomes a note with a handle and a preview', async () => {
    const shelf = shelfWith()
    const result = await run(shelf, long)
    expect(result.content).toHaveLength(2)
    expect(result.content[0].text).toContain(`JSON of ${long.length.toLocaleString('en-US')} characters`)
    expect(result.content[1].text).toContain('300 × { id: number, title: string, body: string }')
    expect(JSON.stringify(result).length).toBeLessThan(7000)
    const [one] = shelf.results()
    expect(one).toEqual({ handle: handleIn(result), tool: 'List', kind: 'JSON', size: long.length })
  })

  test('results within the budget, errors and switched-off results pass untouched', async () => {
    const shelf = shelfWith()
    expect((await run(shelf, 'short')).content).toEqual([{ type: 'text', text: 'short' }])
    const failed = await run(shelf, { content: [{ type: 'text', text: long }], isError: true })
    expect(failed.content[0].text).toBe(long)
    for (const off of [
      quietShelf({ tools }),
      shelfWith({ budget: 0 }),
      quietShelf({ tools, results: false }),
    ])
      expect((await run(off, long)).content[0].text).toBe(long)
  })

  test('a server and a tool may have their own budgets', async () => {
    const shelf = shelfWith({ budget: 1000 }, { servers: { files: { resultBudget: 50 } } })
    const text = 'words and words '.repeat(10)
    expect((await run(shelf, text)).content[0].text).toBe(text)
    expect(handleIn(await run(shelf, text, 'Small'))).not.toBe('')
    expect(handleIn(await run(shelf, text, 'mcp__files__read'))).not.toBe('')
  })

  test('images stay beside the preview', async () => {
    const png = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }
    const result = await run(shelfWith(), { content: [{ type: 'text', text: long }, png] })
    expect(result.content.map(({ type }: Loose) => type)).toEqual(['text', 'text', 'image'])
  })

  test('the same text has the same handle and preview, and is reported with its sizes', async () => {
    const events: Trace[] = []
    const shelf = shelfWith({}, { trace: (event: Trace) => events.push(event) })
    const [first, second] = [await run(shelf, long), await run(shelf, long)]
    expect(second).toEqual(first)
    expect(await run(shelfWith(), long)).toEqual(first)
    expect(shelf.results()).toHaveLength(1)
    const shown = first.content[0].text.length + first.content[1].text.length
    expect(events.filter(({ type }) => type === 'shelved')[0]).toEqual({
      ...{ type: 'shelved', id: 'toolu_1', name: 'List', server: undefined, kind: 'JSON' },
      ...{ size: long.length, shown },
    })
  })

  test('if the store fails, sends the result whole and reports it to the operator', async () => {
    const notices: string[] = []
    const broken = { ...createMemoryResults(), put: () => Promise.reject(new Error('disk full')) }
    const shelf = shelfWith({ store: broken }, { notify: (text: string) => notices.push(text) })
    expect((await run(shelf, long)).content[0].text).toBe(long)
    expect(notices.join()).toContain('disk full')
  })
})

describe('ReadResult', () => {
  test('is in every request, so that the first long result changes no prefix', async () => {
    const talk = new Talk(shelfWith())
    const before: Loose = await talk.user('list').prepare()
    const listing = talk.call('List', {})
    talk.assistant([listing]).user([await talk.shelf.run(listing, { execute: () => long })])
    const after: Loose = await talk.prepare()
    expect(before.request.tools.map(({ name }: Loose) => name)).toContain('ReadResult')
    expect(after.request.tools).toEqual(before.request.tools)
    expect(await readAll(talk.shelf, talk.shelf.results()[0]?.handle ?? '')).toBe(long)
  })

  test('reads a path, a slice of a list, and every item of one', async () => {
    const shelf = shelfWith()
    const handle = handleIn(await run(shelf, long))
    const bodyOf = async (path: string) => (await read(shelf, { handle, path })).content[1].text
    expect(await bodyOf('items[7].title')).toBe('Issue 7')
    expect(await bodyOf('$.items[-1].id')).toBe('299')
    expect(await bodyOf('items[1:3].title')).toBe('[\n"Issue 1",\n"Issue 2"\n]')
    expect(JSON.parse(await bodyOf('items[*].id'))).toHaveLength(300)
    expect(await bodyOf('["total"]')).toBe('300')
  })

  test('finds text: values of JSON by their paths, lines by their numbers', async () => {
    const shelf = shelfWith()
    const json = handleIn(await run(shelf, long))
    const found = await read(shelf, { handle: json, search: 'issue 42' })
    expect(found.content[1].text).toBe('items[42].title: Issue 42')
    const lines = Array.from({ length: 5000 }, (_, line) => `step ${line}`).join('\n')
    const log = handleIn(await run(shelf, lines))
    expect((await read(shelf, { handle: log, search: 'STEP 4999' })).content[1].text).toBe('5000: step 4999')
    expect((await read(shelf, { handle: log, lines: '10-12' })).content[1].text).toBe(
      'step 9\nstep 10\nstep 11',
    )
  })

  test('says what is wrong with a request, and what to do', async () => {
    const shelf = shelfWith()
    const handle = handleIn(await run(shelf, long))
    const cases: [object, string][] = [
      [{ handle: 'result_00000000' }, 'Call the tool that returned it again'],
      [{ handle: 42 }, 'not on the shelf'],
      [{}, 'not on the shelf'],
      [{ handle, page: 99 }, 'has pages 1 to'],
      [{ handle, page: 'two' }, 'does not exist'],
      [{ handle, lines: 'all' }, 'write them like'],
      [{ handle, path: 'itms[0]' }, 'an object with the keys total, items'],
      [{ handle, path: 'items[' }, 'cannot be read'],
      [{ handle, path: 'items["\\q"]' }, 'cannot be read'],
      [{ handle, path: JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) }, 'write it like'],
      [{ handle, search: 'nowhere' }, 'nothing in the result contains "nowhere"'],
      [{ handle, search: 'a', lines: '1' }, 'not both'],
    ]
    for (const [input, expected] of cases) {
      const result = await read(shelf, input)
      expect(result.is_error).toBe(true)
      expect(result.content[0].text).toContain(expected)
    }
  })

  test('a page with its heading is within the budget, so that a second gateway passes it on', async () => {
    const shelf = shelfWith({ budget: 2000 })
    const { content } = await read(shelf, { handle: handleIn(await run(shelf, long)), page: 2 })
    expect(content[0].text.length + 1 + content[1].text.length).toBeLessThanOrEqual(2000)
  })

  test('a search below a key of a server’s making returns no more than it shows', async () => {
    const shelf = shelfWith()
    const hostile = JSON.stringify({ [`${'k'.repeat(200_000)}`]: Array(900).fill('needle') })
    const handle = handleIn(await run(shelf, hostile))
    const { content } = await read(shelf, { handle, search: 'needle' })
    expect(content[0].text).toContain('Page 1 of 1')
  })

  test('paging from start to end gives back the very text', async () => {
    const unit = fc.constantFrom(
      'a',
      '\r\n',
      '\n',
      '😀',
      'é',
      '漢',
      '\u{1F468}\u200D\u{1F469}',
      '\u0000',
      '<',
      '"',
    )
    const text = fc.array(unit, { minLength: 600, maxLength: 2500 }).map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 900 }), async (written, budget) => {
        fc.pre(written.length > budget)
        const shelf = shelfWith({ budget })
        expect(await readAll(shelf, handleIn(await run(shelf, written)))).toBe(written)
      }),
      { numRuns: runs(60) },
    )
  })
})

describe('whose results they are', () => {
  test("another conversation's handle is refused exactly like an unknown one", async () => {
    const shelf = shelfWith()
    const handle = handleIn(await run(shelf, long))
    const other = shelf.fork({ isSubAgent: false })
    const unknown = await read(other, { handle: 'result_0000000000000000' })
    for (const fork of [other, shelf.fork()]) {
      const refused = await read(fork, { handle })
      expect(refused.content[0].text.replace(handle, 'result_0000000000000000')).toBe(unknown.content[0].text)
      await run(fork, `${long} `)
      expect((await read(fork, { handle })).is_error).toBe(true)
    }
    expect(shelf.results()).toHaveLength(1)
    expect(await readAll(shelf, handle)).toBe(long)
  })

  test('no conversation ever reads what another one stored', async () => {
    const store = createMemoryResults()
    const step = fc.record({ who: fc.nat(2), text: fc.integer({ min: 0, max: 6 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const main = shelfWith({ store, budget: 100 })
        const shelves = [main, main.fork(), main.fork({ isSubAgent: false })]
        const stored = shelves.map(() => new Set<string>())
        for (const { who, text } of steps) {
          const result = await run(shelves[who], `secret ${text} `.repeat(40))
          stored[who]?.add(handleIn(result))
        }
        for (const [who, shelf] of shelves.entries())
          for (const handle of new Set(stored.flatMap((handles) => [...handles])))
            expect((await read(shelf, { handle })).is_error !== true).toBe(stored[who]?.has(handle))
      }),
      { numRuns: runs(30) },
    )
  })

  test('a conversation continued from its state reads its own; the host may hand them to a fork', async () => {
    const store = createMemoryResults()
    const shelf = shelfWith({ store })
    const handle = handleIn(await run(shelf, long))
    const state = JSON.parse(JSON.stringify(shelf.state()))
    expect(await readAll(shelfWith({ store }, { state }), handle)).toBe(long)
    expect(await readAll(shelf.fork({ state }), handle)).toBe(long)
  })

  test('a summary names what can still be read', async () => {
    const shelf = shelfWith()
    const handle = handleIn(await run(shelf, long))
    const messages = [
      { role: 'user', content: 'list' },
      { role: 'assistant', content: 'done' },
    ]
    const [boundary]: Loose[] = await shelf.compact(messages, { summarize: 'We listed issues.' })
    expect(boundary.content).toContain('We listed issues.')
    expect(boundary.content).toContain(`${handle}: JSON of`)
    expect(await readAll(shelf, handle)).toBe(long)
  })
})

describe('options', () => {
  test('wrong ones are refused early', () => {
    expect(() => shelfWith({ budget: -1 })).toThrow('budget')
    expect(() => shelfWith({ store: {} as ResultStore })).toThrow('results')
    expect(() => quietShelf({ tools: [builtIn('ReadResult')], results: true })).toThrow('ReadResult')
  })
})
