// Codex without a terminal: its app server, one process with one thread, spoken to in JSON-RPC over stdio.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, vi } from 'vitest'
import type { Agent } from './agent-suite.ts'
import type { Ask } from './conversation.ts'
import type { Home } from './gateway.ts'
import { type Clients, prepareClients } from './install.ts'

const folders: { readonly [platform: string]: string } = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-arm64': 'aarch64-apple-darwin',
}
const platform = `${process.platform}-${process.arch}`

/** Codex's binary among the installed packages. */
export const codex = `@openai/codex-${platform}/vendor/${folders[platform]}/bin/codex`

export function prepareCodex(): Promise<Clients> {
  return prepareClients([codex], { folder: 'codex', largeMB: 436 })
}

type Item = {
  readonly type: string
  readonly text?: string
  readonly tool?: string
  readonly status?: string
}
type Message = {
  readonly id?: number
  readonly method?: string
  readonly result?: { readonly thread?: { readonly id: string } }
  readonly error?: { readonly message: string }
  readonly params?: {
    readonly name?: string
    readonly status?: string
    readonly item?: Item
    readonly turn?: { readonly status: string; readonly error?: { readonly message: string } | null }
  }
}

function configure({ servers, write }: Home, url: string, model: string) {
  const lines = Object.entries(servers).map(([name, { command, args, env = {} }]) => {
    const table = Object.entries(env).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    return `[mcp_servers.${name}]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
env = { ${table.join(', ')} }
startup_timeout_sec = 60`
  })
  write(
    'codex/config.toml',
    `model = "${model}"
model_provider = "shelf"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.shelf]
name = "shelf"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SHELF_KEY"
[analytics]
enabled = false
${lines.join('\n')}
`,
  )
}

export async function startCodex(binary: string, home: Home, url: string, model: string): Promise<Agent> {
  configure(home, url, model)
  const env = { ...home.environment, CODEX_HOME: `${home.folder}/codex`, SHELF_KEY: 'none' }
  const child = spawn(binary, ['app-server'], { cwd: home.files, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  const gone = ended.then((): never => {
    throw new Error('Codex ended')
  })
  gone.catch(() => {})
  const items: Item[] = []
  const called: string[] = []
  const ready = new Set<string>()
  const waiting = new Map<number | string, (message: Message) => void>()
  createInterface(child.stdout).on('line', (line) => {
    const message = JSON.parse(line) as Message
    const { item, name, status } = message.params ?? {}
    if (message.method === 'mcpServer/startupStatus/updated' && status === 'ready' && name) ready.add(name)
    if (message.method === 'item/completed' && item) items.push(item)
    if (message.method === 'item/completed' && item?.tool) called.push(item.tool)
    const key = message.method ?? message.id ?? ''
    waiting.get(key)?.(message)
  })

  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
  const next = (key: number | string) =>
    Promise.race([gone, new Promise<Message>((resolve) => waiting.set(key, resolve))])
  let ids = 0
  async function request(method: string, params: object): Promise<Message> {
    const id = ++ids
    const answer = next(id)
    send({ id, method, params })
    const { error, ...rest } = await answer
    if (error) throw new Error(`${method}: ${error.message}`)
    return rest
  }

  await request('initialize', { clientInfo: { name: 'toolshelf-test', title: null, version: '1' } })
  send({ method: 'initialized' })
  const { result } = await request('thread/start', { cwd: home.files })
  const threadId = result?.thread?.id
  // Codex answers without servers that are not ready yet.
  await vi.waitFor(() => expect([...ready].sort()).toEqual(Object.keys(home.servers).sort()), 50_000)
  const ask: Ask = async (text) => {
    const done = next('turn/completed')
    const before = items.length
    await request('turn/start', { threadId, input: [{ type: 'text', text, text_elements: [] }] })
    const { params } = await done
    if (params?.turn?.error) throw new Error(params.turn.error.message)
    return items
      .slice(before)
      .filter(({ type }) => type === 'agentMessage')
      .map((item) => item.text)
      .join('\n')
  }
  return {
    ask,
    called,
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
