// The tools and servers of a shelf, step by step: what each change leaves, wakes and reports.
import { expect, it } from 'vitest'
import { createPureShelf, type PureShelfOptions, type Shelf, type Trace } from '../src/core/index.ts'
import { builtIn, type Loose, MODEL, mcp } from './support/talk.ts'

/** A shelf that writes down what it reports, and what each step leaves. */
function observed(options: PureShelfOptions = {}) {
  const notices: string[] = []
  const events: Trace[] = []
  const shelf = createPureShelf({
    notify: (message) => void notices.push(message),
    trace: (event) => void events.push(event),
    ...options,
  })
  const lines: string[] = []
  const step = (title: string, action: (shelf: Shelf) => unknown) => {
    let thrown = ''
    try {
      action(shelf)
    } catch (error) {
      thrown = ` throws ${(error as Error).message.slice(0, 60)}`
    }
    const tools = shelf.tools().map(({ name, definition }) => `${name}(${definition.description})`)
    const servers = [...shelf.servers()].map(([name, details]) => `${name} ${JSON.stringify(details)}`)
    lines.push(`${title}:${thrown}`, `  ${tools.join(' ')}`, `  ${servers.join(' ')}`)
    for (const notice of notices.splice(0)) lines.push(`  ! ${notice}`)
  }
  return { shelf, notices, events, step, text: () => `${lines.join('\n')}\n` }
}

const plain = (name: string, description = 'd', more: object = {}) => builtIn(name, { description, ...more })
const of = (server: string, name: string, description = 'd') => mcp(server, name, { description })

it('keeps tools and servers through every kind of change', async () => {
  const { step, text } = observed({
    tools: [plain('Read'), of('a', 'one'), of('a', 'two'), of('b', 'one')],
    servers: { b: { instructions: 'Be kind.' }, late: { state: 'pending' } },
  })
  step('at first', () => {})
  step('add a built-in', (shelf) => shelf.add(plain('Edit')))
  step('add a tool again, changed', (shelf) => shelf.add([of('a', 'one', 'new'), plain('Read', 'new')]))
  step('add a namesake of a tool at another server', (shelf) => shelf.add([of('c', 'one'), plain('one')]))
  step('add to a server that is connecting', (shelf) => shelf.add(of('late', 'x')))
  step('a server fails', (shelf) => shelf.failed('b', new Error('gone')))
  step('add to a server that failed', (shelf) => shelf.add(of('b', 'two')))
  step('add nothing', (shelf) => shelf.add([]))
  step('add what is no tool', (shelf) => shelf.add([plain('Never'), null as Loose]))
  step('add one built-in twice', (shelf) => shelf.add([plain('Twice'), plain('Twice')]))
  step('remove by name', (shelf) => shelf.remove('mcp__a__one'))
  step('remove by names, one unknown', (shelf) => shelf.remove(['Edit', 'mcp__b__one', 'nothing']))
  step('remove a name of no tool', (shelf) => shelf.remove('one_more'))
  step('remove no names', (shelf) => shelf.remove([]))
  step('remove a server', (shelf) => shelf.remove({ server: 'b' }))
  step('remove a server without details', (shelf) => shelf.remove({ server: 'a' }))
  step('remove a server that is unknown', (shelf) => shelf.remove({ server: 'zzz' }))
  step('add to a removed server', (shelf) => shelf.add(of('b', 'three')))
  step('replace', (shelf) => shelf.replace('late', [of('late', 'y'), of('other', 'z'), plain('own')]))
  step('replace by less', (shelf) => shelf.replace('late', [of('late', 'y', 'new')]))
  step('replace of a server that is unknown', (shelf) => shelf.replace('fresh', [plain('first')]))
  step('replace by what is no tool', (shelf) => shelf.replace('late', [null as Loose]))
  step('replace by a tool without a name', (shelf) => shelf.replace('late', [{} as Loose]))
  step('a server starts', (shelf) => shelf.pending('late'))
  step('details are added', (shelf) => shelf.setServer('late', { alwaysLoad: true }))
  step('details without a state', (shelf) => shelf.setServer('late', { state: undefined } as Loose))
  step('details of a new server', (shelf) => shelf.setServer('newest', {}))
  step('details that are none', (shelf) => shelf.setServer('late', null as Loose))
  step('an unknown state', (shelf) => shelf.setServer('late', { state: 'asleep' as Loose }))
  step('a mark that is no mark', (shelf) => shelf.add(plain('Odd', 'd', { alwaysLoad: 'yes' })))
  step('a tool read ahead', (shelf) => shelf.readAhead(of('late', 'ahead')))
  step('what is no tool, read ahead', (shelf) => shelf.readAhead(null as Loose))
  await expect(text()).toMatchFileSnapshot('./tables/store.txt')
})

