// Sessions of an agent as chat and run open them, without a process: the tools that a model gets, what is resumed and kept.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { onInterrupt, readPrompt } from '../../src/cli/client.ts'
import { openAgentSession, openPermissions } from '../../src/cli/session.ts'
import { said, saying } from '../agent/support.ts'
import { serveHere, text } from '../mcp/support/server-here.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { enter } from '../support/cli-here.ts'
import type { Loose } from '../support/talk.ts'
import { newPlace, type Place } from '../terminal/support.ts'
import { inputOf, outcomeOf } from './support/input.ts'

type SessionOptions = Parameters<typeof openAgentSession>[0]

const project = {
  ...{ folder: '', configs: [], skills: [], rules: [], files: new Map(), items: [] },
  ...{ problems: [], notices: [] },
}

/** Enters the place; `open` opens a session there, with a model that gives these replies. */
function sessionsIn(place: Place) {
  const leave = enter(place.folder, place.environment)
  onTestFinished(leave)
  const told: string[] = []
  const notify = (message: string) => void told.push(message.replaceAll(place.folder, ''))
  const machine = {
    ...{ home: place.environment.HOME!, folder: place.folder, platform: process.platform },
    environment: place.environment,
  }
  const open = async (given: Partial<SessionOptions> = {}, replies: readonly object[] = []) => {
    const model = saying(...replies)
    const permissions = await openPermissions({
      ...{ machine: machine as never, project, refusal: () => 'no' },
      fromFlags: ['mcp__poems__*'].map((rule) => ({ effect: 'allow', rule, scope: 'session' })),
    })
    const session = await openAgentSession({
      ...{ kind: 'run', client: model.client, model: 'm', directory: place.folder, configFiles: [] },
      ...{ project, permissions, resume: undefined, skillIndex: undefined },
      ...{ contextWindow: undefined, audit: undefined, isStrict: false, notify },
      ...given,
    })
    onTestFinished(session.close)
    return { ...session, requests: model.requests as unknown as Loose[] }
  }
  return { open, told, machine, leave }
}

const call = (name: string, input: object) => ({
  content: [{ type: 'tool_use', id: `toolu_${name}`, name, input }],
  stop_reason: 'tool_use',
})

test('a session keeps its messages, and the next one continues from them', async () => {
  const place = newPlace()
  const { open, told } = sessionsIn(place)
  const first = await open({ contextWindow: 1234 })
  expect([first.isKept(), first.agent.contextWindow]).toEqual([false, 1234])
  await said(first.agent, 'hello')
  expect(first.isKept()).toBe(true)
  expect(JSON.stringify(first.requests[0]?.system)).toContain(
    `You work in ${place.folder} on ${process.platform}.`,
  )
  expect(first.requests[0]?.tools.map(({ name }: Loose) => name)).toEqual(
    expect.arrayContaining(['Bash', 'Read', 'Agent', 'ToolSearch']),
  )
  await first.close()
  const lines = readFileSync(first.file, 'utf8')
  const again = await open({ resume: 'last' })
  expect([again.file, again.agent.contextWindow, again.isKept()]).toEqual([first.file, 200_000, true])
  expect(again.agent.messages).toEqual(first.agent.messages)
  expect(again.shelf.state()).toEqual(first.shelf.state())
  await said(again.agent, 'and again')
  expect(readFileSync(first.file, 'utf8').slice(0, lines.length)).toBe(lines)
  expect(readFileSync(first.file, 'utf8').length).toBeGreaterThan(lines.length)
  const fresh = await open()
  expect([fresh.agent.messages, fresh.file === first.file]).toEqual([[], false])
  expect(told).toEqual([])
})

