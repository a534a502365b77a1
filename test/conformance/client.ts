// Our host as the client of the conformance suite: the test's process plays all scenarios, since starting one takes longer
// than most. For each the suite starts relay.sh, which hands the scenario over; the client connects to the scenario's server
// and uses all that the server offers. The suite watches the wire.
import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createPureShelf } from '../../packages/core/src/shelf.ts'
import { createMcpHost } from '../../packages/mcp/src/host/host.ts'
import { createOAuth } from '../../packages/mcp/src/oauth/authorize.ts'
import { login } from '../../packages/mcp/src/oauth/login.ts'
import type { ListedTool, McpHost, QuestionHandler, ServerConfig } from '../../packages/mcp/src/types.ts'

type Fields = { readonly [name: string]: unknown }
type Context = {
  readonly client_id?: string
  readonly client_secret?: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Fields }[]
}

type Scenario = { readonly name: string; readonly context: Context; readonly url: string }
/** A scenario being played: its credentials and what the client printed. */
type Play = Scenario & { readonly folder: string; readonly say: (message: string) => void }

const SERVER = 'conformance'
/** How many scenarios are played at once: some measure how soon the client comes back. */
const SIDE_BY_SIDE = 4
const MAX_ATTEMPTS = 4
/** For a machine that is busy with other work; the suite gives each scenario more. */
const PATIENCE = 60_000

const configFor = (url: string): ServerConfig => ({
  name: SERVER,
  transport: { kind: 'http', url, headers: {} },
  disabled: false,
  lazy: false,
  alwaysLoad: undefined,
  description: undefined,
  tools: {},
  allow: [],
  deny: [],
  connectTimeoutMs: PATIENCE,
  callTimeoutMs: PATIENCE,
  source: 'test',
})

/** Agrees to everything, and fills in nothing: defaults are the host's to apply. */
const questionHandler: QuestionHandler = {
  async ask(method) {
    if (method === 'elicitation/create') return { action: 'accept', content: {} }
    if (method === 'roots/list') return { roots: [] }
    return { role: 'assistant', model: 'none', content: { type: 'text', text: 'yes' }, stopReason: 'endTurn' }
  },
}

async function connect(play: Play): Promise<void> {
  const { folder, url, say } = play
  const credentials = { folder, server: SERVER, url, notify: say }
  const host = createMcpHost({
    shelf: createPureShelf({}),
    servers: [configFor(url)],
    cacheFolder: false,
    questionHandler,
    authorize: () => createOAuth(credentials),
    loginHint: (server, scope) => `run "toolshelf login ${server}${scope ? ` --scope "${scope}"` : ''}"`,
    notify: say,
  })
  try {
    host.start({ elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} })
    await host.settled({ timeoutMs: PATIENCE })
    const [status] = host.status()
    if (status?.state !== 'connected') throw new Error(status?.reason ?? 'not connected')
    await useTools(play, host, status.tools)
    if (status.capabilities.resources) await useResources(host)
    if (status.capabilities.prompts) await usePrompts(host)
  } finally {
    await host.close()
  }
}

async function useTools(
  { name, context }: Scenario,
  host: McpHost,
  tools: readonly ListedTool[],
): Promise<void> {
  if (name === 'json-schema-ref-no-deref') return
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

async function logIn({ folder, context, url, say }: Play, scope: string | undefined): Promise<void> {
  const { client_id: id, client_secret: secret } = context
  await login({
    config: configFor(url),
    folder,
    clientInfo: { name: 'toolshelf', version: '0.1.0' },
    print: say,
    notify: say,
    openBrowser: agree,
    timeoutMs: PATIENCE,
    ...(scope !== undefined ? { scope } : {}),
    ...(id !== undefined ? { client: { id, ...(secret !== undefined ? { secret } : {}) } } : {}),
  })
}

/** What a person does: uses it, and logs in where a message says so. */
async function useIt(play: Play): Promise<void> {
  let advice: string | undefined
  for (let attempt = 1; ; attempt += 1) {
    try {
      if (advice !== undefined) await logIn(play, /--scope "([^"]+)/.exec(advice)?.[1])
      return await connect(play)
    } catch (error) {
      advice = (error as Error).message
      if (!advice.includes('toolshelf login') || attempt === MAX_ATTEMPTS) throw error
      play.say(advice)
    }
  }
}

/** Plays a scenario with credentials of its own; returns what a process would: an exit code and what it printed. */
async function play(scenario: Scenario): Promise<{ readonly code: number; readonly told: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolshelf-conformance-'))
  const told: string[] = []
  const say = (message: string) => void told.push(`${message}\n`)
  let code = 0
  try {
    await useIt({ ...scenario, folder, say })
  } catch (error) {
    say((error as Error).message)
    code = 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return { code, told: told.join('') }
}

let playing = 0
const waiting: (() => void)[] = []

async function playInTurn(scenario: Scenario) {
  if (playing === SIDE_BY_SIDE) await new Promise<void>((resolve) => waiting.push(resolve))
  else playing += 1
  try {
    return await play(scenario)
  } finally {
    const next = waiting.shift()
    if (next) next()
    else playing -= 1
  }
}

export type ListeningClient = {
  /** What relay.sh needs to know. */
  readonly folder: string
  close(): void
}

/** Plays what relay.sh hands over through pipes in a folder, until it is closed. */
export function listen(): ListeningClient {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-conformance-'))
  const pipe = join(folder, 'scenarios')
  execFileSync('mkfifo', [pipe])
  // Open for writing too: it does not end when a relay does.
  const handed = new Socket({ fd: openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK) })
  createInterface(handed).on('line', async (line) => {
    const [id, name = '', url = ''] = line.split(' ')
    const context = JSON.parse(await readFile(join(folder, `${id}.context`), 'utf8'))
    const { code, told } = await playInTurn({ name, context, url })
    await writeFile(join(folder, `${id}.answer`), `${code}\n${told}`)
  })
  return {
    folder,
    close() {
      handed.destroy()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
