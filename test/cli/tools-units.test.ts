// Files of tools and queries, and options of searches.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  catalogueOf,
  createEncoderProgress,
  listServerTools,
  readLimit,
  readQueries,
  readRanker,
  readTools,
  withEncoderProgress,
} from '../../src/cli/tools.ts'
import { version } from '../../src/cli/version.ts'
import { rankers } from '../../src/rankers/index.ts'
import { initialized, serveHere } from '../mcp/support/server-here.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { enter } from '../support/cli-here.ts'
import { outcomeOf } from './support/input.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tools-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function write(text: string): string {
  const file = join(folder, 'file')
  writeFileSync(file, text)
  return file
}

/** What is read from these lines, and the problems reported about them. */
async function read(reader: typeof readTools | typeof readQueries, lines: readonly unknown[]) {
  const told: string[] = []
  const terminal = { print: () => {}, report: (text: string) => void told.push(text), isInteractive: false }
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  const items = await outcomeOf(() => reader(write(text), terminal))
  return [JSON.stringify(items), ...told].map((line) => line.replaceAll(folder, ''))
}

test('reads one tool per line of a catalogue; reports and skips lines that are none', async () => {
  const tool = { name: 'a', description: 'A', server: 's' }
  expect(
    await read(readTools, [
      ...['\uFEFF{"name":"first"}\r', '', '  ', '{', '5', '[]', 'null'],
      ...[
        tool,
        { ...tool, server: 't' },
        tool,
        { name: '' },
        { name: 5 },
        { ...tool, name: 'b', description: 5 },
        { ...tool, name: 'c', server: 5 },
      ],
    ]),
  ).toMatchInlineSnapshot(`
    [
      "[{"name":"first"},{"name":"a","description":"A","server":"s"},{"name":"a","description":"A","server":"t"}]",
      "/file:4: it is not JSON; the line is skipped.",
      "/file:5: it is not a JSON object; the line is skipped.",
      "/file:6: it is not a JSON object; the line is skipped.",
      "/file:7: it is not a JSON object; the line is skipped.",
      "/file:10: "a" occurs twice; the line is skipped.",
      "/file:11: a tool needs a "name"; the line is skipped.",
      "/file:12: a tool needs a "name"; the line is skipped.",
      "/file:13: "description" must be text; the line is skipped.",
      "/file:14: "server" must be text; the line is skipped.",
    ]
  `)
  expect(await read(readTools, [tool, ...Array(10).fill('{')])).toHaveLength(11)
  expect((await read(readTools, [tool, ...Array(12).fill('{')])).at(-1)).toBe(
    '/file: 2 more lines are invalid and skipped.',
  )
  expect((await read(readTools, ['']))[0]).toContain('CommandError: /file has no valid line')
  expect(await outcomeOf(() => readTools(join(folder, 'none'), {} as never))).toMatch(
    /^CommandError: cannot read .+ \(ENOENT\)\./,
  )
})

test('queries name the tools that they mean', async () => {
  const query = { query: 'q', gold: ['a'] }
  expect(
    await read(readQueries, [
      ...[
        query,
        { ...query, id: 'own', acceptable: ['b'] },
        { gold: ['a'] },
        { query: 'q' },
        { ...query, gold: [] },
      ],
      ...[
        { ...query, gold: [5] },
        { ...query, acceptable: 'b' },
        { ...query, acceptable: [5] },
      ],
    ]),
  ).toMatchInlineSnapshot(`
    [
      "[{"query":"q","gold":["a"],"id":"1"},{"query":"q","gold":["a"],"id":"own","acceptable":["b"]}]",
      "/file:3: a query needs a "query"; the line is skipped.",
      "/file:4: "gold" must be a list of tool names; the line is skipped.",
      "/file:5: "gold" must be a list of tool names; the line is skipped.",
      "/file:6: "gold" must be a list of tool names; the line is skipped.",
      "/file:7: "acceptable" must be a list of tool names; the line is skipped.",
      "/file:8: "acceptable" must be a list of tool names; the line is skipped.",
    ]
  `)
})

