// Gemini CLI with the gateway as its only MCP server and a scripted model behind the Gemini API.
import { join } from 'node:path'
import { run } from './gateway.ts'
import { startGeminiModel } from './gemini-model.ts'
import { prepareClients } from './install.ts'
import { type AgentRun, describeMcpAgent } from './mcp-agent.ts'

const cli = '@google/gemini-cli/bundle/gemini.js'
const clients = await prepareClients([cli], { folder: 'gemini', largeMB: 100 })

function runGemini({ home, mode, command, args, modelUrl, signal }: AgentRun) {
  home.write(`${mode}/.gemini/settings.json`, {
    mcpServers: { shelf: { command, args, env: home.environment, trust: true } },
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
  })
  const env = {
    ...home.environment,
    HOME: join(home.folder, mode),
    GEMINI_API_KEY: 'none',
    GOOGLE_GEMINI_BASE_URL: modelUrl,
    GEMINI_CLI_NO_RELAUNCH: 'true',
  }
  const words = ['--model', 'gemini-2.5-pro', '--yolo', '--skip-trust', '--prompt', 'go']
  return run(clients.node, [clients.file(cli), ...words], { cwd: join(home.folder, mode), env, signal })
}

describeMcpAgent({
  name: 'Gemini CLI',
  clients,
  prefix: 'mcp_shelf_',
  listModes: ['auto', 'list'],
  bridgeModes: ['bridge'],
  early: ['prompts/list', 'resources/list'],
  start: startGeminiModel,
  run: runGemini,
})
