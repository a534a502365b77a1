// The demo's ledger and its lines, with a model and servers of this process.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DemoEvent, DemoOptions, Ledger } from '../../src/cli/demo/index.ts'
import { demoConfig, heading, plainLines, playDemo } from '../../src/cli/demo/index.ts'
import { prices } from '../../src/core/figures/index.ts'
import { saying } from '../agent/support.ts'
import { serveHere, text } from '../mcp/support/server-here.ts'
import { outcomeOf } from './support/input.ts'

const usage = (input: number, cached = 0) => ({
  usage: { input_tokens: input, cache_read_input_tokens: cached, output_tokens: 10 },
})
const say = (said: string) => ({ content: [{ type: 'text', text: said }], ...usage(2000, 500) })
const call = (name: string, input: object, id = name) => ({
  content: [
    { type: 'text', text: 'I look.\nAnd look.' },
    { type: 'tool_use', id: `toolu_${id}`, name, input },
  ],
  stop_reason: 'tool_use',
  ...usage(1000),
})

/** Servers with a tool that writes, one that reads a log, and many others. */
function configIn(): { mcpServers: object } {
  const described = (name: string, description: string) => ({
    ...{ name, description, inputSchema: { type: 'object', properties: {} } },
  })
  const server = (tools: readonly object[]) => ({
    url: serveHere(() => ({
      'tools/list': () => ({ tools }),
      'tools/call': ({ name, arguments: { path } }) =>
        name === 'read_text_file'
          ? text(readFileSync(path, 'utf8'))
          : name === 'get-sum'
            ? { content: [{ type: 'text', text: 'no' }], isError: true }
            : text('done'),
    })),
  })
  const many = Array.from({ length: 20 }, (_, index) =>
    described(`routine_${index}`, `Routine ${index}. `.repeat(20)),
  )
  return {
    mcpServers: {
      filesystem: server([
        described('write_file', 'Write a file'),
        described('read_text_file', 'Read a text file'),
        ...many,
      ]),
      everything: server([described('get-sum', 'Add two numbers')]),
    },
  }
}

async function played(given: Partial<DemoOptions>, isScript = false, replies = conversation()) {
  const { client } = saying(...replies)
  const live = { client, model: 'claude-sonnet-5-5', about: '', isScript, close: async () => {} }
  const events: DemoEvent[] = []
  const lines: string[] = []
  const options = {
    ...{
      configIn,
      live: live as never,
      prices,
      pricedAs: 'claude-haiku-5-5',
      signal: new AbortController().signal,
    },
    ...given,
  }
  for await (const event of playDemo(options)) {
    events.push(event)
    lines.push(...plainLines(event, isScript ? undefined : 'm'))
  }
  return { events, lines }
}

const conversation = () => [
  call('ToolSearch', { query: 'write file' }, 'a'),
  call('mcp__filesystem__write_file', {}, 'b'),
  call('mcp__filesystem__write_file', {}, 'c'),
  say("Done.\n\n(Toolshelf's offline script, not a model)"),
  call('ToolSearch', { query: 'zzz' }, 'd'),
  say('Nothing (found) (Toolshelf'),
  call('mcp__everything__get-sum', {}, 'e'),
  say(''),
  say('The end.'),
]

const figures = {
  ...{ rounds: 3, extraRoundTrips: 0, tokensWithout: 4000, tokensWith: 1000, tokensSaved: 3000, searches: 1 },
  ...{ prefixKept: 2, savedShare: 75, tools: 50, definitionTokens: 12_345 },
}
const turn = { prompt: 'p', loaded: [], preloaded: [], called: [], ...figures }
const ledgerOf = (turns: readonly object[], total: object = {}): Ledger =>
  ({ turns, total: () => ({ ...figures, ...total }) }) as unknown as Ledger

