// `npm run bench messages`: how many tokens the Messages gateway saves, with the tools of real servers.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fields } from '../packages/core/src/lib/json.ts'
import { inHome } from './mcp-gateway.ts'
import { endAll, start } from './mcp-processes.ts'
import { commandsOfTwenty, installTwenty } from './mcp-servers.ts'
import { measureConversation } from './messages-tokens.ts'
import { report } from './report.ts'

const MAX_TOOLS = 500

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-bench-'))
try {
  installTwenty()
  report('Messages gateway', 'npm run bench messages', await measureConversation(await realTools()))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}
// What a failed run has left open must not keep this process alive.
process.exit()

/** The tools as an agent sends them to the API, everyday servers first. */
async function realTools(): Promise<Fields[]> {
  const tools: Fields[] = []
  for (const [server, command] of commandsOfTwenty(folder)) {
    if (tools.length >= MAX_TOOLS) break
    const started = await start(inHome(command, folder))
    const listed = await started.client.listTools()
    for (const { name, description, inputSchema } of listed.tools)
      tools.push({ name: `mcp__${server}__${name}`, description, input_schema: inputSchema })
    await started.end()
  }
  return tools.slice(0, MAX_TOOLS)
}