test('damaged sessions are resumed with what is left, or refused', async () => {
  const place = newPlace()
  const { open, told } = sessionsIn(place)
  const line = (content: string) => JSON.stringify({ type: 'append', messages: [{ role: 'user', content }] })
  const resume = (name: string, text: string) => {
    const file = place.file(name, text)
    return outcomeOf(async () => (await open({ resume: file })).agent.messages.length)
  }
  const state = JSON.stringify({ type: 'state', state: (await open()).shelf.state() })
  expect([
    await resume('one.jsonl', `${line('a')}\n{"type":`),
    await resume('two.jsonl', `x\ny\n${line('a')}\n`),
    await resume('state.jsonl', `x\n${state}\n`),
    await resume('empty.jsonl', ''),
    String(await resume('none.jsonl', 'x\n')).replaceAll(place.folder, ''),
  ]).toEqual([
    ...[1, 1, 0, 0],
    expect.stringMatching(/^CommandError: \/none\.jsonl is not a session\. Sessions of this folder are/),
  ])
  expect(told).toEqual([
    '/one.jsonl: 1 unreadable line was left out',
    '/two.jsonl: 2 unreadable lines were left out',
    '/state.jsonl: 1 unreadable line was left out',
  ])
  expect(readFileSync(join(place.folder, 'one.jsonl'), 'utf8')).toBe(`${line('a')}\n{"type":\n`)
  expect(await outcomeOf(() => open({ directory: join(place.folder, 'none') }))).toBe(
    `CommandError: the folder ${join(place.folder, 'none')} does not exist.`,
  )
})

test('a session that cannot be written is reported and not kept', async () => {
  const place = newPlace()
  const { open, told } = sessionsIn(place)
  writeFileSync(join(place.folder, 'data'), '')
  const session = await open()
  await said(session.agent, 'hello')
  expect([session.isKept(), existsSync(session.file)]).toEqual([false, false])
  expect(told.join('\n')).toMatch(/^the conversation is not being saved: /m)
  const odd = join(place.folder, 'a\nb')
  mkdirSync(odd)
  const other = await open({ directory: odd })
  await said(other.agent, 'hello')
  expect(JSON.stringify(other.requests[0]?.system)).toContain(`You work in ${place.folder}/a?b on`)
})

test('servers come from the named files, else from the user and the project; problems are reported', async () => {
  const place = newPlace()
  const { open, told } = sessionsIn(place)
  const server = { command: 'none-such', disabled: true }
  const names = async (given: Partial<SessionOptions>) => {
    const outcome = await outcomeOf(async () => (await open(given)).host.status().map(({ name }) => name))
    return [outcome, told.splice(0)]
  }
  const good = place.file('good.json', { mcpServers: { good: server } })
  const bad = place.file('bad.json', { mcpServers: { bad: { command: 5 } } })
  const broken = place.file('broken.json', '{')
  const empty = place.file('empty.json', { mcpServers: {} })
  mkdirSync(join(place.folder, 'home/.config/toolshelf'), { recursive: true })
  place.file('home/.config/toolshelf/toolshelf.json', { mcpServers: { own: server } })
  const text = JSON.stringify({ mcpServers: { theirs: server } })
  const configs = [{ file: join(place.folder, '.mcp.json'), text, folder: place.folder }]
  const isStrict = true
  expect([
    await names({ configFiles: undefined, project: { ...project, configs }, isStrict }),
    await names({ configFiles: ['good.json', bad], isStrict }),
    await names({ configFiles: [bad] }),
    await names({ configFiles: [empty], isStrict }),
    await names({ configFiles: [broken], isStrict }),
    await names({ configFiles: [good], isStrict }),
  ]).toMatchInlineSnapshot(`
    [
      [
        [
          "own",
          "theirs",
        ],
        [],
      ],
      [
        [
          "good",
        ],
        [
          "/bad.json, server "bad": "command" must be a text; the server is left out.",
        ],
      ],
      [
        [],
        [
          "/bad.json, server "bad": "command" must be a text; the server is left out.",
        ],
      ],
      [
        [],
        [],
      ],
      [
        "CommandError: no server can be started; fix the problems above, or leave --config out.",
        [
          "/broken.json: it is not valid JSON: line 1, column 2: a name in double quotes, or }, is missing.",
        ],
      ],
      [
        [
          "good",
        ],
        [],
      ],
    ]
  `)
})

/** The address of a server with a tool that says much. */
const wordy = () =>
  serveHere(() => ({
    'tools/list': () => ({ tools: [tool('recite')] }),
    'tools/call': () => text('word '.repeat(3000)),
  }))

