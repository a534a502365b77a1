// `toolshelf doctor --html` without servers.
import { expect, test } from 'vitest'
import { doctorPage } from '../../src/cli/doctor/index.ts'
import { version } from '../../src/cli/version.ts'
import { makeReport } from '../../src/doctor/index.ts'
import type { PageSnapshot } from '../../src/inspector/index.ts'
import type { ListedTool, ServerConfig, ServerStatus } from '../../src/mcp/index.ts'
import { local } from '../mcp/support/servers.ts'

type Given = Omit<Partial<ServerStatus>, 'config'> & { readonly config?: Partial<ServerConfig> }

const transport = { kind: 'stdio', command: 'npx', args: [], env: {}, cwd: undefined } as const

/** A server that has connected, unless it is given otherwise. */
const statusOf = (name: string, { config, ...given }: Given) =>
  ({
    ...{ name, state: 'connected', tools: [], hidden: [], held: [], problems: [], pageTools: [], stderr: '' },
    ...{ isCached: false, isRemembered: false, hasListed: true, capabilities: {}, startMilliseconds: 250 },
    ...{ info: { name: 'software', version: '1.2' }, protocol: '2025-11-25', pid: 1 },
    config: { ...local(name, 'healthy'), transport, source: '/home/a/mcp.json', ...config },
    ...given,
  }) as ServerStatus

const tool = (name: string, description?: string): ListedTool =>
  ({
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { type: 'object' },
  }) as ListedTool
const good = tool('create_issue', 'Creates an issue in a repository.')

test('the page says what the doctor found, and lets nobody change anything', async () => {
  const page = async (statuses: readonly ServerStatus[], options: Parameters<typeof makeReport>[1] = {}) => {
    const written = await doctorPage(makeReport(statuses, options), {
      ...{ host: { status: () => statuses }, onChange: 'report', untrusted: [], next: 'toolshelf mcp' },
      ...{ time: new Date(0), page: { script: 'render()', style: 'a{}' } },
    })
    const [, json = ''] = /id="toolshelf-snapshot">(.*?)<\/script>/s.exec(written) ?? []
    return JSON.parse(json) as PageSnapshot
  }
  const many = Array.from({ length: 30 }, (_, index) => tool(`tool_${index}`, `t${index}`.padEnd(900, 'x')))
  const full = await page([
    statusOf('big', { tools: many }),
    statusOf('bad', { state: 'failed', reason: 'it ended' }),
  ])
  const { version: shownVersion, ...about } = full.about
  expect(shownVersion).toBe(version())
  expect({ ...full, about, tools: full.tools.length }).toMatchInlineSnapshot(`
    {
      "about": {
        "can": {
          "conversations": true,
          "manageServers": false,
          "saveHints": false,
          "search": false,
        },
        "rankers": [],
        "recording": {
          "advice": "toolshelf mcp --audit",
          "files": [],
          "isLive": false,
        },
        "source": "snapshot",
        "window": 200000,
      },
      "events": [],
      "findings": [
        {
          "details": [],
          "level": "error",
          "remedy": "Run the command by hand, or correct the entry in /home/a/mcp.json.",
          "server": "bad",
          "title": "did not connect: it ended",
        },
      ],
      "notes": [
        "About 10,130 tokens of tool definitions travel with every request: 5.1 % of a window of 200,000 tokens, before anyone has asked anything.",
        "Through toolshelf mcp it would be 485, with the library 541: 9,645 saved per request, until something is searched for.",
        "In 20 requests 144,615 tokens are saved, with 1 extra round trip.",
        "Saved in a request: 10,130 − 438 (ToolSearch and CallTool) − 47 (names of the servers) = 9,645. For 20 requests it is assumed that the model searches once, in the first one. The search (200 tokens) and the 5 tools that it loads (338 each, the average) stay in every later request, and the search needs one more request: an extra round trip, which carries the conversation (10,000 tokens) once more. The library also sends the names of all tools.",
        "Tokens are estimates: the characters of each definition as it is sent (name, description cut at 2,048 characters, input schema, as JSON) divided by 2.9. No tokenizer was used.",
        "Next: toolshelf mcp",
      ],
      "servers": [
        {
          "actions": [],
          "alwaysLoadedTokens": 0,
          "changes": [],
          "findings": [],
          "log": "",
          "name": "big",
          "problems": [],
          "reason": null,
          "software": "software 1.2",
          "source": "/home/a/mcp.json",
          "startMilliseconds": 250,
          "state": "connected",
          "tokens": 10130,
          "tools": 30,
          "transport": "stdio: npx",
        },
        {
          "actions": [],
          "alwaysLoadedTokens": 0,
          "changes": [],
          "findings": [],
          "log": "",
          "name": "bad",
          "problems": [],
          "reason": "it ended",
          "software": "software 1.2",
          "source": "/home/a/mcp.json",
          "startMilliseconds": 250,
          "state": "failed",
          "tokens": 0,
          "tools": 0,
          "transport": "stdio: npx",
        },
      ],
      "time": "1970-01-01T00:00:00.000Z",
      "tools": 30,
    }
  `)
  const none = await page([statusOf('empty', {})])
  const small = await page([statusOf('small', { tools: [good] })])
  expect([none.notes, none.findings, small.notes.map((note) => note.slice(0, 60))]).toMatchInlineSnapshot(`
    [
      [
        "No server lists any tools.",
        "Next: toolshelf mcp",
      ],
      [],
      [
        "About 41 tokens of tool definitions travel with every reques",
        "Through toolshelf mcp it would be 483, with the library 367:",
        "In 20 requests −24,143 tokens are saved, with 1 extra round ",
        "Saved in a request: 41 − 437 (ToolSearch and CallTool) − 46 ",
        "Tokens are estimates: the characters of each definition as i",
        "Next: toolshelf mcp",
      ],
    ]
  `)
})