test('the tools of servers are a catalogue', () => {
  const tools = [
    { name: 'a', description: 'A', inputSchema: { type: 'object' } },
    { name: 'b', inputSchema: {} },
  ]
  const config = { name: 's', tools: { a: { hint: 'h' } } }
  expect(catalogueOf([{ config, tools }] as never)).toMatchInlineSnapshot(`
    "{"name":"a","server":"s","description":"A","input_schema":{"type":"object"},"searchHint":"h"}
    {"name":"b","server":"s","input_schema":{}}
    "
  `)
})

test('rankers and limits', async () => {
  expect(readRanker('bm25')).toBe(rankers.bm25)
  expect(await outcomeOf(() => readRanker('toString'))).toContain('UsageError: unknown ranker "toString"')
  const limits = [undefined, '1', '7', '0', '1.5', '-1', 'x', ''].map((text) =>
    outcomeOf(() => readLimit(text, 5)),
  )
  expect((await Promise.all(limits)).map((limit) => (typeof limit === 'number' ? limit : 'refused'))).toEqual(
    [...[5, 1, 7, 'refused', 'refused', 'refused', 'refused', 'refused']],
  )
})

test('progress is shown at once, then at intervals, with what is left', () => {
  const show = (isInteractive: boolean, reports: readonly [at: number, done: number][]) => {
    const told: string[] = []
    let at = 0
    const progress = createEncoderProgress(
      { print: () => {}, report: (text) => void told.push(text), isInteractive },
      () => at,
    )
    for (const [now, done] of reports) {
      at = now
      progress.report(done, 1000)
    }
    progress.finish()
    return told.map((line) => line.replaceAll('\u001b', 'ESC'))
  }
  const { TERM } = process.env
  process.env.TERM = 'xterm'
  const reports: [number, number][] = [
    [0, 100],
    [249, 101],
    [250, 200],
    [10_000, 600],
    [20_000, 601],
    [30_000, 1000],
  ]
  const [interactive, plain, none] = [show(true, reports), show(false, reports), show(true, [])]
  if (TERM === undefined) delete process.env.TERM
  else process.env.TERM = TERM
  expect([
    interactive,
    plain,
    none,
    show(false, [
      [0, 0],
      [100_000, 500],
      [180_000, 501],
    ]),
  ]).toMatchInlineSnapshot(`
    [
      [
        "The encoder has read 100 of 1000 tools.",
        "ESC[1AESC[2KThe encoder has read 200 of 1000 tools, about 2 s left.",
        "ESC[1AESC[2KThe encoder has read 600 of 1000 tools, about 8 s left.",
        "ESC[1AESC[2KThe encoder has read 601 of 1000 tools, about 16 s left.",
        "ESC[1AESC[2KThe encoder has read 1000 of 1000 tools.",
        "ESC[1AESC[2K",
      ],
      [
        "The encoder has read 100 of 1000 tools.",
        "The encoder has read 600 of 1000 tools, about 8 s left.",
        "The encoder has read 601 of 1000 tools, about 16 s left.",
        "The encoder has read 1000 of 1000 tools.",
      ],
      [],
      [
        "The encoder has read 0 of 1000 tools.",
        "The encoder has read 500 of 1000 tools, about 2 min left.",
        "The encoder has read 501 of 1000 tools, about 3 min left.",
      ],
    ]
  `)
})

/** The address of a server with these tools; without any it refuses its clients. `starts` has their names. */
function serverWith(tools: readonly string[] | undefined, starts: string[] = []): string {
  return serveHere(() => ({
    initialize: (params) => {
      starts.push(`${params.clientInfo.name} ${params.clientInfo.version}`)
      if (!tools) throw new Error('not today')
      return initialized(params)
    },
    'tools/list': () => ({ tools: tools?.map((name) => tool(name)) }),
  }))
}

