// MCP Inspector's command line against the gateway: each run connects anew, asks one thing and prints the answer, which takes a
// second of CPU time.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gatewayCommand, type HttpGateway, makeHome, run, startHttpGateway } from './gateway.ts'
import { AGENTS, prepareClients } from './install.ts'
import { expectRecorded, recordedCommand, recordHttp } from './mcp-sent.ts'

const inspector = '@modelcontextprotocol/inspector/clients/launcher/build/index.js'
const clients = await prepareClients([inspector], AGENTS)
const home = makeHome()
let http: HttpGateway
let recorder: Awaited<ReturnType<typeof recordHttp>>

async function inspect(...words: readonly string[]) {
  const args = [clients.file(inspector), '--cli', ...words]
  const { out, told } = await run(clients.node, args, { cwd: home.folder, env: home.environment })
  if (!out.trim()) throw new Error(told)
  return JSON.parse(out)
}

const overHttp = (...words: readonly string[]) =>
  inspect('--transport', 'http', '--server-url', recorder.url, ...words)

/** The gateway of a run on stdio starts its servers anew: it has one. */
const { everything } = home.servers
const oneServer = home.write('one-server.json', { mcpServers: { everything } })

function overStdio(mode: string, ...words: readonly string[]) {
  const gateway = recordedCommand(gatewayCommand(clients.node, oneServer, '--mode', mode), home, mode)
  const config = home.write('inspector.json', { mcpServers: { shelf: gateway } })
  return inspect('--config', config, '--server', 'shelf', ...words)
}

const calling = (tool: string, input: object) => [
  ...['--method', 'tools/call', '--tool-name', tool],
  ...['--tool-args-json', JSON.stringify(input)],
]

const textOf = (result: { content: { text?: string }[] }) =>
  result.content.map(({ text }) => text ?? '').join('\n')

const namesOf = (entries: { name: string }[]) => entries.map(({ name }) => name)

describe.skipIf(clients.missing)('MCP Inspector', () => {
  beforeAll(async () => {
    http = await startHttpGateway(clients.node, home, '--mode', 'bridge')
    recorder = await recordHttp(http.url)
  })
  afterAll(async () => {
    await recorder.stop()
    await http.stop()
    home.remove()
  })

  it('lists the gateway’s own tools, which every client can take, and none of the many behind it', async () => {
    const { tools: listed } = await overStdio('list', '--method', 'tools/list')
    expect(namesOf(listed)).toEqual(['ToolSearch'])
    const args = ['--transport', 'http', '--server-url', http.url, '--method', 'tools/list', '--strict']
    const words = [clients.file(inspector), '--cli', ...args]
    const { code, out, told } = await run(clients.node, words, { cwd: home.folder, env: home.environment })
    expect(told).not.toMatch(/error/i)
    expect(code).toBe(0)
    expect(namesOf(JSON.parse(out).tools)).toEqual(['ToolSearch', 'CallTool'])
  })

  it('S8 finds what servers have that are still starting, and shows the definitions', async () => {
    const search = calling('ToolSearch', { query: 'select:everything__echo' })
    const found = textOf(await overStdio('bridge', ...search))
    expect(found).toContain('everything__echo')
    expect(found).toContain('"message"')
  })

  it('a call that comes before the servers are up waits for them', async () => {
    const echo = { name: 'everything__echo', arguments: { message: 'seven' } }
    expect(textOf(await overStdio('bridge', ...calling('CallTool', echo)))).toContain('Echo: seven')
  })

  it('calls tools of several servers', async () => {
    const read = { name: 'files__read_text_file', arguments: { path: `${home.files}/note.txt` } }
    expect(textOf(await overHttp(...calling('CallTool', read)))).toContain('the note says seven')
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }]
    const remember = { name: 'memory__create_entities', arguments: { entities } }
    expect(textOf(await overHttp(...calling('CallTool', remember)))).toContain('Ada')
  })

  it('reads prompts and resources of the servers under names that lead back', async () => {
    const { prompts } = await overHttp('--method', 'prompts/list')
    expect(namesOf(prompts)).toContain('everything__simple-prompt')
    const asked = ['--method', 'prompts/get', '--prompt-name', 'everything__simple-prompt']
    expect((await overHttp(...asked)).messages).toHaveLength(1)
    const { resources } = await overHttp('--method', 'resources/list')
    const { uri } = resources[0]
    const { contents } = await overHttp('--method', 'resources/read', '--uri', uri)
    expect(contents[0]).toMatchObject({ uri, text: expect.stringMatching(/./) })
  })

  it('speaks the newer protocol, on stdio and over HTTP', async () => {
    const list = ['--protocol-era', 'modern', '--method', 'tools/list']
    for (const { tools } of [await overStdio('auto', ...list), await overHttp(...list)])
      expect(namesOf(tools)).toEqual(['ToolSearch', 'CallTool'])
  })

  it('sends the recorded messages', async () => {
    for (const mode of ['auto', 'list', 'bridge']) expectRecorded('Inspector', mode, home)
    recorder.expect('Inspector')
  })
})
