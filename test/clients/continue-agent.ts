// Continue's command line: a process for each turn, which resumes the last session. Its server would keep one process, but
// listens beyond loopback.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from './agent-suite.ts'
import type { Ask } from './conversation.ts'
import { type Home, run } from './gateway.ts'

type Session = {
  readonly history: readonly {
    readonly message: { readonly toolCalls?: readonly { readonly function: { readonly name: string } }[] }
  }[]
}

/** YAML, of which JSON is a part. */
function configure({ servers, write }: Home, url: string, model: string): string {
  return write('continue/config.yaml', {
    name: 'test',
    version: '1.0.0',
    schema: 'v1',
    models: [
      {
        name: model,
        provider: 'openai',
        model,
        apiBase: `${url}/v1`,
        apiKey: 'none',
        roles: ['chat'],
        capabilities: ['tool_use'],
      },
    ],
    mcpServers: Object.entries(servers).map(([name, server]) => ({ name, ...server })),
  })
}

export async function startContinue(
  [node, cli]: readonly [string, string],
  home: Home,
  url: string,
  model: string,
): Promise<Agent> {
  const config = configure(home, url, model)
  const folder = join(home.folder, 'continue')
  const env = { ...home.environment, CONTINUE_GLOBAL_DIR: folder, CONTINUE_CLI_ENABLE_TELEMETRY: '0' }
  const called: string[] = []
  let isFirst = true
  const ask: Ask = async (text) => {
    const words = [cli, '-p', text, '--config', config, '--auto', ...(isFirst ? [] : ['--resume'])]
    isFirst = false
    const { code, out, told } = await run(node, words, { cwd: home.files, env })
    // Seen once on a busy machine, for a reason unknown: it ends with 0 and without a word.
    if (code !== 0 || out.trim() === '') throw new Error(`Continue ended with ${code}: ${out}\n${told}`)
    called.splice(0, called.length, ...callsIn(join(folder, 'sessions')))
    return out
  }
  return { ask, called, stop: async () => {} }
}

/** Of the one session that a folder has. */
function callsIn(folder: string): string[] {
  const file = readdirSync(folder).find((name) => name.endsWith('.json') && name !== 'sessions.json')
  const { history } = JSON.parse(readFileSync(join(folder, file ?? ''), 'utf8')) as Session
  return history.flatMap(({ message }) => message.toolCalls ?? []).map((call) => call.function.name)
}
