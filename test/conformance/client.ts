// Our host as the client that the conformance suite starts: it connects to the server in the last argument and uses all
// that the server offers. The suite watches the wire.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createShelf } from '../../src/core/index.ts'
import { createMcpHost } from '../../src/mcp/host/index.ts'
import type { ListedTool, McpHost, QuestionHandler, ServerConfig } from '../../src/mcp/index.ts'
import { createOAuth, login } from '../../src/mcp/oauth/index.ts'

type Fields = { readonly [name: string]: unknown }
type Context = {
  readonly client_id?: string
  readonly client_secret?: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Fields }[]
}

const SERVER = 'conformance'
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context
const url = process.argv.at(-1) ?? ''
const say = (message: string) => void process.stderr.write(`${message}\n`)

const config: ServerConfig = {
  name: SERVER,
  transport: { kind: 'http', url, headers: {} },
  disabled: false,
  lazy: false,
  alwaysLoad: undefined,
  description: undefined,
  tools: {},
  allow: [],
  deny: [],
  connectTimeout: 10_000,
  callTimeout: 20_000,
  source: 'test',
}

/** Agrees to everything, and fills in nothing: defaults are the host's to apply. */
const asker: QuestionHandler = {
  async ask(method) {
    if (method === 'elicitation/create') return { action: 'accept', content: {} }
    if (method === 'roots/list') return { roots: [] }
    return { role: 'assistant', model: 'none', content: { type: 'text', text: 'yes' }, stopReason: 'endTurn' }
  },
}

async function connect(folder: string): Promise<void> {
  const credentials = { folder, server: SERVER, url, notify: say }
  const host = createMcpHost({
    shelf: createShelf({}),
    servers: [config],
    cacheFolder: false,
    asker,
    authorize: () => createOAuth(credentials),
    notify: say,
  })
  try {
    host.start({ elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} })
    await host.settled({ timeout: 20_000 })
    const [status] = host.status()
    if (status?.state !== 'connected') throw new Error(status?.reason ?? 'not connected')
    await useTools(host, status.tools)
    if (status.capabilities.resources) await useResources(host)
    if (status.capabilities.prompts) await usePrompts(host)
  } finally {
    await host.close()
  }
}

async function useTools(host: McpHost, tools: readonly ListedTool[]): Promise<void> {
  if (scenario === 'json-schema-ref-no-deref') return
  if (context.toolCalls) {
    for (const call of context.toolCalls) await host.call(SERVER, call.name, call.arguments)
    return
  }
  for (const tool of tools) await host.call(SERVER, tool.name, inputFor(tool, tools))
}

function inputFor(tool: ListedTool, tools: readonly ListedTool[]): Fields {
  if (tool.name === 'json_schema_echo') return { schema: tools[0]?.inputSchema }
  const { properties = {} } = (tool.inputSchema ?? {}) as {
    properties?: { [name: string]: { type?: string } }
  }
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, samples[type ?? ''] ?? 'a']),
  )
}

const samples: Fields = { number: 2, integer: 2, boolean: true, array: [], object: {} }

async function useResources(host: McpHost): Promise<void> {
  const { resources } = (await host.request(SERVER, 'resources/list')) as { resources: { uri: string }[] }
  for (const { uri } of resources) await host.request(SERVER, 'resources/read', { uri })
}

async function usePrompts(host: McpHost): Promise<void> {
  const { prompts } = (await host.request(SERVER, 'prompts/list')) as { prompts: { name: string }[] }
  for (const { name } of prompts) await host.request(SERVER, 'prompts/get', { name })
}

/** The person in front of the browser agrees at once. */
async function agree(address: string): Promise<boolean> {
  const response = await fetch(address)
  return response.ok
}

async function logIn(folder: string, scope: string | undefined): Promise<void> {
  const { client_id: id, client_secret: secret } = context
  await login({
    config,
    folder,
    clientInfo: { name: 'toolshelf', version: '0.1.0' },
    print: say,
    notify: say,
    openBrowser: agree,
    timeout: 15_000,
    ...(scope !== undefined ? { scope } : {}),
    ...(id !== undefined ? { client: { id, ...(secret !== undefined ? { secret } : {}) } } : {}),
  })
}

/** What a person does: uses it, and logs in where a message says so. */
async function useIt(folder: string): Promise<void> {
  let advice: string | undefined
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (advice !== undefined) await logIn(folder, /--scope "([^"]+)/.exec(advice)?.[1])
      return await connect(folder)
    } catch (error) {
      advice = (error as Error).message
      if (!advice.includes('toolshelf login') || attempt === MOST_ATTEMPTS) throw error
      say(advice)
    }
  }
}

const MOST_ATTEMPTS = 4

const folder = await mkdtemp(join(tmpdir(), 'toolshelf-conformance-'))
try {
  await useIt(folder)
} catch (error) {
  say((error as Error).message)
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}
