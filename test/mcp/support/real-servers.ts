// Real servers from npm, with the words that start them and credentials that are none.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe } from 'vitest'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import { isThorough } from '../../../packages/testkit/src/runs.ts'
// @ts-expect-error: plain JavaScript, shared with scripts/test.mjs
import { installClients, modulesOf } from '../../clients/installation.mjs'
import { defaults, type Given, scriptPath } from './servers.ts'

/** The demo's servers. Not resolved: some packages do not export what they run. */
const own = fileURLToPath(new URL('../../../node_modules', import.meta.url))
/** Servers that only tests start, installed with their own lock file. */
const others: string = modulesOf('servers')

const missing: string | undefined = await installClients('servers')
if (missing !== undefined) process.stderr.write(`Skipped: ${missing}\n`)

/** `describe` for tests of these others; skips them where they could not be installed. */
export const describeOthers = describe.skipIf(missing !== undefined)

type Real = {
  /** The folder of its package; `own` by default. */
  readonly packages?: string
  readonly script: string
  readonly args?: readonly string[]
  readonly env?: { readonly [name: string]: string }
}

const features = 'account,database,debugging,development,functions,branching,storage'

/** `folder` is one that servers may write to. */
const real = (folder: string): { readonly [name: string]: Real } => ({
  everything: { script: '@modelcontextprotocol/server-everything/dist/index.js' },
  filesystem: { script: '@modelcontextprotocol/server-filesystem/dist/index.js', args: [folder] },
  memory: {
    script: '@modelcontextprotocol/server-memory/dist/index.js',
    env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
  },
  thinking: { packages: others, script: '@modelcontextprotocol/server-sequential-thinking/dist/index.js' },
  github: {
    script: '@modelcontextprotocol/server-github/dist/index.js',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'ghp_none' },
  },
  gitlab: {
    packages: others,
    script: '@modelcontextprotocol/server-gitlab/dist/index.js',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'glpat-none' },
  },
  supabase: {
    packages: others,
    script: '@supabase/mcp-server-supabase/dist/cli.js',
    args: [`--access-token=sbp_${'0'.repeat(40)}`, `--features=${features}`],
  },
  resend: {
    packages: others,
    script: 'resend-mcp/dist/index.js',
    env: { RESEND_API_KEY: 're_none', SENDER_EMAIL_ADDRESS: 'ann@example.org' },
  },
  notion: { script: '@notionhq/notion-mcp-server/bin/cli.mjs', env: { NOTION_TOKEN: 'ntn_none' } },
  amap: {
    packages: others,
    script: '@amap/amap-maps-mcp-server/build/index.js',
    env: { AMAP_MAPS_API_KEY: 'none' },
  },
  trello: {
    script: '@delorenj/mcp-server-trello/build/index.js',
    env: { TRELLO_API_KEY: 'none', TRELLO_TOKEN: 'none' },
  },
  currents: {
    packages: others,
    script: '@currents/mcp/build/index.js',
    env: { CURRENTS_API_KEY: 'none' },
  },
})

const tenServers = [
  ...['everything', 'filesystem', 'memory', 'thinking', 'github'],
  ...['gitlab', 'supabase', 'resend', 'notion', 'amap'],
]

/** Each of them takes half a CPU second to start, and resend one: those whose traps others have too are left out by default. */
export const triedServers = tenServers.filter(
  (name) => isThorough || !['memory', 'resend', 'thinking'].includes(name),
)

export function realServer(name: string, folder: string, given: Given = {}): ServerConfig {
  const { packages = own, script, args = [], env = {} } = real(folder)[name] ?? {}
  if (!script) throw new Error(`there is no real server ${name}`)
  const transport = {
    kind: 'stdio',
    command: process.execPath,
    args: ['--import', scriptPath('gateway-offline'), join(packages, script), ...args],
    env,
    cwd: folder,
  } as const
  return { ...defaults(name), connectTimeoutMs: PATIENCE, transport, ...given }
}

/** Twelve processes on two busy cores take their time. */
const PATIENCE = 60_000
