// `toolshelf demo` where nobody has a key or a network: real servers, and figures from the requests really sent.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readInput } from '../../packages/cli/src/command.ts'
import type { Ledger } from '../../packages/cli/src/demo/ledger.ts'
import { playDemo } from '../../packages/cli/src/demo/play.ts'
import { demoServers, folderWithAll, packagesBeside } from '../../packages/cli/src/demo/servers.ts'
import { demoCommand, runDemo } from '../../packages/cli/src/demo.ts'
import type { runCli } from '../../packages/cli/src/main.ts'
import { prices } from '../../packages/core/src/figures.ts'
import { type Ran, runHere } from '../../packages/testkit/src/cli-here.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { served } from '../agent/support.ts'
import { descendantsOf } from '../mcp/support/processes.ts'
import { binary, newPlace, noTerminal, open, openHere, type Place } from '../terminal/support.ts'
import { lightBinary, lightConfig } from './light-demo.ts'

/** Only one test starts the real servers: six of them take three seconds of CPU time. */
const configIn = lightConfig()

/** The command in this process, with light servers in this process too. */
const withLight: typeof runCli = ([, ...words], terminal) =>
  runDemo(readInput(demoCommand, words), terminal, async () => configIn)

const leftIn = ({ environment }: Place) =>
  readdirSync(environment.TMPDIR ?? '').filter((name) => name.includes('demo'))

async function demo(...words: string[]): Promise<Ran> {
  const place = newPlace({ TMPDIR: newPlace().folder })
  const ran = await runHere(place, ['demo', ...words], { run: withLight })
  expect(leftIn(place)).toEqual([])
  return ran
}