test('figures are drawn as bars, with words in the singular and plural', () => {
  const show = (ledger: Ledger, longResult?: object) => [
    ...plainLines({ type: 'turn', ledger }, undefined),
    ...plainLines({ type: 'done', ledger, longResult: longResult as never }, undefined),
  ]
  const turns = [
    turn,
    { ...turn, tokensWithout: 1, tokensWith: 0, extraRoundTrips: 1 },
    { ...turn, tokensWithout: 2000, tokensWith: 10, extraRoundTrips: 2 },
  ]
  const priced = { dollarsWithout: 1.5, dollarsWith: 0.25, pricedAs: 'm', pricesOf: '2026-01-02' }
  expect(
    [
      show(ledgerOf([])),
      show(ledgerOf(turns, { searches: 2, extraRoundTrips: 3, ...priced }), {
        ...{ characters: 150_000, tokensWithout: 40_000, tokensWith: 900 },
      }),
      ...['dollarsWithout', 'dollarsWith', 'pricedAs'].map((left) =>
        show(ledgerOf([], { ...priced, [left]: undefined })).filter((line) => line.includes('money')),
      ),
      plainLines({ type: 'servers', isSettled: false, servers: [] }, undefined),
      plainLines(
        {
          ...{ type: 'servers', isSettled: true },
          servers: [
            { name: 'a', tools: 3, state: 'connected' },
            { name: 'b', tools: 2, state: 'failed' },
          ],
        },
        'model',
      ),
      plainLines({ type: 'prompt', text: 'p' }, undefined),
      [heading(undefined)],
    ]
      .map((lines) => lines.join('\n'))
      .join('\n---\n'),
  ).toMatchInlineSnapshot(`
    "

    Input tokens of all requests of a turn, searches included.
    Without Toolshelf each holds all 50 tools: about 12,345 tokens.
      total   4,000 without, 1,000 with: 75 % saved
      1 search; cached prefix kept in 2 of 3 requests

    With your own servers:
      toolshelf doctor          what they cost
      toolshelf connect --apply  all of them behind one, in your MCP clients
      toolshelf chat            an agent that uses them
    ---
      input: 2,000 tokens without Toolshelf, 10 with it, 2 extra round trips

    Input tokens of all requests of a turn, searches included.
    Without Toolshelf each holds all 50 tools: about 12,345 tokens.
      turn 1  without ████████████████████████████████████████ 4,000
              with    ██████████                               1,000
      turn 2  without █                                        1
              with                                             0
      turn 3  without ████████████████████                     2,000
              with    █                                        10
      total   4,000 without, 1,000 with: 75 % saved
      money   $1.50 without, $0.250 with: m with prompt caching, prices of 2026-01-02
      2 searches, 3 extra round trips; cached prefix kept in 2 of 3 requests
      results 40,000 without, 900 with: a log of 150,000 characters

    With your own servers:
      toolshelf doctor          what they cost
      toolshelf connect --apply  all of them behind one, in your MCP clients
      toolshelf chat            an agent that uses them
    ---

    ---

    ---

    ---

    ---
    Toolshelf demo: real MCP servers, real calls, a real model (model).
    Servers: a 3, b failed (tools)
    ---

    > p
    ---
    Toolshelf demo: real MCP servers and real calls; a script speaks in place of a model."
  `)
})

/** What a turn has that does not depend on the length of the folder's name. */
const steadyOf = ({ loaded, preloaded, called, ...turn }: Ledger['turns'][number]) =>
  [
    ...[`loaded ${loaded}`, `preloaded ${preloaded}`, `called ${called}`],
    `${turn.searches} searches, ${turn.prefixKept} kept, ${turn.rounds} rounds, ${turn.tokensWith} tokens`,
  ].join('; ')

