// The real MCP servers of the demo: packages that a clone of the project installs anyway.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Ours alone: what the folder has that somebody is in, a stranger may have put there. */
const OWN_PACKAGES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

type Started = {
  readonly script: string
  readonly args?: readonly string[]
  readonly env?: { readonly [name: string]: string }
}

/** `folder` is where they may write. Keys that are none let a server start and list its tools. */
function known(folder: string): { readonly [name: string]: Started } {
  return {
    filesystem: { script: '@modelcontextprotocol/server-filesystem/dist/index.js', args: [folder] },
    memory: {
      script: '@modelcontextprotocol/server-memory/dist/index.js',
      env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
    },
    everything: { script: '@modelcontextprotocol/server-everything/dist/index.js' },
    github: {
      script: '@modelcontextprotocol/server-github/dist/index.js',
      env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' },
    },
    notion: { script: '@notionhq/notion-mcp-server/bin/cli.mjs', env: { NOTION_TOKEN: 'none' } },
    trello: {
      script: '@delorenj/mcp-server-trello/build/index.js',
      env: { TRELLO_API_KEY: 'none', TRELLO_TOKEN: 'none' },
    },
  }
}

/** A configuration as a person would have it; servers that are not installed are left out. They leave nothing at home. */
export function demoConfig(
  folder: string,
  packages = OWN_PACKAGES,
): { mcpServers: object; missing: string[] } {
  const found: Record<string, object> = {}
  const missing: string[] = []
  for (const [name, { script, args = [], env = {} }] of Object.entries(known(folder))) {
    const path = join(packages, script)
    if (!existsSync(path)) missing.push(name)
    else {
      const home = { HOME: folder, USERPROFILE: folder }
      found[name] = {
        command: process.execPath,
        args: [path, ...args],
        env: { ...home, ...env },
        cwd: folder,
      }
    }
  }
  return { mcpServers: found, missing }
}
