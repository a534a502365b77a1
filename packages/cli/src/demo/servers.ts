// The demo's real MCP servers, from installed packages or from npm via the user's cache.
import { existsSync } from 'node:fs'
import { basename, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

type DemoServer = {
  readonly package: string
  readonly version: string
  /** Path inside the package. */
  readonly script: string
  readonly args?: (folder: string) => readonly string[]
  readonly env?: (folder: string) => { readonly [name: string]: string }
}

/** Dummy keys let a server start and list its tools. */
export const demoServers: { readonly [name: string]: DemoServer } = {
  filesystem: {
    package: '@modelcontextprotocol/server-filesystem',
    version: '2026.8.31',
    script: 'dist/index.js',
    args: (folder) => [folder],
  },
  memory: {
    package: '@modelcontextprotocol/server-memory',
    version: '2026.8.31',
    script: 'dist/index.js',
    env: (folder) => ({ MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }),
  },
  everything: {
    package: '@modelcontextprotocol/server-everything',
    version: '2026.8.31',
    script: 'dist/index.js',
  },
  github: {
    package: '@modelcontextprotocol/server-github',
    version: '2025.4.8',
    script: 'dist/index.js',
    env: () => ({ GITHUB_PERSONAL_ACCESS_TOKEN: 'none' }),
  },
  notion: {
    package: '@notionhq/notion-mcp-server',
    version: '2.5.2',
    script: 'bin/cli.mjs',
    env: () => ({ NOTION_TOKEN: 'none' }),
  },
  trello: {
    package: '@delorenj/mcp-server-trello',
    version: '1.8.1',
    script: 'build/index.js',
    env: () => ({ TRELLO_API_KEY: 'none', TRELLO_TOKEN: 'none' }),
  },
}

/** Returns folders of packages that need no installation: those of a clone, and those we are installed among. */
export function packagesBeside(): string[] {
  const own = fileURLToPath(import.meta.url)
  const above = own.split(sep).map((_, index, parts) => parts.slice(0, index + 1).join(sep))
  const folders = above.map((folder) =>
    basename(folder) === 'node_modules' ? folder : join(folder, 'node_modules'),
  )
  return [...new Set(folders)].filter((folder) => existsSync(folder)).reverse()
}

export function folderWithAll(folders: readonly string[]): string | undefined {
  const all = Object.values(demoServers)
  return folders.find((folder) =>
    all.every((server) => existsSync(join(folder, server.package, server.script))),
  )
}

/** Returns the configuration of servers that write only into `folder`, nothing into the home folder. */
export type ConfigIn = (folder: string) => object

export function demoConfig(packages: string, folder: string): object {
  const entries = Object.entries(demoServers).map(([name, server]) => [
    name,
    {
      command: process.execPath,
      args: [join(packages, server.package, server.script), ...(server.args?.(folder) ?? [])],
      env: { HOME: folder, USERPROFILE: folder, ...server.env?.(folder) },
      cwd: folder,
    },
  ])
  return { mcpServers: Object.fromEntries(entries) }
}