/** Runs something in a home of its own, with a terminal → its outcome, and what was reported. */
async function atHome(
  home: string,
  work: (terminal: Parameters<typeof listServerTools>[2]) => Promise<unknown>,
) {
  const told: string[] = []
  const leave = enter(home, { HOME: home, XDG_CACHE_HOME: join(home, 'cache') })
  try {
    const report = (text: string) =>
      void told.push(text.replaceAll(home, '').replaceAll(/127\.0\.0\.1:\d+/g, 'HOST'))
    const outcome = await outcomeOf(() => work({ print: () => {}, report, isInteractive: false }))
    return [typeof outcome === 'string' ? outcome.replaceAll(home, '') : outcome, told]
  } finally {
    leave()
  }
}

test('the tools of a configuration are listed, and servers that cannot be are reported', async () => {
  const home = mkdtempSync(join(folder, 'home-'))
  const config = (name: string, content: unknown) => {
    const file = join(home, name)
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  }
  const starts: string[] = []
  const entry = (tools: readonly string[] | undefined, more = {}) => ({
    url: serverWith(tools, starts),
    ...more,
  })
  const list = (files: readonly string[] | undefined, timeout?: number) =>
    atHome(home, async (terminal) => {
      const tools = await listServerTools(files, timeout, terminal)
      return tools.map(({ name, server }) => `${server} ${name}`).join()
    })
  const good = { good: entry(['open']) }
  const off = { off: entry(['x'], { disabled: true }) }
  const mixed = { ...good, ...off, bad: entry(undefined), wrong: { command: 5 } }
  const late = { url: serveHere(() => ({ initialize: () => new Promise(() => {}) })) }
  mkdirSync(join(home, '.config/toolshelf'), { recursive: true })
  config('.config/toolshelf/toolshelf.json', { mcpServers: good })
  expect([
    await list(undefined),
    await list([config('mixed.json', { mcpServers: mixed })]),
    await list([config('off.json', { mcpServers: off })]),
    await list([config('empty.json', { mcpServers: {} })]),
    await list([config('broken.json', '{')]),
  ]).toMatchInlineSnapshot(`
    [
      [
        "good open",
        [],
      ],
      [
        "good open",
        [
          "/mixed.json, server "wrong": "command" must be a text; the server is left out.",
          "Not searched: bad: HOST: not today",
        ],
      ],
      [
        "CommandError: no server lists any tools. Run "toolshelf doctor" to see their state.",
        [],
      ],
      [
        "CommandError: no MCP server is configured in /empty.json. Pass a configuration with --config or a file of tools with --catalog, or run "toolshelf connect --apply" to take over the servers of your clients, or "toolshelf add" to add one.",
        [],
      ],
      [
        "CommandError: no MCP server is configured in /broken.json. Pass a configuration with --config or a file of tools with --catalog, or run "toolshelf connect --apply" to take over the servers of your clients, or "toolshelf add" to add one.",
        [
          "/broken.json: it is not valid JSON: line 1, column 2: a name in double quotes, or }, is missing.",
        ],
      ],
    ]
  `)
  expect(starts[0]).toBe(`toolshelf ${version()}`)
  const [, told] = await list([config('late.json', { mcpServers: { late } })], 5)
  expect(String(told)).toMatch(/^Not searched: late: .+ 0\.005 s/)
})

test('progress ends with the work, whether it fails or not', async () => {
  const run = async (work: (report: (done: number, total: number) => void) => Promise<unknown>) => {
    const told: string[] = []
    const leave = enter(folder, { TERM: 'xterm' })
    const terminal = { print: () => {}, report: (text: string) => void told.push(text), isInteractive: true }
    const outcome = await outcomeOf(() => withEncoderProgress(terminal, work))
    leave()
    return [outcome, told.map((line) => line.replaceAll('\u001b', 'ESC'))]
  }
  const line = 'The encoder has read 1 of 2 tools.'
  expect([
    await run(async (report) => report(1, 2)),
    await run(async (report) => {
      report(1, 2)
      throw new Error('no')
    }),
  ]).toEqual([
    [undefined, [line, 'ESC[1AESC[2K']],
    ['Error: no', [line, 'ESC[1AESC[2K']],
  ])
})
