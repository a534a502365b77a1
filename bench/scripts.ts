// Measures three tasks over real servers behind the MCP gateway, in plain calls, in batches and in scripts: tokens, requests of the
// model, and time in the gateway. Then what a sandbox costs to start, and in memory.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { createShelf } from '../packages/core/src/index.ts'
import { estimateTokens } from '../packages/core/src/tokens.ts'
import {
  createMcpGateway,
  createMcpHost,
  gatewayShelfOptions,
  readConfig,
} from '../packages/mcp/src/index.ts'
import { createScriptRunner } from '../packages/scripts/src/runner.ts'
import { median, report, table } from './report.ts'

type Call = { readonly name: string; readonly arguments: { readonly [name: string]: unknown } }
type Output = { readonly content: readonly { readonly text?: string }[]; readonly isError?: boolean }
type Cost = { requests: number; context: number; read: number; milliseconds: number }

const root = fileURLToPath(new URL('../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
const FILES = Array.from({ length: 20 }, (_, index) => join(folder, `part-${index + 1}.csv`))
for (const [index, file] of FILES.entries())
  writeFileSync(
    file,
    Array.from({ length: 30 }, (_, row) => `${index},${row},${(index * 31 + row) % 17}`).join('\n'),
  )
const sums = Object.fromEntries(
  FILES.map((_, index) => [
    index,
    Array.from({ length: 30 }, (_row, row) => (index * 31 + row) % 17).reduce((sum, value) => sum + value, 0),
  ]),
)
const config = join(folder, 'servers.json')
const node = (...args: string[]) => ({ command: process.execPath, args })
writeFileSync(
  config,
  JSON.stringify({
    mcpServers: {
      issues: node(join(root, 'bench/servers/issues.mjs')),
      files: node(join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js'), folder),
      memory: node(join(root, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js')),
    },
  }),
)

const { client, tools, close } = await open()

/** Sends calls as a model would, and counts what it reads: every request has the definitions and all that came before. */
function conversation() {
  const cost: Cost = { requests: 0, context: 0, read: 0, milliseconds: 0 }
  const seen = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
  const base = estimateTokens(JSON.stringify(seen))
  return {
    cost,
    async request(...calls: Call[]): Promise<string[]> {
      cost.requests++
      cost.read += base + cost.context
      const started = performance.now()
      const outputs = (await Promise.all(calls.map((call) => client.callTool(call)))) as unknown as Output[]
      cost.milliseconds += performance.now() - started
      cost.context +=
        estimateTokens(JSON.stringify(calls)) +
        estimateTokens(JSON.stringify(outputs.map(({ content }) => content)))
      return outputs.map(({ content, isError }) => {
        const text = content.map((block) => block.text ?? '').join('\n')
        if (isError) throw new Error(text)
        return text
      })
    },
    end(): Cost {
      cost.read += base + cost.context
      cost.requests++
      return cost
    },
  }
}

const through = (name: string, input: object): Call => ({
  name: 'CallTool',
  arguments: { name, arguments: input },
})
const batch = (...calls: { name: string; arguments: object }[]): Call => ({
  name: 'CallTools',
  arguments: { calls },
})
const script = (source: string): Call => ({ name: 'RunScript', arguments: { script: source } })
const readFile = (path: string) => ({ name: 'files__read_text_file', arguments: { path } })
const search = (cursor?: string) => ({ query: 'rows', ...(cursor === undefined ? {} : { cursor }) })

type Talk = ReturnType<typeof conversation>
type Way = (talk: Talk) => Promise<unknown>

async function pages(talk: Talk, wrap: (cursor?: string) => Call): Promise<number> {
  let [count, cursor] = [0, undefined as string | undefined]
  do {
    const [text = ''] = await talk.request(wrap(cursor))
    const page = JSON.parse(text.slice(text.indexOf('{'))) as { items: unknown[]; cursor?: string }
    count += page.items.length
    cursor = page.cursor
  } while (cursor !== undefined)
  return count
}

const tasks: readonly {
  readonly task: string
  readonly expected: string
  readonly ways: { readonly [way: string]: Way }
}[] = [
  {
    task: 'list 50 issues, count labels',
    expected: '{"bug":20,"docs":20,"feature":20,"question":20,"performance":20}',
    ways: {
      'plain calls': (talk) => talk.request(through('issues__list_issues', {})),
      script: (talk) =>
        talk.request(
          script(
            'const n = {}; for (const { labels } of await tools.issues.list_issues({})) for (const label of labels) n[label] = (n[label] ?? 0) + 1; return n',
          ),
        ),
    },
  },
  {
    task: 'read 20 files, join by a column',
    expected: JSON.stringify(sums),
    ways: {
      'plain calls, one a request': async (talk) => {
        for (const path of FILES) await talk.request(through('files__read_text_file', { path }))
      },
      'plain calls, all in one request': (talk) =>
        talk.request(...FILES.map((path) => through('files__read_text_file', { path }))),
      batch: (talk) => talk.request(batch(...FILES.map(readFile))),
      script: (talk) =>
        talk.request(
          script(
            `const names = Array.from({ length: 20 }, (_, i) => "${folder}/part-" + (i + 1) + ".csv"); const sums = {}; for (const text of await Promise.all(names.map((path) => tools.files.read_text_file({ path })))) for (const line of text.split("\\n")) { const [file, , value] = line.split(","); sums[file] = (sums[file] ?? 0) + Number(value) } return sums`,
          ),
        ),
    },
  },
  {
    task: 'page through 10 pages, count',
    expected: '50',
    ways: {
      'plain calls': (talk) => pages(talk, (cursor) => through('issues__search_issues', search(cursor))),
      'batch (of one: each page needs the last)': (talk) =>
        pages(talk, (cursor) => batch({ name: 'issues__search_issues', arguments: search(cursor) })),
      script: (talk) =>
        talk.request(
          script(
            'let n = 0, cursor; do { const page = await tools.issues.search_issues(cursor ? { query: "rows", cursor } : { query: "rows" }); n += page.items.length; cursor = page.cursor } while (cursor); return n',
          ),
        ),
    },
  },
]

const number = (value: number) => Math.round(value).toLocaleString('en-US')
const rows: (string | number)[][] = []
for (const { task, expected, ways } of tasks)
  for (const [way, run] of Object.entries(ways)) {
    const talk = conversation()
    const answer = await run(talk)
    if (way === 'script' && String(answer) !== expected) throw new Error(`${task}: ${answer}`)
    const { requests, context, read, milliseconds } = talk.end()
    rows.push([task, way, requests, number(context), number(read), number(milliseconds)])
  }
await close()
rmSync(folder, { recursive: true, force: true })

const definitions = Object.fromEntries(
  tools.map(({ name, description, inputSchema }) => [
    name,
    estimateTokens(JSON.stringify({ name, description, inputSchema })),
  ]),
)
report('Batches and scripts', 'npm run bench scripts', [
  'Three real servers behind the gateway in `bridge` mode (filesystem, memory, and an issue tracker over the official SDK). "Context": tokens of calls and results, by the core\'s estimate. "Read": all that the model reads over all its requests, the last one for its answer included, without a prompt cache. "ms": time in the gateway and the servers, without the model.',
  '',
  ...table(['task', 'way', 'requests', 'context', 'read', 'ms'], rows),
  '',
  `The definition of CallTools takes ${definitions.CallTools} tokens, that of RunScript ${definitions.RunScript}.`,
  '',
  ...(await sandboxLines()),
])

async function open() {
  const shelf = createShelf({ ...gatewayShelfOptions, environment: {}, notify: () => {} })
  const { servers } = await readConfig([config])
  const gateway = createMcpGateway({
    shelf,
    mode: 'bridge',
    results: {},
    batches: true,
    scripts: true,
    makeHost: (questionHandler) =>
      createMcpHost({ shelf, servers, questionHandler, cacheFolder: false, trustsAnnotations: () => true }),
  })
  const [near, far] = InMemoryTransport.createLinkedPair()
  await gateway.serve({ isStateless: false }).connect(near as never)
  const connected = new Client({ name: 'bench', version: '1.0.0' })
  await connected.connect(far)
  await gateway.host.settled({ timeoutMs: 60_000 })
  const listed = await connected.listTools()
  return { client: connected, tools: listed.tools, close: () => gateway.close() }
}

/** Start and memory of a sandbox. CPU time, because the clock says more about the machine's load. */
async function sandboxLines(): Promise<string[]> {
  const runner = createScriptRunner()
  const measure = async (source: string) => {
    const [before, started] = [process.cpuUsage(), performance.now()]
    await runner.run(source, async () => null)
    const { user, system } = process.cpuUsage(before)
    return { cpu: (user + system) / 1000, wall: performance.now() - started }
  }
  const first = await measure('return 1')
  const later = []
  for (let count = 0; count < 20; count++) later.push(await measure('return 1'))
  const calls = await measure('for (let i = 0; i < 100; i++) await tools.a.b({ i }); return 1')
  const resident = () => process.memoryUsage().rss / 1e6
  const memory = { before: resident(), held: 0 }
  const hold = async () => {
    memory.held = Math.max(memory.held, resident())
    return null
  }
  await runner.run('return await tools.a.b({})', hold)
  const one = memory.held - memory.before
  const full = { before: resident(), held: 0 }
  await runner.run(
    'const a = []; try { for (;;) a.push(new Uint8Array(1e6).fill(1)) } catch {} await tools.a.b({}); return a.length',
    async () => {
      full.held = resident()
      return null
    },
  )
  return table(
    ['of a script', 'CPU ms', 'ms'],
    [
      ['the first of a process (compiles QuickJS)', number(first.cpu), number(first.wall)],
      [
        'each later one, median of 20',
        number(median(later.map(({ cpu }) => cpu))),
        number(median(later.map(({ wall }) => wall))),
      ],
      ['100 calls one after another', number(calls.cpu), number(calls.wall)],
    ],
  ).concat(
    '',
    `Resident memory while a script waits for a call: ${number(one)} MB more; while one holds all that it may (64 MB): ${number(full.held - full.before)} MB more.`,
  )
}
