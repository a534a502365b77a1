// Claude Code with the gateway as its only MCP server and a scripted model. It speaks the stateless protocol, so that every mode is
// a bridge for it.
import { run } from './gateway.ts'
import { prepareClients } from './install.ts'
import { type AgentRun, describeMcpAgent } from './mcp-agent.ts'
import { startModel } from './model.ts'
import { serveHere } from './serving.ts'

const claude = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`
const clients = await prepareClients([claude], { folder: 'claude-code', largeMB: 349 })

/** Behind the Messages API, by a gateway that hides nothing. */
const start: typeof startModel = async (decide) => {
  const model = await startModel(decide)
  const { url, stop } = await serveHere({ upstream: `openai:${model.url}`, mode: 'off' })
  return { ...model, url, close: () => stop().then(model.close) }
}

function runClaude({ home, mode, command, args, modelUrl, signal }: AgentRun) {
  const shelf = { command, args, env: home.environment }
  const config = home.write(`${mode}/mcp.json`, { mcpServers: { shelf } })
  const env = {
    ...home.environment,
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  }
  const servers = ['--mcp-config', config, '--strict-mcp-config', '--allowedTools', 'mcp__shelf']
  return run(clients.file(claude), ['-p', 'go', ...servers], { cwd: home.files, env, signal })
}

describeMcpAgent({
  name: 'Claude Code',
  clients,
  prefix: 'mcp__shelf__',
  listModes: [],
  bridgeModes: ['auto', 'list'],
  early: ['prompts/list', 'resources/list', 'subscriptions/listen'],
  start,
  run: runClaude,
})
