// The environment variables that a server process gets: what any program of its user needs, and what its entry names.
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readConfig } from '../../packages/mcp/src/config/config.ts'
import { serverEnvironment } from '../../packages/mcp/src/session/stdio.ts'
import type { ServerConfig, StdioConfig } from '../../packages/mcp/src/types.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { temporaryFolder } from './support/folder.ts'
import { openHost, textOf } from './support/host.ts'
import { local } from './support/servers.ts'

/** Variables of a person's shell, and what of them is nobody's business. */
const COMMON = {
  HTTP_PROXY: 'http://proxy.test:3128',
  https_proxy: 'http://proxy.test:3128',
  NO_PROXY: 'localhost',
  NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  SSL_CERT_FILE: '/etc/ca.pem',
  LANG: 'de_DE.UTF-8',
  LC_TIME: 'de_DE.UTF-8',
  TZ: 'Europe/Berlin',
  TMPDIR: tmpdir(),
  XDG_CONFIG_HOME: '/home/ada/.config',
  SSH_AUTH_SOCK: '/run/agent',
  DISPLAY: ':0',
  WAYLAND_DISPLAY: 'wayland-0',
  NPM_CONFIG_REGISTRY: 'https://npm.test/',
  npm_config_cache: '/cache',
}
const OWN = {
  AWS_PROFILE: 'work',
  AWS_SECRET_ACCESS_KEY: 'aws-secret-value',
  NPM_CONFIG__AUTHTOKEN: 'npm-secret-value',
  TOOLSHELF_KEY: 'master',
  TOOLSHELF_STORE: 'redis://user:pass@store',
}

/** What a server of this entry sees of these variables. */
async function seen(entry: object, gateway: object = {}): Promise<{ [name: string]: string }> {
  for (const [name, value] of Object.entries({ ...COMMON, ...OWN })) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { command, args } = local('one', 'environment').transport as StdioConfig
  const text = JSON.stringify({ mcpServers: { one: { command, args, ...entry } }, gateway })
  const { servers, problems } = await readConfig([{ file: '/toolshelf.json', text }])
  expect(problems).toEqual([])
  const { host } = openHost(servers)
  return JSON.parse(textOf(await host.call('one', 'reveal', {}))).environment
}

describe('H12 a server process', () => {
  it('H12 gets what any program of its user needs, and nothing else', async () => {
    const environment = await seen({ env: { GIVEN: 'yes', TZ: 'UTC' } })
    expect(environment).toMatchObject({ ...COMMON, HOME: process.env.HOME, GIVEN: 'yes', TZ: 'UTC' })
    for (const name of Object.keys(OWN)) expect(environment).not.toHaveProperty(name)
    expect(environment).not.toHaveProperty('VITEST')
  })

  it('H12 finds the programs beside our own Node, behind all others', async () => {
    vi.stubEnv('PATH', ['/one', '/two'].join(delimiter))
    const folder = dirname(process.execPath)
    expect((await seen({})).PATH?.split(delimiter)).toEqual(['/one', '/two', folder])
    expect((await seen({ env: { PATH: '/mine' } })).PATH).toBe('/mine')
  })

  it.each([
    [{ inheritEnv: ['AWS_PROFILE'] }, {}, ['AWS_PROFILE']],
    [{}, { inheritEnv: ['AWS_PROFILE'] }, ['AWS_PROFILE']],
    [{ inheritEnv: true }, {}, ['AWS_PROFILE', 'AWS_SECRET_ACCESS_KEY', 'NPM_CONFIG__AUTHTOKEN']],
    [{}, { inheritEnv: true }, ['AWS_PROFILE', 'AWS_SECRET_ACCESS_KEY', 'NPM_CONFIG__AUTHTOKEN']],
    [{ inheritEnv: false }, { inheritEnv: true }, []],
    [{ inheritEnv: ['TOOLSHELF_KEY', 'MISSING'] }, {}, []],
  ])('H12 gets what %j and %j name, and never variables of ours', async (entry, gateway, names) => {
    const environment = await seen(entry, gateway)
    expect(Object.keys(OWN).filter((name) => name in environment)).toEqual(names)
  })

  it('H12 gets them by names of any case on Windows, and an entry replaces one of any case', () => {
    const environment = { Path: 'C:\\bin', SystemRoot: 'C:\\Windows', aws_profile: 'work', Secret: 'x' }
    const windows = { environment, platform: 'win32', program: 'C:\\node\\node.exe' } as const
    const of = (given: object) => serverEnvironment({ env: {}, ...given }, windows)
    expect(of({ inheritEnv: ['AWS_PROFILE'] })).toEqual({
      Path: 'C:\\bin;C:\\node',
      SystemRoot: 'C:\\Windows',
      aws_profile: 'work',
    })
    expect(of({ env: { PATH: 'D:\\', systemroot: 'D:\\' } })).toEqual({ PATH: 'D:\\', systemroot: 'D:\\' })
  })
})

it('H8 the values of variables that an entry inherits by name are hidden', async () => {
  vi.stubEnv('ACME_KEY', 'inherited-secret-value')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { command, args } = local('one', 'crash secret').transport as StdioConfig
  for (const inheritEnv of [true, ['ACME_KEY']]) {
    const text = JSON.stringify({ mcpServers: { one: { command, args, inheritEnv } } })
    const { servers } = await readConfig([{ file: '/toolshelf.json', text }])
    const { host } = openHost(servers)
    await host.connect('one').catch(() => {})
    expect(host.status()[0]?.stderr).toContain('the key [hidden] was refused')
  }
})

it('H7 "inheritEnv" of a folder is for its own servers alone', async () => {
  const own = { file: '/own.json', text: '{"mcpServers":{"mine":{"command":"a"}}}' }
  const folder = '{"mcpServers":{"theirs":{"command":"b"}},"gateway":{"inheritEnv":true}}'
  const { servers, settings } = await readConfig([own, { file: '/f/.mcp.json', text: folder, folder: '/f' }])
  const inherited = ({ transport }: ServerConfig) => transport.kind === 'stdio' && transport.inheritEnv
  expect(servers.map(inherited)).toEqual([undefined, true])
  expect(settings).not.toHaveProperty('inheritEnv')
})

it.each([
  [
    'a server',
    { mcpServers: { it: { command: 'run', inheritEnv: ['AWS_PROFILE'] } } },
    /inherit.*AWS_PROFILE/is,
  ],
  ['all', { mcpServers: { it: { command: 'run' } }, gateway: { inheritEnv: true } }, /inherit/i],
])('H7 the trust question shows what %s would inherit', async (_, config, shown) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify(config))
  const { out } = await runHere({ folder, environment: { HOME: temporaryFolder() } }, ['trust', 'show'])
  expect(out).toMatch(shown)
})