test.each([
  ['a model', false],
  ['a script', true],
])('the ledger of %s has what each turn loaded, called and cost', async (_, isScript) => {
  const { events, lines } = await played({}, isScript)
  const done = events.at(-1)
  if (done?.type !== 'done') throw new Error('it is not done')
  const said = lines.filter((line) =>
    /^(?: {2}(?:I|load|call|search|Done|Nothing|The|\()|>|Tool|Serv)/.test(line),
  )
  expect([said[0]?.includes('script'), ...said.slice(1)]).toEqual([
    isScript,
    'Servers: filesystem 22, everything 1 (tools)',
    '> Write down in notes.md: the launch is on Friday, Ada leads it.',
    '  I look.',
    '  search "write file" → mcp__filesystem__write_file, mcp__filesystem__read_text_file',
    ...['  I look.', '  call   mcp__filesystem__write_file'],
    ...['  I look.', '  call   mcp__filesystem__write_file', '  Done.'],
    '> Remember that Ada leads the launch, for all later sessions.',
    ...['  I look.', '  search "zzz" → nothing', '  Nothing (found)'],
    '> Ask get-sum: the budget has 1250 for the venue and 380 for food. What is the sum?',
    '  load   mcp__everything__get-sum, because the message names it',
    ...['  I look.', '  call   mcp__everything__get-sum (failed)'],
    '> What do the notes say, and what do you remember about Ada?',
    '  The end.',
  ])
  const { turns } = done.ledger
  expect(turns.map(steadyOf)).toEqual([
    'loaded mcp__filesystem__write_file,mcp__filesystem__read_text_file; preloaded ; called mcp__filesystem__write_file; 1 searches, 4 kept, 4 rounds, 5500 tokens',
    'loaded ; preloaded ; called ; 1 searches, 2 kept, 2 rounds, 3500 tokens',
    'loaded mcp__everything__get-sum; preloaded mcp__everything__get-sum; called mcp__everything__get-sum; 0 searches, 2 kept, 2 rounds, 3500 tokens',
    'loaded ; preloaded ; called ; 0 searches, 1 kept, 1 rounds, 2500 tokens',
  ])
  const total = done.ledger.total()
  expect(total).toMatchObject({
    ...{ searches: 2, prefixKept: 9, rounds: 9, extraRoundTrips: 2, tools: 23, definitionTokens: 2433 },
    pricedAs: isScript ? 'claude-haiku-5-5' : 'claude-sonnet-5-5',
    pricesOf: prices.date,
    tokensWithout: turns.reduce((sum, { tokensWithout }) => sum + tokensWithout, 0),
    tokensSaved: total.tokensWithout - 15_000,
    savedShare: Math.round((1000 * total.tokensSaved) / total.tokensWithout) / 10,
  })
  expect(total.tokensWithout).toBeGreaterThan(25_000)
  // A script counts as if a prompt cache kept the last request.
  const share = (total.dollarsWith ?? 0) / (total.dollarsWithout ?? 1)
  expect(share).toBeGreaterThan(isScript ? 0.4 : 0.8)
  expect(share).toBeLessThan(isScript ? 0.65 : 1)
  expect(done.longResult).toEqual({ characters: 104_911, tokensWithout: 36_177, tokensWith: 1396 })
})

test('it ends where the model fails, and without a word where it is interrupted', async () => {
  const failing = {
    messages: { create: () => Promise.reject(Object.assign(new Error('no'), { status: 400 })) },
  }
  const live = { client: failing, model: 'm', about: '', isScript: false, close: async () => {} }
  expect(await outcomeOf(() => played({ live: live as never }))).toMatch(
    /^CommandError: the demo's agent ended \(failed\): .*no/,
  )
  const { events } = await played({ signal: AbortSignal.abort() })
  expect([...new Set(events.map(({ type }) => type))]).toEqual(['servers'])
})

test('the servers write into one folder, and have keys that open nothing', () => {
  const config = JSON.stringify(demoConfig('/packages', '/folder'), undefined, 1)
  expect(config.replaceAll(JSON.stringify(process.execPath), '"node"')).toMatchInlineSnapshot(`
    "{
     "mcpServers": {
      "filesystem": {
       "command": "node",
       "args": [
        "/packages/@modelcontextprotocol/server-filesystem/dist/index.js",
        "/folder"
       ],
       "env": {
        "HOME": "/folder",
        "USERPROFILE": "/folder"
       },
       "cwd": "/folder"
      },
      "memory": {
       "command": "node",
       "args": [
        "/packages/@modelcontextprotocol/server-memory/dist/index.js"
       ],
       "env": {
        "HOME": "/folder",
        "USERPROFILE": "/folder",
        "MEMORY_FILE_PATH": "/folder/memory.jsonl"
       },
       "cwd": "/folder"
      },
      "everything": {
       "command": "node",
       "args": [
        "/packages/@modelcontextprotocol/server-everything/dist/index.js"
       ],
       "env": {
        "HOME": "/folder",
        "USERPROFILE": "/folder"
       },
       "cwd": "/folder"
      },
      "github": {
       "command": "node",
       "args": [
        "/packages/@modelcontextprotocol/server-github/dist/index.js"
       ],
       "env": {
        "HOME": "/folder",
        "USERPROFILE": "/folder",
        "GITHUB_PERSONAL_ACCESS_TOKEN": "none"
       },
       "cwd": "/folder"
      },
      "notion": {
       "command": "node",
       "args": [
        "/packages/@notionhq/notion-mcp-server/bin/cli.mjs"
       ],
       "env": {
        "HOME": "/folder",
        "USERPROFILE": "/folder",
        "NOTION_TOKEN": "none"
       },
       "cwd": "/folder"
      },
      "trello": {
       "command": "node",
       "args": [
        "/packages/@delorenj/mcp-server-trello/build/index.js"
       ],
       "env": {
        "HOME": "/folder",
        "USERPROFILE": "/folder",
        "TRELLO_API_KEY": "none",
        "TRELLO_TOKEN": "none"
       },
       "cwd": "/folder"
      }
     }
    }"
  `)
})

test('a server that does not connect is reported, since the figures are without its tools', async () => {
  const reports: string[] = []
  const broken = { command: 'no-such-program' }
  const withBroken = () => ({ mcpServers: { ...configIn().mcpServers, broken } })
  const { events } = await played({ configIn: withBroken, notify: (message) => reports.push(message) })
  expect(reports).toEqual([
    '"broken" is not connected (the command "no-such-program" was not found; install it, or write its full path): the figures are without its tools.',
  ])
  expect(events.at(-1)?.type).toBe('done')
})
