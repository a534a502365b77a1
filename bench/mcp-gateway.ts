// Starts gateways as users run them: the built command, with its own home and so its own cache.
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import type { Command } from './mcp-servers.ts'

const MAIN = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url))

/** Server definitions by name, as in a configuration file. */
export type Servers = ReadonlyMap<string, Command & { readonly allow?: readonly string[] }>

/** A later gateway with the same home finds the cache of an earlier one. */
export function gatewayCommand(home: string, servers: Servers, ...options: string[]): Command {
  mkdirSync(home, { recursive: true })
  const config = join(home, `${randomUUID()}.json`)
  writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(servers) }))
  return {
    command: process.execPath,
    args: [MAIN, 'mcp', '--config', config, ...options],
    env: homeIn(home),
  }
}

export function inHome(command: Command, home: string): Command {
  return { ...command, env: { ...command.env, ...homeIn(home) } }
}

/** Servers and gateways write below this folder and nowhere else. */
function homeIn(home: string): Record<string, string> {
  return { HOME: home, XDG_CACHE_HOME: join(home, 'cache'), XDG_STATE_HOME: join(home, 'state') }
}

/** Calls a tool and returns its text; throws its error. */
export async function callText(
  client: Client,
  name: string,
  input: { readonly [field: string]: unknown },
): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: { ...input } })
  const text = (content as { text?: string }[]).map((block) => block.text ?? '').join('\n')
  if (isError) throw new Error(`bench mcp: ${name} failed: ${text}`)
  return text
}

/** Waits until a gateway in bridge mode finds this tool. A single search does not wait long enough for slow servers. */
export async function untilFound(client: Client, tool: string): Promise<void> {
  for (let attempt = 0; attempt < 30; attempt++) {
    const text = await callText(client, 'ToolSearch', { query: `select:${tool}` })
    if (text.includes(`"name":"${tool}"`)) return
  }
  throw new Error(`bench mcp: the gateway never found ${tool}`)
}
