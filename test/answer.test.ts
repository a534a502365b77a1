// What a search answers: matches, no matches, servers that are not there yet, and the host's veto.
import { describe, expect, it } from 'vitest'
import type { Rank, ShelfOptions, Tool } from '../packages/core/src/index.ts'
import { classicRank } from '../packages/core/src/query.ts'
import { ask, readAnswer } from '../packages/testkit/src/ask.ts'
import { builtIn, exampleTools, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const SEND = 'mcp__slack__send_message'
const LIST = 'mcp__slack__list_channels'

/** A clock that moves by hand. */
function handTimer() {
  const clock = { started: [] as number[], cancelled: 0, ring: () => {} }
  const timer = (milliseconds: number) => {
    clock.started.push(milliseconds)
    const over = new Promise<void>((resolve) => {
      clock.ring = resolve
    })
    return { over, cancel: () => void clock.cancelled++ }
  }
  return { clock, timer }
}

/** A search under way, and whether it has been answered. */
function searching(options: ShelfOptions, query: string) {
  const { clock, timer } = handTimer()
  const shelf = quietShelf({ timer, ...options })
  const state = { isDone: false }
  const answer = ask(shelf, query).finally(() => {
    state.isDone = true
  })
  return { shelf, clock, state, answer }
}

/** Lets everything happen that needs no clock. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('no match', () => {
  it('S8 says so, and how many deferred tools there are', async () => {
    const { result, said } = await ask(quietShelf({ tools: [builtIn('Read'), ...exampleTools] }), 'unheard')
    expect(result.content).toEqual([{ type: 'text', text: said }])
    expect(said).toMatch(/no deferred tool matches "unheard"/i)
    expect(said).toMatch(/\b4 deferred tools\b/)
    expect(said).not.toMatch(/connecting|failed/)
  })

  it('S8 names the servers still connecting and those that failed, with their error', async () => {
    const servers = {
      linear: { state: 'pending' },
      sentry: { state: 'pending' },
      jira: { state: 'failed', error: 'spawn jira-mcp ENOENT' },
      slack: { state: 'connected' },
    } as const
    const { clock, answer } = searching({ tools: exampleTools, servers }, 'unheard')
    await settle()
    clock.ring()
    const { said, names } = await answer
    expect(names).toEqual([])
    expect(said).toMatch(/connecting: linear, sentry; try again shortly/)
    expect(said).toMatch(/failed[^.]*jira \(spawn jira-mcp ENOENT\)/)
    expect(said).not.toMatch(/slack/)
  })
})

describe('waiting for servers', () => {
  const servers = { fax: { state: 'pending' }, other: { state: 'pending' } } as const

  it('S8 waits 5 s at most', async () => {
    const { clock, state, answer } = searching({ tools: exampleTools, servers }, 'fax')
    await settle()
    expect(clock.started).toEqual([5000])
    expect(state.isDone).toBe(false)
    clock.ring()
    expect((await answer).said).toMatch(/try again shortly/)
    expect(clock.started).toEqual([5000])
  })

  it('S8 stops waiting when no server is left to wait for', async () => {
    const { shelf, clock, state, answer } = searching({ servers }, 'fax')
    await settle()
    shelf.failed('fax', 'refused')
    await settle()
    expect(state.isDone).toBe(false)
    shelf.setServer('other', { state: 'connected' })
    expect((await answer).said).toContain('fax (refused)')
    expect(clock.cancelled).toBe(1)
  })

  it('S8 a weak match does not end the wait, whatever it matched with', async () => {
    const tools = [mcp('files', 'edit_file', { description: 'Add or replace numbers of lines' })]
    const { shelf, state, answer } = searching({ tools, servers }, 'add two numbers')
    await settle()
    expect(state.isDone).toBe(false)
    shelf.add(mcp('other', 'sum', { description: 'Add two numbers' }))
    await settle()
    expect(state.isDone).toBe(false)
    shelf.add(mcp('fax', 'transmit'))
    expect((await answer).names[0]).toBe('mcp__other__sum')
  })

  it('S8 a server that connects while the search is still ranking is searched too', async () => {
    const one = { fax: { state: 'pending' } } as const
    const slow: Rank = async (tools, query, limit) => {
      await settle()
      return classicRank(tools, query, limit)
    }
    for (const rank of [classicRank, slow]) {
      const { shelf, answer } = searching({ tools: exampleTools, servers: one, rank }, 'fax')
      shelf.add(mcp('fax', 'transmit'))
      expect((await answer).names).toEqual(['mcp__fax__transmit'])
    }
  })
})

describe('a match', () => {
  const isReference = ({ type, tool_name, ...rest }: Loose) =>
    type === 'tool_reference' && typeof tool_name === 'string' && Object.keys(rest).length === 0

  it('S9 holds references and nothing else, in every query form', async () => {
    const shelf = quietShelf({ tools: exampleTools, servers: { jira: { state: 'failed', error: 'gone' } } })
    for (const query of ['slack send', 'mcp__slack', SEND, `select:${SEND},unheard`, '+slack send']) {
      const { result, names, said } = await ask(shelf, query, 1)
      expect(result).toMatchObject({ type: 'tool_result', tool_use_id: 'toolu_ask' })
      expect(result.is_error).toBeUndefined()
      expect(names.length).toBeGreaterThan(0)
      expect(result.content.every(isReference)).toBe(true)
      expect(said).toContain('jira (gone)')
    }
  })

  it('S9 on wires without references the note is part of the text', async () => {
    for (const wire of ['append', 'bridge'] as const) {
      const { result, said } = await ask(quietShelf({ tools: exampleTools, wire }), 'slack', 1)
      expect(result.content.map(({ type }: Loose) => type)).toEqual(['text'])
      expect(result.note).toBeUndefined()
      expect(said).toContain(SEND)
      expect(said).toMatch(/1 more/)
    }
  })
})

describe('the description of the search tool', () => {
  async function described(options: ShelfOptions = {}): Promise<string> {
    const talk = new Talk(quietShelf({ tools: exampleTools, ...options }))
    await talk.user('hello').prepare()
    const name = options.searchTool ?? 'ToolSearch'
    return talk.last?.request.tools.find((tool: Loose) => tool.name === name)?.description ?? ''
  }

  it('S11 says how to ask, and that found tools are loaded at once and cannot be called before', async () => {
    const text = await described()
    expect(text).toMatch(/until a tool is fetched[^.]*cannot be called/)
    expect(text).toMatch(/"slack send message".*keywords/)
    expect(text).toMatch(/"\+\w+ \w+"/)
    expect(text).toMatch(/"select:\w+,\w+"/)
    expect(text).toMatch(/loaded at once[^.]*no second search or select/)
  })

  it.each([
    ['delta', 'Deferred tools appear by name in <system-reminder> messages.', '<system-reminder>'],
    ['prepend', '<available-deferred-tools>', '<available-deferred-tools>'],
  ] as const)('S11 says where the names are, and there they are: %s', async (announce, sentence, place) => {
    const talk = new Talk(quietShelf({ tools: exampleTools, announce }))
    const { request } = await talk.user('hello').prepare()
    expect(await described({ announce })).toContain(sentence)
    const holders = request.messages.filter(({ content }: Loose) => String(content).includes(SEND))
    expect(holders).toHaveLength(1)
    expect((holders[0] as Loose).content).toContain(place)
  })

  it('S11 the default limit is 5, and the input has the two documented fields', async () => {
    const talk = new Talk(quietShelf({ tools: exampleTools }))
    const { request } = await talk.user('hello').prepare()
    const { input_schema } = request.tools.find(({ name }: Loose) => name === 'ToolSearch') as Loose
    expect(Object.keys(input_schema.properties)).toEqual(['query', 'max_results'])
    expect(input_schema.required).toEqual(['query'])
    expect(JSON.stringify(input_schema)).toContain('5 if left out')
  })
})

describe('what is not shown', () => {
  const many = Array.from({ length: 12 }, (_, index) => mcp('mail', `send${index}`, { description: '' }))

  it.each([
    ['send', 'keywords'],
    ['mcp__mail', 'a prefix'],
    ['+mail', 'required terms'],
  ])('S13 how many matched and were left out: %s', async (query) => {
    const shelf = quietShelf({ tools: [...many, ...exampleTools.slice(1, 3)] })
    const five = await ask(shelf, query)
    expect(five.names).toHaveLength(5)
    expect(five.said).toMatch(/\b7 more matched\b/)
    const ten = await ask(shelf, query, 10)
    expect(ten.names).toHaveLength(10)
    expect(ten.said).toMatch(/\b2 more matched\b/)
    const all = await ask(shelf, query, 12)
    expect(all.names).toHaveLength(12)
    expect(all.result.note).toBeUndefined()
  })

  it('S13 beside a match too: which servers were not searched, and why', async () => {
    const servers = { linear: { state: 'pending' }, jira: { state: 'failed', error: 'no key' } } as const
    const { names, said } = await ask(quietShelf({ tools: exampleTools, servers }), 'slack')
    expect(names).toEqual([SEND, LIST])
    expect(said).toMatch(/not searched[^.]*connecting[^.]*linear/i)
    expect(said).toMatch(/not searched[^.]*failed[^.]*jira \(no key\)/i)
  })

  it('S13 leaves out a reason that the model knows beside a match, and repeats it if nothing matched', async () => {
    const servers = { jira: { state: 'failed', error: 'no key' } } as const
    const shelf = quietShelf({ tools: exampleTools, servers })
    const remarkOf = async (query: string) =>
      (await shelf.search({ query }, { wasReported: () => true })).remark
    expect(await remarkOf('slack')).toMatch(/jira/)
    expect(await remarkOf('slack')).not.toMatch(/no key/)
    expect(await remarkOf('unheard')).toMatch(/jira \(no key\)/)
  })

  it('S13 does not call a server unsearched whose tools were searched while it reconnects', async () => {
    const shelf = quietShelf({ tools: exampleTools })
    shelf.pending('slack')
    const { names, said } = await ask(shelf, 'slack')
    expect(names).toEqual([SEND, LIST])
    expect(said).not.toMatch(/not searched[^.]*slack/i)
  })
})

describe("the host's hook", () => {
  it('S16 sees each tool that is about to load, with the query, and nothing else', async () => {
    const seen: [string, string][] = []
    const allowLoad = ({ name }: Tool, query: string) => {
      seen.push([name, query])
      return true
    }
    const { names } = await ask(quietShelf({ tools: exampleTools, allowLoad }), 'slack send', 2)
    expect(names).toEqual([SEND, LIST])
    expect(seen).toEqual([
      ['send_message', 'slack send'],
      ['list_channels', 'slack send'],
    ])
  })

  it.each<[string, ShelfOptions['allowLoad']]>([
    ['at once', ({ name }) => name !== 'send_message'],
    ['later', async ({ name }) => name !== 'send_message'],
    [
      'by throwing',
      ({ name }) => {
        if (name === 'send_message') throw new Error('no')
        return true
      },
    ],
  ])('S16 can veto a tool %s, in every query form', async (_, allowLoad) => {
    for (const query of ['slack', 'mcp__slack', `select:${SEND},${LIST}`, '+slack']) {
      const { names, said } = await ask(quietShelf({ tools: exampleTools, allowLoad }), query)
      expect(names).toEqual([LIST])
      expect(said).toMatch(/\b1 found but kept back/)
    }
  })

  it('S16 does not load vetoed tools, and says that they were kept back', async () => {
    for (const query of [SEND, `select:${SEND}`]) {
      const talk = new Talk(quietShelf({ tools: exampleTools, allowLoad: () => false }))
      talk.user('hello')
      await talk.prepare()
      const { names, said } = readAnswer(await talk.search(query))
      expect(names).toEqual([])
      expect(said).toMatch(/kept back/)
      expect(said).not.toMatch(/no deferred tool matches/i)
      const { loaded } = await talk.prepare()
      expect(loaded).toEqual([])
    }
  })

  it('S16 a hook that only observes vetoes nothing', async () => {
    const allowLoad = (() => undefined) as unknown as ShelfOptions['allowLoad']
    expect((await ask(quietShelf({ tools: exampleTools, allowLoad }), 'slack')).names).toEqual([SEND, LIST])
  })
})
