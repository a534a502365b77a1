// Lists the twenty real servers that `npm run bench mcp` measures: how they start offline with made-up credentials, and their
// installation. Runs with fewer tools take the first of them: everyday servers come first, the largest last.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

type BenchServer = {
  readonly name: string
  readonly package: string
  readonly script: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export type Command = {
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
}

const FOLDER = fileURLToPath(new URL('./servers/', import.meta.url))
/** Placeholder for a folder that the server may read. */
const READABLE = '<folder>'

const servers: readonly BenchServer[] = [
  {
    name: 'filesystem',
    package: '@modelcontextprotocol/server-filesystem',
    script: 'dist/index.js',
    args: [READABLE],
  },
  {
    name: 'github',
    package: '@modelcontextprotocol/server-github',
    script: 'dist/index.js',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'dummy' },
  },
  {
    name: 'notion',
    package: '@notionhq/notion-mcp-server',
    script: 'bin/cli.mjs',
    env: { NOTION_TOKEN: 'ntn_dummy' },
  },
  {
    name: 'brave-search',
    package: '@brave/brave-search-mcp-server',
    script: 'dist/index.js',
    env: { BRAVE_API_KEY: 'dummy' },
  },
  { name: 'cloudbase', package: '@cloudbase/cloudbase-mcp', script: 'dist/cli.cjs' },
  {
    name: 'xero',
    package: '@xeroapi/xero-mcp-server',
    script: 'dist/index.js',
    env: { XERO_CLIENT_ID: 'dummy', XERO_CLIENT_SECRET: 'dummy' },
  },
  {
    name: 'shortcut',
    package: '@shortcut/mcp',
    script: 'dist/index.js',
    env: { SHORTCUT_API_TOKEN: 'dummy' },
  },
  {
    name: 'trello',
    package: '@delorenj/mcp-server-trello',
    script: 'build/index.js',
    env: { TRELLO_API_KEY: 'dummy', TRELLO_TOKEN: 'dummy' },
  },
  {
    name: 'paddle',
    package: '@paddle/paddle-mcp',
    script: 'build/index.js',
    args: ['--api-key=dummy', '--environment=sandbox'],
  },
  {
    name: 'dokploy',
    package: '@ahdev/dokploy-mcp',
    script: 'build/index.js',
    env: { DOKPLOY_URL: 'http://127.0.0.1/api', DOKPLOY_API_KEY: 'dummy' },
  },
  {
    name: 'runpod',
    package: '@runpod/mcp-server',
    script: 'dist/stdio.mjs',
    env: { RUNPOD_API_KEY: 'dummy' },
  },
  {
    name: 'cloudflare',
    package: '@cloudflare/mcp-server-cloudflare',
    script: 'dist/index.js',
    args: ['run', 'dummyaccount'],
    env: { CLOUDFLARE_API_TOKEN: 'dummy', CLOUDFLARE_ACCOUNT_ID: 'dummy' },
  },
  {
    name: 'miro',
    package: '@k-jarzyna/mcp-miro',
    script: 'build/index.js',
    env: { MIRO_ACCESS_TOKEN: 'dummy' },
  },
  {
    name: 'resend',
    package: 'resend-mcp',
    script: 'dist/index.js',
    env: { RESEND_API_KEY: 're_dummy', SENDER_EMAIL_ADDRESS: 'a@example.com' },
  },
  {
    name: 'mailtrap',
    package: 'mcp-mailtrap',
    script: 'dist/index.js',
    env: { MAILTRAP_API_TOKEN: 'dummy', DEFAULT_FROM_EMAIL: 'a@example.com', MAILTRAP_ACCOUNT_ID: '1' },
  },
  {
    name: 'twilio',
    package: '@twilio-alpha/mcp',
    script: 'build/index.js',
    args: ['AC00000000000000000000000000000000/SK00000000000000000000000000000000:dummysecret'],
  },
  {
    name: 'linear',
    package: '@tacticlaunch/mcp-linear',
    script: 'dist/index.js',
    env: { LINEAR_API_TOKEN: 'lin_api_dummy' },
  },
  {
    name: 'gitlab',
    package: '@zereight/mcp-gitlab',
    script: 'build/index.js',
    env: {
      GITLAB_PERSONAL_ACCESS_TOKEN: 'dummy',
      GITLAB_API_URL: 'http://127.0.0.1/api/v4',
      USE_GITLAB_WIKI: 'true',
      USE_MILESTONE: 'true',
      USE_PIPELINE: 'true',
    },
  },
  {
    name: 'postman',
    package: '@postman/postman-mcp-server',
    script: 'dist/src/index.js',
    args: ['--full'],
    env: { POSTMAN_API_KEY: 'PMAK-dummy' },
  },
  {
    name: 'ms365',
    package: '@softeria/ms-365-mcp-server',
    script: 'dist/index.js',
    args: ['--org-mode'],
    env: { MS365_MCP_CLIENT_ID: 'dummy' },
  },
]

/** Returns how each of the twenty is started; `folder` is one that they may read. */
export function commandsOfTwenty(folder: string): Map<string, Command> {
  return new Map(
    servers.map(({ name, package: of, script, args = [], env = {} }) => [
      name,
      {
        command: process.execPath,
        args: [
          join(FOLDER, 'node_modules', of, script),
          ...args.map((one) => (one === READABLE ? folder : one)),
        ],
        env: { ...env },
      },
    ]),
  )
}

/** Returns one more server, which is among our own packages: over HTTP at this port, else on stdio. */
export function echoCommand(port?: number): Command {
  const script = new URL(
    '../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  )
  const args = [fileURLToPath(script), ...(port === undefined ? [] : ['streamableHttp'])]
  return { command: process.execPath, args, env: port === undefined ? {} : { PORT: String(port) } }
}

/** Installs them below bench/servers, unless they are there in the wanted versions. */
export function installTwenty(): void {
  const { dependencies } = readPackage(FOLDER) as { dependencies: Record<string, string> }
  const missing = Object.entries(dependencies).filter(
    ([name, version]) => readPackage(join(FOLDER, 'node_modules', name))?.version !== version,
  )
  if (missing.length === 0) return
  console.log(`bench mcp: installing ${missing.length} MCP servers into bench/servers (440 MB).`)
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    stdio: 'inherit',
  })
  if (status === 0) return
  throw new Error(
    'bench mcp: the twenty servers could not be installed. They come from your npm registry: see the lines above, then run "npm ci --ignore-scripts" in bench/servers.',
  )
}

function readPackage(
  folder: string,
): { readonly version?: string; readonly dependencies?: object } | undefined {
  const path = join(folder, 'package.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}