/** The binary with the real servers. `onTick` is called with its process id as long as it runs. */
async function realDemo(
  words: readonly string[],
  onTick: (root: number) => void,
): Promise<{ code: unknown; out: string; told: string }> {
  const place = newPlace({ TMPDIR: newPlace().folder })
  const child = spawn(process.execPath, [...binary, 'demo', ...words], {
    cwd: place.folder,
    env: { ...place.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const heard = heardFrom(child)
  const watch = setInterval(() => onTick(child.pid ?? 0), 300)
  const [code] = await once(child, 'close')
  clearInterval(watch)
  expect(leftIn(place)).toEqual([])
  return { code, out: heard.out(), told: heard.told() }
}

/**
 * Addresses that a process and what it started are connected to, where the system tells. `known` counts how often each
 * socket was looked up: the system's tables take long to read, so they are read only while a socket is new.
 */
function peersOf(root: number, known: Map<string, number>): string[] {
  try {
    const sockets = new Set([root, ...descendantsOf(root)].flatMap(socketsOf))
    const isNew = (socket: string) => (known.get(socket) ?? 0) < LOOKS
    if (![...sockets].some(isNew)) return []
    for (const socket of sockets) known.set(socket, (known.get(socket) ?? 0) + 1)
    const table = ['tcp', 'tcp6', 'udp', 'udp6'].flatMap((name) =>
      readFileSync(`/proc/net/${name}`, 'utf8').split('\n').slice(1),
    )
    const rows = table.map((line) => line.trim().split(/\s+/)).filter((fields) => fields.length > 9)
    return rows
      .filter((fields) => sockets.has(fields[9] as string) && fields[3] !== LISTENING)
      .map((fields) => (fields[2] as string).split(':')[0] as string)
  } catch {
    return []
  }
}

/** The first may come between a socket's making and its connecting. */
const LOOKS = 2

const LISTENING = '0A'
/** 127.0.0.1, also as the newer protocol writes it, as the system spells them. */
const LOOPBACK = ['0100007F', '0000000000000000FFFF00000100007F', '00000000000000000000000001000000']

function socketsOf(id: number): string[] {
  try {
    return readdirSync(`/proc/${id}/fd`).flatMap((name) => {
      const target = readlinkSync(join(`/proc/${id}/fd`, name))
      return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []
    })
  } catch {
    return []
  }
}

const written = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const numbers = (text: string, pattern: RegExp) =>
  (pattern.exec(text)?.slice(1) ?? []).map((number) => Number(number.replaceAll(',', '')))
const [without = 0, withIt = 0] = numbers(
  written('README.md'),
  /^\| Input tokens \| ([\d,]+) \| ([\d,]+) \|$/m,
)
const documented = { without, with: withIt }

it('README and figures show the demo’s figures alike', () => {
  const figures = written('docs/figures.md')
  expect([without, withIt]).not.toContain(0)
  expect(numbers(figures, /([\d,]+) input tokens without, ([\d,]+) with; \$/)).toEqual([without, withIt])
  const cost = /^\| Cost with prompt caching \| \$([\d.]+) \| \$([\d.]+) \|$/m
  const dollars = numbers(written('README.md'), cost)
  expect(dollars).toHaveLength(2)
  expect(numbers(figures, /\$([\d.]+) and \$([\d.]+) on claude/)).toEqual(dollars)
})

describe('toolshelf demo', () => {
  it('prints its ledger as JSON, and speaks to this machine only', async () => {
    const found = new Set<string>()
    const known = new Map<string, number>()
    const { code, out, told } = await realDemo(['--json'], (root) => {
      for (const peer of peersOf(root, known)) found.add(peer)
    })
    const peers = [...found]
    expect(told).toBe('')
    expect(code).toBe(0)
    const { turns, total, longResult } = JSON.parse(out)
    expect(turns).toHaveLength(4)
    expect(longResult.characters).toBeGreaterThan(100_000)
    expect(longResult.tokensWith).toBeLessThan(longResult.tokensWithout / 10)
    for (const turn of turns) {
      expect(turn.tokensWith).toBeLessThan(turn.tokensWithout)
      expect(turn.searches + turn.preloaded.length).toBeGreaterThan(0)
      expect(turn.loaded.length).toBeGreaterThan(0)
    }
    const sum = (field: string) =>
      turns.reduce((all: number, turn: Record<string, number>) => all + (turn[field] ?? 0), 0)
    expect(total.tokensWithout).toBe(sum('tokensWithout'))
    expect(total.tokensWith).toBe(sum('tokensWith'))
    expect(total.tokensSaved).toBe(total.tokensWithout - total.tokensWith)
    expect(total.extraRoundTrips).toBe(total.rounds - total.requests)
    expect(total).toMatchObject({ pricedAs: 'claude-sonnet-5-5', isEstimated: false })
    expect(total.dollarsWith).toBeLessThan(total.dollarsWithout)
    // Definitions are written to the cache once and read from then on, at a twentieth of their price.
    expect(total.dollarsWithout).toBeLessThan((total.tokensWithout * 2) / 1_000_000)
    const used = new Set(
      turns.flatMap(({ loaded }: { loaded: string[] }) => loaded).map((name: string) => name.split('__')[1]),
    )
    expect(used.size).toBeGreaterThanOrEqual(3)
    expect(total.prefixKept).toBe(total.rounds)
    // The folder's name is part of each request, and longer here.
    expect(Math.abs(total.tokensWithout / documented.without - 1)).toBeLessThan(0.01)
    expect(Math.abs(total.tokensWith / documented.with - 1)).toBeLessThan(0.01)
    const trips = numbers(written('README.md'), /^\| Extra round trips to the model \| 0 \| (\d+) \|$/m)
    expect(trips).toEqual([total.extraRoundTrips])
    if (existsSync('/proc/net/tcp')) expect(peers).not.toEqual([])
    expect(peers.filter((peer) => !LOOPBACK.includes(peer))).toEqual([])
  })

  it('its figures follow from the requests that the model received', async () => {
    const { client, seen } = await served(rules)
    const live = { client: client as never, model: 'recorded', about: 'a recorder', isScript: false }
    const counts: number[] = []
    let tools = 0
    let ledger: Ledger | undefined
    const close = async () => {}
    for await (const event of playDemo({
      configIn,
      live: { ...live, close },
      prices,
      pricedAs: '',
      signal: never,
    })) {
      if (event.type === 'servers') tools = event.servers.reduce((sum, server) => sum + server.tools, 0)
      if (event.type === 'turn') counts.push(seen.length)
      if (event.type === 'done') ledger = event.ledger
    }
    expect(counts).toHaveLength(4)
    const { turns = [] } = ledger ?? {}
    const received = counts.map((count, index) => seen.slice(counts[index - 1] ?? 0, count))
    expect(turns.map(({ rounds }) => rounds)).toEqual(received.map(({ length }) => length))
    expect(turns.map(({ tokensWith }) => tokensWith)).toEqual(
      received.map((all) => all.reduce((sum, { tokens }) => sum + tokens, 0)),
    )
    const needed = received.map((all) => all.filter(({ action }) => !action.includes('ToolSearch')).length)
    expect(turns.map(({ requests }) => requests)).toEqual(needed)
    const { definitionTokens = 0 } = ledger?.total() ?? {}
    for (const { tokensWithout, requests } of turns) {
      expect(tokensWithout / requests).toBeGreaterThan(definitionTokens)
      expect(tokensWithout / requests).toBeLessThan(definitionTokens * 1.2)
    }
    expect(turns.map(({ searches }) => searches)).toEqual(
      received.map((all) => all.filter(({ action }) => action.includes('ToolSearch')).length),
    )
    const notes = JSON.stringify(seen.at(-1)?.request)
    expect(notes).toContain('mcp__everything__get-sum')
    const loaded = turns.flatMap((turn) => turn.loaded)
    expect(new Set(loaded).size).toBe(loaded.length)
    const visible = seen.at(-1)?.visible.filter((name) => name !== 'ToolSearch') ?? []
    expect(visible.length).toBeGreaterThan(3)
    expect([...loaded].sort()).toEqual([...visible].sort())
    expect(ledger?.total()).toMatchObject({ tools, prefixKept: seen.length, rounds: seen.length })
  })

  it('piped, it is plain lines that end with the chart and what to do next', async () => {
    const { code, out } = await demo()
    expect(code).toBe(0)
    expect(out).not.toContain('\u001b')
    expect(out).toMatch(/^Toolshelf demo: .*a script speaks in place of a model\./)
    expect(out).toMatch(/Servers: filesystem \d+, memory \d+, everything \d+/)
    expect(out).toContain('call   mcp__filesystem__write_file')
    expect(out).not.toContain('(failed)')
    expect(out).toMatch(/money {3}\$[\d.]+ without, \$[\d.]+ with: claude-sonnet-5-5 with prompt caching/)
    expect(out).toMatch(/\d searches, \d extra round trips; cached prefix kept/)
    expect(out).toMatch(/turn 4 {2}without █+ [\d,]+\n +with +█+ +[\d,]+\n/)
    expect(out).toMatch(/toolshelf doctor.*toolshelf connect --apply.*toolshelf chat[^\n]*\n$/s)
  })

  it('takes no words, and --live needs a model', async () => {
    const asked = (...words: string[]) => runHere(newPlace(), ['demo', ...words])
    const wrong = await asked('everything')
    expect(wrong).toMatchObject({ code: 2, told: expect.stringContaining('unexpected argument') })
    const live = await asked('--live')
    expect(live).toMatchObject({ code: 1, told: expect.stringContaining('Set ANTHROPIC_API_KEY') })
    expect(live.told).toContain('or leave out --live: the demo then needs no model.')
    expect(live.told).not.toContain('--script')
  })
})

const never = new AbortController().signal

const rules = {
  rules: [
    {
      when: 'Write down',
      do: [
        { call: 'mcp__filesystem__list_allowed_directories', search: 'allowed directories' },
        { say: 'a' },
      ],
    },
    { when: 'Remember that', do: [{ call: 'mcp__memory__read_graph', search: 'read graph' }, { say: 'b' }] },
    {
      when: 'What is the sum',
      do: [{ call: 'mcp__everything__get-sum', input: { a: 1, b: 2 }, search: 'sum numbers' }, { say: 'c' }],
    },
    { when: 'What do the notes say', do: [{ say: 'Nothing to search for.' }] },
  ],
}

describe('toolshelf demo in a terminal', () => {
  it('at 120 columns draws the ledger beside the conversation; an interrupt ends it and leaves nothing behind', async () => {
    const place = newPlace({ TMPDIR: newPlace().folder })
    const screen = openHere(place, ['demo'], { columns: 120, rows: 45, run: withLight })
    const during = await screen.shows(/turn 1 .*searches/)
    expect(during).toMatch(
      /> Write down in notes\.md.*│ Input tokens, searches included +│|│ Input tokens, searches included/,
    )
    expect(during).toMatch(/│ without █+ [\d,]+ +│/)
    // What Ctrl-C is to a command that reads no keys.
    process.emit('SIGINT', 'SIGINT')
    expect(await screen.ended()).toBe(130)
    expect(screen.scrolled().match(/> Write down/g)).toHaveLength(1)
    expect(leftIn(place)).toEqual([])
  })

  it('at 80 columns lets the conversation scroll away above the ledger', async () => {
    const screen = openHere(newPlace(), ['demo'], { columns: 80, rows: 24, run: withLight })
    await screen.shows(/turn 3 .*searches/)
    expect(await screen.ended()).toBe(0)
    const all = screen.scrolled()
    expect(all).toMatch(/toolshelf chat/)
    for (const prompt of ['> Write down', '> Remember that', '> Ask get-sum', '> What do the notes'])
      expect(all.split(prompt)).toHaveLength(2)
    expect(all.match(/Input tokens/g)).toHaveLength(1)
    expect(all.split('\n').every((line) => line.length <= 80)).toBe(true)
    expect(screen.raw()).toContain('without \u001b[31m█')
    expect(screen.raw()).toMatch(/with +.\[32m█+/)
    expect(screen.raw()).not.toContain("(Toolshelf's")
  })

  const light = lightBinary()

  it.skipIf(noTerminal || !isThorough)('ended by Ctrl-C in a real terminal it leaves no folder', async () => {
    const place = newPlace({ TMPDIR: newPlace().folder })
    const screen = open(place, ['demo'], { columns: 120, rows: 45, binary: light })
    await screen.shows(/turn 1 .*searches/)
    screen.type('\u0003')
    expect(await screen.ended()).toBe(130)
    expect(leftIn(place)).toEqual([])
  })

  // Ctrl-C and SIGTERM end it alike.
  it.each(['nobody who reads', ...(isThorough ? ['SIGTERM'] : [])])(
    'ended by %s it leaves no folder',
    async (reason) => {
      const place = newPlace({ TMPDIR: newPlace().folder })
      const child = spawn(process.execPath, [...light, 'demo', '--plain'], {
        cwd: place.folder,
        env: { ...place.environment },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      expect(leftIn(place)).toHaveLength(1)
      if (reason === 'SIGTERM') child.kill('SIGTERM')
      else child.stdout.destroy()
      await once(child, 'exit')
      expect(leftIn(place)).toEqual([])
    },
  )
})

it('H7 starts no package of the folder that somebody is in', () => {
  const { folder } = newPlace()
  for (const server of Object.values(demoServers)) {
    const planted = join(folder, 'node_modules', server.package, server.script)
    mkdirSync(dirname(planted), { recursive: true })
    writeFileSync(planted, '')
  }
  const before = process.cwd()
  process.chdir(folder)
  onTestFinished(() => process.chdir(before))
  const here = join(process.cwd(), 'node_modules')
  expect(folderWithAll([here])).toBe(here)
  expect(packagesBeside()).not.toContain(here)
})