test('a long result is kept for later', async () => {
  const url = wordy()
  const talk = async (gateway: object) => {
    const place = newPlace()
    const { open, leave } = sessionsIn(place)
    const config = place.file('toolshelf.json', { mcpServers: { poems: { url } }, gateway })
    const replies = [call('ToolSearch', { query: 'recite' }), call('mcp__poems__recite', {})]
    const session = await open({ configFiles: [config] }, replies)
    await session.host.settled()
    await said(session.agent, 'a poem')
    const results = session.agent.messages.filter(({ content }) =>
      JSON.stringify(content).includes('tool_result'),
    )
    const [, read = ''] = results.map(({ content }) => JSON.stringify(content))
    await session.close()
    leave()
    return read.length < 10_000
  }
  expect([await talk({ resultBudget: 1000 }), await talk({}), await talk({ resultBudget: 0 })]).toEqual([
    true,
    false,
    false,
  ])
})

test('rules beyond the session are kept on disk, and forgotten there', async () => {
  const place = newPlace()
  const { machine } = sessionsIn(place)
  const openRules = () =>
    openPermissions({ machine: machine as never, project, fromFlags: [], refusal: () => 'no' })
  const one = await openRules()
  const rule = (name: string, scope: 'session' | 'project' | 'user') =>
    ({ effect: 'allow', rule: name, scope }) as const
  const rules = [rule('Read', 'session'), rule('Edit', 'project'), rule('Move', 'user')]
  for (const each of rules) await one.keep(each)
  const shown = async (of = one) => of.rules().map(({ rule: name, scope }) => `${name} ${scope}`)
  const later = await openRules()
  expect([await shown(), await shown(later)]).toEqual([
    ['Read session', 'Edit project', 'Move user'],
    ['Move user', 'Edit project'],
  ])
  expect([
    await later.forget(rules[0]!),
    await later.forget(rules[1]!),
    await later.forget(rules[1]!),
  ]).toEqual([...[false, true, false]])
  expect(await shown(await openRules())).toEqual(['Move user'])
  expect([await one.forget(rules[0]!), await one.forget(rules[1]!), await shown()]).toEqual([
    ...[true, true],
    ['Move user'],
  ])
  const file = join(place.folder, 'home/.config/toolshelf/permissions.json')
  writeFileSync(file, '{')
  expect(await outcomeOf(openRules)).toMatch(/^CommandError: .*permissions\.json is not valid JSON/)
})

test('gives up on a silent pipe if there are words, and waits for it if there are none', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const told: string[] = []
  const start = (words: readonly string[], stream = new PassThrough()) => {
    const terminal = {
      ...{ print: () => {}, report: () => {}, isInteractive: false },
      input: { stream, isPiped: true },
    }
    const prompt = outcomeOf(() =>
      readPrompt(inputOf({}, words), terminal, (message) => void told.push(message)),
    )
    return { stream, prompt }
  }
  const given = start(['hi'])
  vi.advanceTimersByTime(2999)
  expect(told.splice(0)).toEqual([])
  vi.advanceTimersByTime(1)
  expect([await given.prompt, told.splice(0), vi.getTimerCount()]).toEqual([
    'hi',
    ['nothing came through the pipe; continuing without it. If there is no input, add "< /dev/null".'],
    0,
  ])
  for (const words of [[], ['-']]) {
    const awaited = start(words)
    vi.advanceTimersByTime(3000)
    expect(told.splice(0)).toEqual(['waiting for the prompt on standard input.'])
    awaited.stream.end('late')
    expect(await awaited.prompt).toBe('late')
  }
  const slow = start(['hi'])
  slow.stream.write('a')
  await vi.waitUntil(() => vi.getTimerCount() === 0, 60_000)
  slow.stream.end('b')
  expect(await slow.prompt).toBe('hi\n\nab')
  const empty = start(['hi'])
  empty.stream.end()
  expect([await empty.prompt, vi.getTimerCount()]).toEqual(['hi', 0])
  const failing = start(['hi'])
  failing.stream.destroy(new Error('gone'))
  expect([await failing.prompt, told, vi.getTimerCount()]).toEqual(['Error: gone', [], 0])
})

test('the second signal ends the process, and a third finds no handler', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as never)
  onTestFinished(() => exit.mockRestore())
  const before = process.listenerCount('SIGINT')
  const stop = new AbortController()
  onTestFinished(onInterrupt(stop))
  process.emit('SIGINT', 'SIGINT')
  expect([stop.signal.aborted, exit.mock.calls, process.listenerCount('SIGINT')]).toEqual([
    true,
    [],
    before + 1,
  ])
  process.emit('SIGTERM', 'SIGTERM')
  expect([exit.mock.calls, process.listenerCount('SIGINT')]).toEqual([[[130]], before])
})
