// opencode and Kilo, which is made from it, with one MCP server and a scripted model.
import { join } from 'node:path'
import { run } from './gateway.ts'
import type { AgentRun } from './mcp-agent.ts'

export type Fork = {
  readonly binary: string
  /** The name of its configuration file, without an ending. */
  readonly name: 'opencode' | 'kilo'
}

export function runFork({ binary, name }: Fork, { home, mode, command, args, modelUrl, signal }: AgentRun) {
  home.write(`${mode}/${name}.json`, {
    model: 'scripted/model',
    small_model: 'scripted/model',
    autoupdate: false,
    share: 'disabled',
    permission: 'allow',
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: modelUrl, apiKey: 'none' },
        models: { model: { name: 'model', tool_call: true } },
      },
    },
    mcp: { shelf: { type: 'local', command: [command, ...args], environment: home.environment } },
  })
  const switches = ['DISABLE_MODELS_FETCH', 'DISABLE_AUTOUPDATE', 'DISABLE_SESSION_INGEST']
  const set = switches.map((key) => [`${name.toUpperCase()}_${key}`, '1'])
  // Kilo would look for its own service and report that it is used.
  const service = { KILO_API_URL: new URL(modelUrl).origin, KILO_TELEMETRY_LEVEL: 'off' }
  const env = { ...home.environment, ...Object.fromEntries(set), ...service }
  return run(binary, ['run', 'go'], { cwd: join(home.folder, mode), env, signal })
}
