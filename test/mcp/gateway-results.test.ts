// Long results through the MCP gateway: a preview in place of each, all of it to be read, by its own client alone.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemoryResults, type Trace } from '../../packages/core/src/index.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { makeFolder } from './support/folder.ts'
import { type Desk, eras, openDesk, openGateway, shareDesk, textOf } from './support/gateway.ts'
import { openHttp } from './support/gateway-http.ts'
import { here } from './support/server-here.ts'

const server = () => here('long', 'long-results')
const rows = (count: number, note = '') =>
  JSON.stringify({ items: Array.from({ length: count }, (_, id) => ({ id, title: `Row ${id} ${note} 😀` })) })
const long = rows(500)
const handleIn = (output: Loose): string => /result_[a-z0-9]+/.exec(output.content[0].text)?.[0] ?? ''

async function readAll(desk: Pick<Desk, 'call'>, handle: string): Promise<string> {
  let text = ''
  for (let page = 1; ; page++) {
    const { content, isError } = await desk.call('ReadResult', { handle, page })
    expect(isError).toBeUndefined()
    text += content[1]?.text ?? ''
    if (!content[0].text.includes('Go on with page')) return text
  }
}

describe.each(eras)('long results, %s', (era) => {
  const desk = shareDesk([server()], { client: { era }, results: { budget: 5000 } })

  it('a preview with a handle; pages give back the very text', async () => {
    const output = await desk().run('long__list')
    expect(output.content).toHaveLength(2)
    expect(output.content[0].text).toContain(`JSON of ${long.length.toLocaleString('en-US')} characters`)
    expect(output.content[1].text).toContain('items: 500 × { id: number, title: string }')
    expect(JSON.stringify(output).length).toBeLessThan(2500)
    expect(await readAll(desk(), handleIn(output))).toBe(long)
  })

  it('a path and a search read only what is needed', async () => {
    const handle = handleIn(await desk().run('long__list'))
    const read = async (input: object) =>
      (await desk().call('ReadResult', { handle, ...input })).content[1].text
    expect(await read({ path: 'items[3].title' })).toBe('Row 3  😀')
    expect(await read({ search: 'row 499' })).toBe('items[499].title: Row 499  😀')
  })

  it('is read through CallTool, too', async () => {
    const handle = handleIn(await desk().run('long__list'))
    const input = { name: 'ReadResult', arguments: { handle, path: 'items[3].title' } }
    expect((await desk().call('CallTool', input)).content[1].text).toBe('Row 3  😀')
  })

  it('errors, short results and results for a page pass untouched', async () => {
    expect(textOf(await desk().run('long__list', { count: 2 }))).toBe(rows(2))
    expect(textOf(await desk().run('long__shown'))).toBe(long)
    expect(await desk().run('long__failing')).toMatchObject({ isError: true, content: [{ text: long }] })
  })

  it('a link beside a long embedded text stays', async () => {
    const { content } = await desk().run('long__mixed')
    expect(content.map(({ type }: Loose) => type)).toEqual(['text', 'text', 'resource_link'])
    expect(await readAll(desk(), handleIn({ content }))).toBe(long)
  })

  it('structured content that no schema promises is left out, of CallTool always', async () => {
    for (const name of ['long__loose', 'long__typed']) {
      const output = await desk().call('CallTool', { name, arguments: {} })
      expect(output.structuredContent).toBeUndefined()
      expect(await readAll(desk(), handleIn(output))).toBe(long)
    }
  })

  it('structured content that only wraps a long text is not kept twice', async () => {
    const output = await desk().call('CallTool', { name: 'long__wrapped', arguments: {} })
    expect(output.structuredContent).toBeUndefined()
    expect(await readAll(desk(), handleIn(output))).toBe('A line.\n'.repeat(2000))
  })

  it('structured content that a long text only sums up is kept with it', async () => {
    const output = await desk().call('CallTool', { name: 'long__told', arguments: {} })
    expect(output.structuredContent).toBeUndefined()
    expect(await readAll(desk(), handleIn(output))).toBe(`${'A summary. '.repeat(1000)}\n${long}`)
  })
})

