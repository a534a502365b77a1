// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// Configuration as people have it: each client's file, read through the one door.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../packages/mcp/src/config/config.ts'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'

const root = mkdtempSync(join(tmpdir(), 'toolshelf-formats-'))
const home = join(root, 'home')
const project = join(root, 'project')

function write(path: string, content: object | string): string {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

async function read(file: string, environment: { [name: string]: string } = {}) {
  const { servers, problems } = await readConfig([file], environment, { home, folder: project })
  const messages = problems.map(({ server, message }) => (server ? `${server}: ${message}` : message))
  return { byName: Object.fromEntries(servers.map((server) => [server.name, server])), messages }
}

const stdio = (server: ServerConfig | undefined) => {
  if (server?.transport.kind !== 'stdio') throw new Error('not a stdio server')
  return server.transport
}

describe('H1 configuration as people have it', () => {
  it('.mcp.json and Claude Desktop', async () => {
    const file = write('project/.mcp.json', {
      mcpServers: {
        files: { command: 'npx', args: ['-y', 'files', '/data', 7], env: { LEVEL: 3, TOKEN: '${T:-none}' } },
        docs: { type: 'http', url: 'https://${HOST}/mcp', headers: { Authorization: 'Bearer ${KEY}' } },
        old: { type: 'sse', url: 'http://localhost:1/sse' },
        pinned: { type: 'streamable-http', url: 'http://localhost:1/mcp', alwaysLoad: true, timeout: 30000 },
      },
    })
    const { byName, messages } = await read(file, { HOST: 'docs.test', KEY: 'secret' })
    expect(messages).toEqual([])
    expect(byName.files).toEqual({
      name: 'files',
      transport: {
        kind: 'stdio',
        command: 'npx',
        args: ['-y', 'files', '/data', '7'],
        env: { LEVEL: '3', TOKEN: 'none' },
        cwd: project,
      },
      disabled: false,
      lazy: false,
      alwaysLoad: undefined,
      description: undefined,
      tools: {},
      allow: [],
      deny: [],
      connectTimeoutMs: 60_000,
      callTimeoutMs: 120_000,
      source: file,
    })
    expect(byName.docs?.transport).toEqual({
      kind: 'http',
      url: 'https://docs.test/mcp',
      headers: { Authorization: 'Bearer secret' },
    })
    expect(byName.old?.transport.kind).toBe('sse')
    expect(byName.pinned).toMatchObject({
      transport: { kind: 'http' },
      alwaysLoad: true,
      callTimeoutMs: 30_000,
    })
  })

  it('Claude Code: servers for all projects, and for this one only', async () => {
    const file = write('home/.claude.json', {
      numStartups: 4,
      mcpServers: { everywhere: { command: 'a' } },
      projects: {
        [project]: { history: [], mcpServers: { here: { command: 'b' } } },
        [join(root, 'other')]: { mcpServers: { elsewhere: { command: 'c' } } },
      },
    })
    const { byName, messages } = await read(file)
    expect(messages).toEqual([])
    expect(Object.keys(byName).sort()).toEqual(['everywhere', 'here'])
    expect(stdio(byName.here).cwd).toBe(project)
    expect(stdio(byName.everywhere).cwd).toBeUndefined()
  })

  it('Cursor', async () => {
    const file = write('home/.cursor/mcp.json', {
      mcpServers: {
        local: { command: '${userHome}/bin/x', args: ['${workspaceFolder}'], env: { K: '${env:KEY}' } },
        remote: { url: 'https://x.test/mcp', auth: { CLIENT_ID: 'me' } },
      },
    })
    const { byName, messages } = await read(file, { KEY: 'secret' })
    expect(stdio(byName.local)).toMatchObject({
      command: join(home, 'bin/x'),
      args: [project],
      env: { K: 'secret' },
    })
    expect(byName.remote?.transport.kind).toBe('auto')
    expect(messages).toEqual([expect.stringMatching(/^remote: "auth": .* not used/)])
  })

  it('VS Code: comments, trailing commas, the workspace', async () => {
    const file = write(
      'project/.vscode/mcp.json',
      `// servers
      { "servers": { /* one */
          "local": { "type": "stdio", "command": "./run", "args": ["\${workspaceFolder}/a", "// no comment",], },
          "remote": { "type": "http", "url": "https://x.test/mcp", },
        },
      }`,
    )
    const { byName, messages } = await read(file)
    expect(messages).toEqual([])
    expect(stdio(byName.local)).toMatchObject({
      command: join(project, 'run'),
      args: [join(project, 'a'), '// no comment'],
      cwd: project,
    })
    expect(byName.remote?.transport.kind).toBe('auto')
  })

  it('VS Code: what it would ask for comes from a variable, which is named', async () => {
    const file = write('project/.vscode/asks/settings.json', {
      'editor.tabSize': 2,
      mcp: {
        inputs: [{ type: 'promptString', id: 'api-key', password: true }],
        servers: { asks: { command: 'x', env: { KEY: '${input:api-key}' } } },
      },
    })
    const without = await read(file)
    expect(without.byName).toEqual({})
    expect(without.messages).toEqual([
      'asks: the environment variable ASKS_API_KEY is not set; set it to what VS Code asks for as "api-key". The server is left out until it is.',
    ])
    const withKey = await read(file, { ASKS_API_KEY: 'secret', API_KEY: 'another' })
    expect(withKey.messages).toEqual([])
    expect(stdio(withKey.byName.asks).env).toEqual({ KEY: 'secret' })
  })

  it.each([
    ['github-token', 'hub', 'GITHUB_TOKEN'],
    ['githubToken', 'hub', 'GITHUB_TOKEN'],
    ['token', 'my-hub', 'MY_HUB_TOKEN'],
    ['hub_token', 'hub', 'HUB_TOKEN'],
    ['path', 'files', 'FILES_PATH'],
    ['1', 'files', 'FILES_1'],
    ['1', '1', '_1_1'],
    ['!', 'files', 'FILES_INPUT'],
    ['é', 'files', 'FILES_UC9'],
    ['密', 'files', 'FILES_U5BC6'],
  ])('VS Code: the input %s of the server %s comes from %s', async (input, server, variable) => {
    const file = write('named/mcp.json', {
      servers: { [server]: { command: 'x', args: [`\${input:${input}}`] } },
    })
    const system = { PATH: '/bin', TOKEN: 'of somebody else' }
    expect((await read(file, system)).messages).toEqual([
      expect.stringContaining(`variable ${variable} is not`),
    ])
    const { byName } = await read(file, { ...system, [variable]: 'secret' })
    expect(stdio(byName[server]).args).toEqual(['secret'])
  })

  it('VS Code: reports what is not supported here', async () => {
    const file = write('vs/mcp.json', {
      servers: {
        a: { command: 'x', envFile: '.env', sandboxEnabled: true, dev: { watch: '*' } },
        b: { command: 'x', args: ['${command:pick}'] },
      },
    })
    const { byName, messages } = await read(file)
    expect(Object.keys(byName)).toEqual(['a'])
    expect(messages).toEqual([
      'a: "envFile": the file is not read; put its variables into "env".',
      'a: "sandboxEnabled": the server runs without a sandbox.',
      'b: ${command:…} cannot be filled in; write ${NAME} and set NAME. The server is left out.',
    ])
  })

  it('Windsurf', async () => {
    const file = write('home/.codeium/windsurf/mcp_config.json', {
      mcpServers: {
        remote: {
          serverUrl: 'https://x.test/mcp',
          headers: { A: '${env:KEY}' },
          disabledTools: ['drop'],
          disabled: true,
        },
      },
    })
    const { byName, messages } = await read(file)
    expect(messages).toEqual([])
    expect(byName.remote).toMatchObject({
      transport: { kind: 'auto', url: 'https://x.test/mcp' },
      deny: ['drop'],
      disabled: true,
    })
  })

  it('Codex', async () => {
    const file = write(
      'home/.codex/config.toml',
      `model = "gpt"
      [mcp_servers.local]
      command = "npx"
      args = ["-y", "x"]
      env_vars = ["SET", { name = "UNSET", source = "local" }]
      startup_timeout_sec = 20.5
      tool_timeout_sec = 90
      enabled_tools = ["a", "b"]
      disabled_tools = ["c"]
      default_tools_approval_mode = "prompt"
      required = true
      [mcp_servers.local.env]
      FIXED = "1"
      [mcp_servers.local.tools.a]
      approval_mode = "approve"
      [mcp_servers.remote]
      url = "https://x.test/mcp"
      bearer_token_env_var = "TOKEN"
      http_headers = { "X-A" = "1" }
      env_http_headers = { "X-B" = "HEADER" }
      auth = "oauth"
      [mcp_servers.off]
      command = "x"
      enabled = false
      enabled_tools = []
      startup_timeout_ms = 5000`,
    )
    const { byName, messages } = await read(file, { SET: 'here', TOKEN: 'secret', HEADER: 'two' })
    expect(messages).toEqual([])
    expect(byName.local).toMatchObject({
      transport: { kind: 'stdio', env: { FIXED: '1', SET: 'here', UNSET: '' } },
      connectTimeoutMs: 20_500,
      callTimeoutMs: 90_000,
      allow: ['a', 'b'],
      deny: ['c'],
      tools: {},
    })
    expect(byName.remote?.transport).toMatchObject({
      headers: { Authorization: 'Bearer secret', 'X-A': '1', 'X-B': 'two' },
    })
    expect(byName.off).toMatchObject({ disabled: true, allow: [], deny: ['*'], connectTimeoutMs: 5_000 })
  })

  it('Codex under any name', async () => {
    const file = write('codex-config', '[mcp_servers.x]\ncommand = "x"\n')
    expect(Object.keys((await read(file)).byName)).toEqual(['x'])
  })

  it('Gemini CLI', async () => {
    const file = write('home/.gemini/settings.json', {
      theme: 'Default',
      mcp: { allowed: ['local'] },
      mcpServers: {
        local: { command: 'x', env: { KEY: '$MY_KEY', PRICE: '$5' }, trust: true, timeout: 600000 },
        http: { httpUrl: 'https://x.test/mcp', includeTools: ['a'], excludeTools: ['b'] },
        any: { url: 'https://x.test/sse' },
        sse: { url: 'https://x.test/sse', type: 'sse' },
      },
    })
    const { byName, messages } = await read(file, { MY_KEY: 'secret' })
    expect(messages).toEqual([])
    expect(stdio(byName.local).env).toEqual({ KEY: 'secret', PRICE: '$5' })
    expect(byName.local?.callTimeoutMs).toBe(600_000)
    expect(byName.http).toMatchObject({ transport: { kind: 'http' }, allow: ['a'], deny: ['b'] })
    expect([byName.any?.transport.kind, byName.sse?.transport.kind]).toEqual(['auto', 'sse'])
  })

  it.each(['mcp', 'mcp.servers'])('opencode, servers under %s', async (place) => {
    const servers = {
      local: { type: 'local', command: ['npx', '-y', 'x'], environment: { KEY: '{env:KEY}' }, enabled: true },
      remote: {
        type: 'remote',
        url: 'https://x.test/mcp',
        oauth: false,
        timeout: { startup: 5, request: 7 },
      },
      off: { type: 'local', command: ['x'], enabled: false },
    }
    const mcp = place === 'mcp' ? servers : { servers }
    const { byName, messages } = await read(write(`${place}/opencode.jsonc`, { mcp }), { KEY: 'secret' })
    expect(messages).toEqual([])
    expect(stdio(byName.local)).toMatchObject({ command: 'npx', args: ['-y', 'x'], env: { KEY: 'secret' } })
    expect(byName.remote).toMatchObject({
      transport: { kind: 'auto' },
      connectTimeoutMs: 5,
      callTimeoutMs: 7,
    })
    expect(byName.off?.disabled).toBe(true)
  })

  it('Zed, new and old, and seconds', async () => {
    const file = write('home/.config/zed/settings.json', {
      context_servers: {
        new: { source: 'custom', command: 'x', args: ['y'], env: {}, timeout: 30 },
        old: { command: { path: '/bin/x', args: ['y'], env: { A: '1' } }, settings: {} },
        extension: { settings: { key: 1 } },
      },
    })
    const { byName, messages } = await read(file)
    expect(byName.new?.callTimeoutMs).toBe(30_000)
    expect(stdio(byName.old)).toMatchObject({ command: '/bin/x', args: ['y'], env: { A: '1' } })
    expect(messages).toEqual(['extension: it has neither a "command" nor a "url"; it is left out.'])
  })

  it('Copilot CLI', async () => {
    const file = write('home/.copilot/mcp-config.json', {
      mcpServers: { x: { type: 'local', command: 'x', tools: ['*'] }, none: { command: 'x', tools: [] } },
    })
    const { byName, messages } = await read(file)
    expect(messages).toEqual([])
    expect(byName.x).toMatchObject({ transport: { kind: 'stdio' }, allow: ['*'], tools: {} })
    expect(byName.none?.deny).toEqual(['*'])
  })
})
