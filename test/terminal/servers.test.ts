// A chat with MCP servers: six of them in one conversation, some real, and one that is killed in the middle.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { serveHere, text } from '../mcp/support/server-here.ts'
import { newPlace, openHere, type Place, serverScript } from './support.ts'

/** A server with one tool in this process, in place of a real one, unless there is time for that. */
function lightOr(real: object, name: string, description: string): object {
  return isThorough ? real : light(name, description)
}

function light(name: string, description: string): object {
  const tools = [{ name, description, inputSchema: { type: 'object', properties: {} } }]
  return { url: serveHere(() => ({ 'tools/list': () => ({ tools }), 'tools/call': () => text('5') })) }
}

/** With the ids of their processes, as the servers' own wrapper notes them. */
function servers(place: Place): object {
  const wrapper = place.file(
    'wrapper.mjs',
    "import { appendFileSync } from 'node:fs'\nappendFileSync(process.argv[2], process.pid + '\\n')\nprocess.argv.splice(1, 2)\nawait import(process.argv[1])\n",
  )
  const server = (name: string, script: string, words: readonly string[] = [], env: object = {}) => ({
    command: process.execPath,
    args: [wrapper, join(place.folder, `${name}.pid`), serverScript(script), ...words],
    env,
  })
  const official = '@modelcontextprotocol/server-'
  return {
    filesystem: server('filesystem', `${official}filesystem/dist/index.js`, [place.folder]),
    archive: lightOr(
      server('archive', `${official}filesystem/dist/index.js`, [join(place.folder, 'home')]),
      ...(['list_allowed_directories', 'Returns the directories that it may access.'] as const),
    ),
    memory: server('memory', `${official}memory/dist/index.js`, [], {
      MEMORY_FILE_PATH: join(place.folder, 'memory.jsonl'),
    }),
    everything: lightOr(
      server('everything', `${official}everything/dist/index.js`),
      ...(['get-sum', 'Returns the sum of two numbers.'] as const),
    ),
    thinking: light('sequentialthinking', 'Solves problems by sequential thinking.'),
    github: lightOr(
      server('github', `${official}github/dist/index.js`, [], { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' }),
      ...(['search_code', 'Search for code across GitHub repositories.'] as const),
    ),
    broken: { command: 'no-such-program' },
  }
}

const thought = { thought: 'so', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }

function rules(folder: string): object[] {
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['leads'] }]
  const path = join(folder, 'notes.txt')
  return [
    {
      when: 'use them all',
      do: [
        { call: 'mcp__filesystem__write_file', input: { path, content: 'written' }, search: 'write file' },
        { call: 'mcp__memory__create_entities', input: { entities }, search: 'create entities memory' },
        { call: 'mcp__everything__get-sum', input: { a: 2, b: 3 }, search: 'sum of two numbers' },
        { call: 'mcp__thinking__sequentialthinking', input: thought, search: 'sequential thinking' },
        { call: 'mcp__archive__list_allowed_directories', input: {}, search: 'archive allowed directories' },
        { search: 'github search code' },
        { say: 'All were used.' },
      ],
    },
    {
      when: 'recall',
      do: [
        { call: 'mcp__memory__read_graph', input: {}, search: 'read graph memory' },
        { say: 'Recalled: {{result}}' },
      ],
    },
  ]
}