describe('long results', () => {
  it('structured content with an output schema on the client’s list stays valid', async () => {
    const { search, call } = await openDesk([server()], { mode: 'list', results: { budget: 5000 } })
    await search('select:long__typed')
    const output = await call('long__typed')
    expect(output.structuredContent).toEqual(JSON.parse(long))
    expect(handleIn(output)).not.toBe('')
  })

  it('a server and a tool may have their own budgets, 0 for none', async () => {
    const config = { ...server(), resultBudget: 0, tools: { terse: { resultBudget: 100 } } }
    const { run } = await openDesk([config], { results: { budget: 200 } })
    expect(textOf(await run('long__list'))).toBe(long)
    expect(handleIn(await run('long__terse', { count: 5 }))).not.toBe('')
  })

  it('in bridge mode CallTool reads on, and the list never changes', async () => {
    const { run, names, call } = await openDesk([server()], { mode: 'bridge', results: { budget: 5000 } })
    const before = await names()
    const output = await run('long__list')
    const handle = handleIn(output)
    expect(output.content[0].text).toContain(
      `CallTool: {"name": "ReadResult", "arguments": {"handle": "${handle}"}}`,
    )
    const read = await call('CallTool', { name: 'ReadResult', arguments: { handle, path: 'items[3].title' } })
    expect(read.content[1].text).toBe('Row 3  😀')
    expect(await names()).toEqual(before)
    expect(before).not.toContain('ReadResult')
  })

  it('in list mode ReadResult joins the list with the first long result', async () => {
    const { run, names } = await openDesk([server()], { mode: 'list', results: { budget: 5000 } })
    await run('long__list', { count: 2 })
    expect(await names()).not.toContain('ReadResult')
    const output = await run('long__list')
    expect(output.content[0].text).toContain('with ReadResult: {"handle"')
    expect(await names()).toContain('ReadResult')
  })

  it('without the option everything passes, and there is no ReadResult', async () => {
    const { run, names, call } = await openDesk([server()])
    expect(textOf(await run('long__list'))).toBe(long)
    expect(await names()).not.toContain('ReadResult')
    expect((await call('ReadResult', { handle: 'result_00000000' })).isError).toBe(true)
  })

  it('more than a message can hold is put on the shelf instead of being refused', async () => {
    const { run, call } = await openDesk([here('results', 'results')], { results: {} })
    const output = await run('results__give', { kind: 'large' })
    expect(output.isError === true ? textOf(output) : undefined).toBeUndefined()
    const page = await call('ReadResult', { handle: handleIn(output), page: 440 })
    expect(page.content[1].text).toBe('x'.repeat(24_600))
  })

  it('is reported with its sizes', async () => {
    const events: Trace[] = []
    const openTrace = () => (event: Trace) => void events.push(event)
    const { run } = await openDesk([server()], { openTrace, results: { budget: 5000 } })
    await run('long__list')
    expect(events.filter(({ type }) => type === 'shelved')).toMatchObject([
      { name: 'long__list', server: 'long', kind: 'JSON', size: long.length },
    ])
  })

  it('a store that fails costs nothing but the preview', async () => {
    const told: string[] = []
    const store = { ...createMemoryResults(), put: () => Promise.reject(new Error('disk full')) }
    const { run } = await openDesk([server()], {
      results: { store, budget: 5000 },
      told: (text) => told.push(text),
    })
    expect(textOf(await run('long__list'))).toBe(long)
    expect(told.join()).toContain('disk full')
  })

  it('a client on stdio finds its results again after a restart, another client does not', async () => {
    const { createDiskResults } = await import('../../packages/core/src/node.ts')
    const { path: folder, remove } = makeFolder()
    const open = () => {
      const store = createDiskResults({ folder })
      return openDesk([server()], { results: { store, budget: 5000, owner: '/project' } })
    }
    const handle = handleIn(await (await open()).run('long__list'))
    expect(await readAll(await open(), handle)).toBe(long)
    const other = openGateway([server()], {
      results: { store: createDiskResults({ folder }), owner: '/elsewhere' },
    })
    const desk = await other.connect()
    expect((await desk.call('ReadResult', { handle })).isError).toBe(true)
    remove()
  })
})

describe('whose results they are', () => {
  it('a client whose next request cannot be recognised gets everything whole', async () => {
    const { connect } = await openHttp([server()], { results: { budget: 100 } })
    const desk = await connect({ era: 'modern', headers: { 'x-forwarded-for': '192.0.2.7' } })
    expect(textOf(await desk.run('long__list'))).toBe(long)
    expect(await desk.names()).not.toContain('ReadResult')
  })

  it('no client ever reads what another one got, of either era', async () => {
    const { connect } = await openHttp([server()], { results: { budget: 100 } })
    const desks = [await connect(), await connect(), await connect({ era: 'modern' })]
    const step = fc.record({ who: fc.nat(2), note: fc.constantFrom('a', 'b', 'c') })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 6 }), async (steps) => {
        const got = desks.map(() => new Set<string>())
        for (const { who, note } of steps)
          got[who]?.add(handleIn(await desks[who]?.run('long__list', { count: 20, note: `${who} ${note}` })))
        for (const [who, desk] of desks.entries())
          for (const [owner, handles] of got.entries())
            for (const handle of handles) {
              const { isError } = await desk.call('ReadResult', { handle })
              expect(isError !== true).toBe(owner === who)
            }
      }),
      { numRuns: runs(3) },
    )
  })

  it('a foreign handle is refused exactly like an unknown one', async () => {
    const { connect } = openGateway([server()], { results: { budget: 100 } })
    const [mine, yours] = [await connect(), await connect()]
    const handle = handleIn(await mine.run('long__list'))
    const [foreign, unknown] = [handle, 'result_0000000000000000'].map((one) =>
      yours.call('ReadResult', { handle: one }),
    )
    expect(textOf(await foreign).replace(handle, '')).toBe(
      textOf(await unknown).replace('result_0000000000000000', ''),
    )
  })
})
