// Qwen Code without a terminal: one process and one session.
import type { Agent } from './agent-suite.ts'
import type { Home } from './gateway.ts'
import { startStreamJson, streamJson } from './stream-json.ts'

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
  const words = [cli, ...streamJson, '--auth-type', 'openai', '--approval-mode', 'yolo']
  return startStreamJson('Qwen Code', node, words, { cwd: home.files, env })
}