it('reports each message once, to the operator and as an event, whatever the listeners do', async () => {
  const odd = (name: string) => plain(name, 'd', { alwaysLoad: 'yes' })
  const { shelf, notices, events } = observed({ tools: [odd('one')], provider: 'unheard' })
  shelf.add([odd('one'), odd('two')])
  expect(notices).toMatchInlineSnapshot(`
    [
      ""one" has alwaysLoad of type string; only true and false count, so it is ignored.",
      "provider "unheard" is not in the capability table (anthropic, aws, bedrock, vertex, foundry, baseten, openai-compatible), so all tools are loaded.",
      ""two" has alwaysLoad of type string; only true and false count, so it is ignored.",
    ]
  `)
  expect(events).toEqual(notices.map((message) => ({ type: 'warning', message })))
  let told = 0
  const fail = () => {
    told++
    throw new Error('no')
  }
  createPureShelf({ tools: [odd('one'), odd('two')], notify: fail, trace: fail })
  createPureShelf({ tools: [odd('one')], notify: async () => fail(), trace: async () => fail() })
  expect(told).toBe(6)
  expect(() => createPureShelf({ tools: [odd('one')] })).not.toThrow()
})

it('remembers the newest thousand messages', () => {
  const odd = (index: number) => plain(`tool_${index}`, 'd', { alwaysLoad: 'yes' })
  const all = Array.from({ length: 1001 }, (_, index) => odd(index))
  const { shelf, notices } = observed({ tools: all.slice(0, 1000) })
  shelf.add([])
  expect(notices).toHaveLength(1000)
  shelf.add(all.slice(1000))
  // The message about the first tool has been forgotten; repeating it drops the next one, and so on.
  expect(notices).toHaveLength(1001)
  shelf.remove(all.slice(1, 1000).map(({ name }) => name))
  expect(notices.slice(1001).map((notice) => notice.split(' ')[0])).toEqual(['"tool_0"'])
})

it('replaces the capability table, or keeps the last good one and reports why', async () => {
  const { shelf, notices } = observed({ tools: [plain('Read'), of('a', 'one')] })
  const wire = async () => {
    const { decision } = await shelf.prepare({ model: MODEL, messages: [{ role: 'user', content: 'x' }] })
    return `${decision.open} ${decision.reason}`
  }
  const outcomes: unknown[] = [await wire()]
  const tables: (() => unknown)[] = [
    () => ({ withoutReferences: [MODEL] }),
    async () => ({ models: 'all' }),
    () => Promise.reject(new Error('offline')),
    () => {
      throw 'text'
    },
    async () => ({ withoutReferences: [] }),
  ]
  for (const load of tables) outcomes.push(await shelf.refreshCapabilities(load), await wire())
  expect({ outcomes, notices }).toMatchInlineSnapshot(`
    {
      "notices": [
        "the capability table was not refreshed and the last good one is used: ShelfError: toolshelf: a capability table "models" must be a list, but was given "all". The exported \`defaultCapabilities\` shows the form. [BAD_CAPABILITIES]",
        "the capability table was not refreshed and the last good one is used: Error: offline",
        "the capability table was not refreshed and the last good one is used: text",
      ],
      "outcomes": [
        "true open",
        true,
        "false model",
        false,
        "false model",
        false,
        "false model",
        false,
        "false model",
        true,
        "true open",
      ],
    }
  `)
})

it('hides what `isHidden` says, at once, and warns where it answers late', () => {
  const answers: Loose[] = [
    true,
    false,
    undefined,
    'yes',
    Promise.resolve(false),
    Promise.reject(new Error('no')),
  ]
  const tools = answers.map((_, index) => plain(`tool_${index}`))
  const isHidden = ({ name }: { name: string }) => answers[Number(name.slice(5))]
  const { shelf, notices } = observed({ tools, isHidden })
  expect([shelf.tools().map(({ name }) => name), notices]).toMatchInlineSnapshot(`
    [
      [
        "tool_1",
        "tool_2",
      ],
      [
        "option "isHidden" returned a promise, so the tool is hidden; return true or false.",
      ],
    ]
  `)
})

it('does not wait for a timer that fails, and cancels one that is not needed any more', async () => {
  const never = new Promise<void>(() => {})
  const log: string[] = []
  const timers: [string, Loose][] = [
    [
      'throws',
      () => {
        throw new Error('no clock')
      },
    ],
    ['gives nothing', () => undefined],
    ['rejects', () => ({ over: Promise.reject(new Error('broken')), cancel: () => {} })],
    ['is no promise', () => ({ over: 5, cancel: () => {} })],
    [
      'expires',
      () => ({
        over: Promise.resolve(),
        cancel: () => {
          throw new Error('late')
        },
      }),
    ],
    [
      'waits',
      (milliseconds: number) => ({ over: never, cancel: () => log.push(`cancelled ${milliseconds}`) }),
    ],
  ]
  for (const [title, timer] of timers) {
    const { shelf, notices } = observed({
      ...{ tools: [of('a', 'one')], servers: { late: { state: 'pending' } }, timer, pendingWaitMs: 70 },
    })
    const searching = shelf.search({ query: 'fax' })
    if (title === 'waits') {
      shelf.pending('later')
      await Promise.resolve()
      shelf.failed('late', 'x')
      shelf.add(of('later', 'fax'))
    }
    const { tools } = await searching
    log.push(`${title}: ${tools.map(({ name }) => name).join()} ${notices.join()}`)
  }
  expect(log).toMatchInlineSnapshot(`
    [
      "throws:  the timer failed, so searches do not wait for servers: Error: no clock",
      "gives nothing:  the timer failed, so searches do not wait for servers: TypeError: Cannot read properties of undefined (reading 'over')",
      "rejects:  the timer failed, so searches do not wait for servers: Error: broken",
      "is no promise:  ",
      "expires:  ",
      "cancelled 70",
      "waits: mcp__later__fax ",
    ]
  `)
})
