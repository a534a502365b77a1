// Qwen Code without a terminal: one process and one session, with lines of JSON in and out.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Agent } from './agent-suite.ts'
import type { Ask } from './conversation.ts'
import type { Home } from './gateway.ts'

type Block = { readonly type: string; readonly text?: string; readonly name?: string }
type Line = {
  readonly type: string
  readonly message?: { readonly content: string | readonly Block[] }
  readonly is_error?: boolean
  readonly error?: { readonly message: string }
}

/** `alwaysLoadTools`: otherwise Qwen Code defers the tools of MCP servers itself. */
function configure({ servers, write }: Home, isDeferring: boolean) {
  const entries = Object.entries(servers).map(([name, server]) => [
    name,
    { ...server, trust: true, ...(isDeferring ? {} : { alwaysLoadTools: true }) },
  ])
  write('.qwen/settings.json', {
    mcpServers: Object.fromEntries(entries),
    security: { auth: { selectedType: 'openai' } },
    general: { enableAutoUpdate: false, checkpointing: { enabled: false } },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    // It would ask the model for more in the background.
    memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false },
    ui: { enableFollowupSuggestions: false },
  })
}

export async function startQwen(
  [node, cli]: readonly [string, string],
  home: Home,
  url: string,
  { model, isDeferring = false }: { readonly model: string; readonly isDeferring?: boolean },
): Promise<Agent> {
  configure(home, isDeferring)
  const env = {
    ...home.environment,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: 'none',
    OPENAI_MODEL: model,
  }
  const formats = ['--input-format', 'stream-json', '--output-format', 'stream-json']
  const words = [cli, ...formats, '--auth-type', 'openai', '--approval-mode', 'yolo']
  const child = spawn(node, words, { cwd: home.files, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk
  })
  const gone = ended.then((): never => {
    throw new Error(`Qwen Code ended: ${complaint.slice(-500)}`)
  })
  gone.catch(() => {})

  const called: string[] = []
  let texts: string[] = []
  let settle: (line: Line) => void = () => {}
  createInterface(child.stdout).on('line', (text) => {
    const line = JSON.parse(text) as Line
    const { content = [] } = line.message ?? {}
    if (line.type === 'assistant' && typeof content !== 'string') {
      texts.push(...content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])))
      called.push(...content.flatMap((block) => (block.type === 'tool_use' ? [block.name ?? ''] : [])))
    }
    if (line.type === 'result') settle(line)
  })
  const ask: Ask = async (text) => {
    texts = []
    const done = new Promise<Line>((resolve) => {
      settle = resolve
    })
    const message = { role: 'user', content: text }
    child.stdin.write(
      `${JSON.stringify({ type: 'user', session_id: 'one', message, parent_tool_use_id: null })}\n`,
    )
    const { is_error: isError, error } = await Promise.race([done, gone])
    if (isError) throw new Error(error?.message ?? 'Qwen Code reports an error')
    return texts.join('\n')
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
