// Cline's command line: a process and a session for each task, because it resumes a session only in a terminal.
import type { Ask } from './conversation.ts'
import { type Home, run } from './gateway.ts'

type Event = { readonly type: string; readonly toolName?: string; readonly contentType?: string }
type Line = {
  readonly type: string
  readonly text?: string
  readonly message?: string
  readonly event?: Event
}

export type ClineAgent = { readonly ask: Ask; readonly called: readonly string[] }

/** On a busy machine Cline has started without servers that have no `timeout`. */
const SERVER_TIMEOUT_SECONDS = 60

export async function startCline(cli: string, home: Home, url: string): Promise<ClineAgent> {
  const env = {
    ...home.environment,
    CLINE_NO_AUTO_UPDATE: '1',
    // Otherwise it starts a daemon that outlives it.
    CLINE_SESSION_BACKEND_MODE: 'local',
  }
  const servers = Object.entries(home.servers).map(([name, server]) => [
    name,
    { ...server, timeout: SERVER_TIMEOUT_SECONDS },
  ])
  home.write('.cline/data/settings/cline_mcp_settings.json', { mcpServers: Object.fromEntries(servers) })
  const settings = ['auth', 'openai-compatible', '-k', 'none', '-m', 'small-1', '-b', `${url}/v1`]
  const { code, told } = await run(cli, settings, { cwd: home.files, env })
  if (code !== 0) throw new Error(`Cline took no settings: ${told}`)
  const called: string[] = []
  const ask: Ask = async (text) => {
    const words = ['--json', '-P', 'openai-compatible', text]
    const { out, told } = await run(cli, words, { cwd: home.files, env })
    const lines = out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line)
    const result = lines.find(({ type }) => type === 'run_result')
    if (!result) throw new Error(`Cline has no result: ${out.slice(-500)}\n${told.slice(-500)}`)
    for (const { event } of lines)
      if (event?.type === 'content_end' && event.contentType === 'tool') called.push(event.toolName ?? '')
    return result.text ?? ''
  }
  return { ask, called }
}