describe('servers of a chat', () => {
  it('six servers in one conversation, one killed in the middle and back again', async () => {
    const place = newPlace()
    const script = place.file('script.json', { rules: rules(place.folder), otherwise: 'I heard: {{user}}' })
    const config = place.file('mcp.json', { mcpServers: servers(place) })
    const words = ['chat', '--script', script, '--config', config, '--allow', 'mcp__*']
    const screen = openHere(place, words, { columns: 120, rows: 60 })
    const welcome = await screen.shows(/Servers +(\w+ \d+,\s+){5}\w+ \d+ \(tools\)/)
    expect(welcome.match(/broken failed/g)).toHaveLength(1)
    expect(welcome).toMatch(/the command "no-such-program" was not found/)
    await screen.enter('use them all')
    const used = await screen.shows(/All were used\..*\d out/s)
    expect(used.match(/● mcp__(filesystem|memory|everything|thinking|archive)__/g)).toHaveLength(5)
    expect(used).not.toContain('✗')
    expect(readFileSync(join(place.folder, 'notes.txt'), 'utf8')).toBe('written')

    const memory = () => readFileSync(join(place.folder, 'memory.pid'), 'utf8').trim().split('\n').map(Number)
    process.kill(memory()[0] as number, 'SIGKILL')
    await screen.shows(/memory disconnected/)
    await screen.enter('hello')
    await screen.shows('I heard: hello')
    await screen.shows('memory is back')
    expect(memory().length).toBeGreaterThan(1)
    await screen.enter('recall')
    await screen.shows(/Recalled: .*Ada/s)
    await screen.enter('/tools')
    const tools = await screen.shows(/Failed +broken/)
    expect(tools).toMatch(/Pending +none/)
    expect(tools).toMatch(/Loaded .*mcp__github__search_code/s)
  })

  it('/tools shows a server that has not answered yet', async () => {
    const place = newPlace()
    const server = place.file('silent.mjs', 'process.stdin.resume()')
    const config = place.file('mcp.json', { mcpServers: { silent: { command: 'node', args: [server] } } })
    const script = place.file('script.json', { rules: [{ do: [{ say: 'I heard: {{user}}' }] }] })
    const screen = openHere(place, ['chat', '--script', script, '--config', config])
    await screen.shows('servers: 1 starting')
    await screen.enter('/tools')
    await screen.shows(/Pending +silent/)
    await screen.enter('hello')
    await screen.shows('I heard: hello')
  })

  it('reports a failure as soon as it is known, set apart, and a search says which server it waits for', async () => {
    const place = newPlace()
    const silent = place.file('silent.mjs', 'process.stdin.resume()')
    const late = place.file('late.mjs', 'setTimeout(() => process.exit(1), 3000)')
    const config = place.file('mcp.json', {
      mcpServers: {
        silent: { command: 'node', args: [silent] },
        late: { command: 'node', args: [late] },
      },
    })
    const script = place.file('script.json', { rules: [{ do: [{ say: 'I heard: {{user}}' }] }] })
    const screen = openHere(place, ['chat', '--script', script, '--config', config], { rows: 50 })
    await screen.shows('servers: 2 starting')
    await screen.enter('/search zyxwvut')
    await screen.shows(/searching; waiting for (silent|late)/)
    await screen.shows('still connecting: silent')
    await screen.hides('searching; waiting')
    const text = await screen.shows(/\n\n +late failed: the process ended/)
    expect(text.match(/late failed/g)).toHaveLength(1)
  })

  it('a call to a server that has disconnected fails with an explanation, and the turn continues', async () => {
    const place = newPlace()
    const server = place.file('once.mjs', DIES_AT_A_CALL)
    const config = place.file('mcp.json', { mcpServers: { fragile: { command: 'node', args: [server] } } })
    const script = place.file('script.json', {
      rules: [{ do: [{ call: 'mcp__fragile__fall', search: 'fall' }, { say: 'It says: {{result}}' }] }],
    })
    const screen = openHere(place, ['chat', '--script', script, '--config', config, '--allow', '*'], {
      rows: 40,
    })
    await screen.shows(/Servers +fragile 1/)
    await screen.enter('go')
    const text = await screen.shows(/It says: .*\d out/s)
    expect(text).toContain('✗ mcp__fragile__fall')
    expect(text).toMatch(/fragile disconnected/)
  })
})

const DIES_AT_A_CALL = `
import { createInterface } from 'node:readline'
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const tools = [{ name: 'fall', description: 'Falls over.', inputSchema: { type: 'object' } }]
const serverInfo = { name: 'fragile', version: '1' }
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } })
  else if (method === 'tools/list') send({ id, result: { tools } })
  else if (method === 'tools/call') process.exit(1)
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'no' } })
}
`
