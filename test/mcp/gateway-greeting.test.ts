// The answer to `initialize` comes before the SDK is loaded, and is the one that the SDK would give.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import { expect, it, onTestFinished } from 'vitest'
import { defaultCacheFolder, openDefinitionCache } from '../../packages/mcp/src/cache/definition-cache.ts'
import { readConfig } from '../../packages/mcp/src/config/config.ts'
import { serveMcpGatewayOnStdio } from '../../packages/mcp/src/gateway/stdio.ts'
import { answerInitialize, greetingFor } from '../../packages/mcp/src/greeting/greeting.ts'
import { built } from '../../packages/testkit/src/binary.ts'
import { temporaryFolder } from './support/folder.ts'
import { openGateway } from './support/gateway.ts'
import { scriptPath } from './support/servers.ts'
import { listed, tool } from './support/small-servers.ts'

const initialize = (protocolVersion: unknown, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: { protocolVersion, capabilities: { roots: {} }, clientInfo: { name: 'c', version: '1' }, ...more },
})
const line = (message: object) => `${JSON.stringify(message)}\n`

/** The lines that a gateway writes for those it is sent, up to the answer to a ping. */
async function answers(sent: string, isEarly: boolean): Promise<string[]> {
  const { gateway, host } = openGateway([listed('one', [tool('run')]).config])
  const [input, output] = [new PassThrough(), new PassThrough()]
  input.write(sent + line({ jsonrpc: '2.0', id: 'last', method: 'ping' }))
  const answered = isEarly ? await answerInitialize(greetingFor(host.status()), { input, output }) : undefined
  const over = serveMcpGatewayOnStdio(gateway, { input, output, answered })
  let text = ''
  for await (const chunk of output) {
    text += chunk
    if (text.includes('"id":"last"')) break
  }
  input.end()
  await over
  return text.trim().split('\n')
}

it.each(SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < '2026'))(
  'is what the SDK answers, byte for byte, and is sent once: %s',
  async (version) => {
    const sent = line(initialize(version))
    const early = await answers(sent, true)
    expect(early).toHaveLength(2)
    expect(early).toEqual(await answers(sent, false))
  },
)

it.each([
  ['a version that must be chosen', line(initialize('1999-01-01'))],
  ['a request with a field that is not known', line(initialize('2025-11-25', { more: 1 }))],
  ['another request', line({ jsonrpc: '2.0', id: 1, method: 'tools/list' })],
  ['a line that is no message', 'hello?\n'],
])('leaves to the SDK: %s', async (_, sent) => {
  expect(await answers(sent, true)).toEqual(await answers(sent, false))
})

it('takes a request in pieces, and reads nothing that comes after it too early', async () => {
  const { gateway, host } = openGateway([listed('one', [tool('run')]).config])
  const asked = new Promise<object>((resolve) => {
    const start = host.start.bind(host)
    host.start = (capabilities = {}) => {
      resolve(capabilities)
      start(capabilities)
    }
  })
  const [input, output] = [new PassThrough(), new PassThrough()]
  const answered = answerInitialize(greetingFor(host.status()), { input, output })
  const sent = line(initialize('2025-11-25'))
  input.write(sent.slice(0, 20))
  await new Promise(setImmediate)
  input.write(sent.slice(20) + line({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  const over = serveMcpGatewayOnStdio(gateway, { input, output, answered: await answered })
  expect(await asked).toEqual({ roots: {} })
  input.end()
  await over
})

it('an input that ends before it says anything ends the gateway', async () => {
  const { gateway, host } = openGateway([])
  const [input, output] = [new PassThrough(), new PassThrough()]
  input.end('{"jsonrpc"')
  const answered = await answerInitialize(greetingFor(host.status()), { input, output })
  expect(answered).toBeUndefined()
  await serveMcpGatewayOnStdio(gateway, { input, output, answered })
})

const asModule = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`

/** A loader that never loads a file of the bundle with the SDK or the host in it, known by a text of theirs; it reports the first. */
const HOLD_BACK = `
import { readFileSync, writeSync } from 'node:fs'
let isReported = false
export function load(url, context, next) {
  const text = url.startsWith('file:') ? readFileSync(new URL(url), 'utf8') : ''
  if (!/Maximum total timeout exceeded|createMcpHost takes the .servers.|BAD_REQUEST/.test(text)) return next(url, context)
  if (!isReported) writeSync(2, 'held back\\n')
  isReported = true
  return new Promise(() => {})
}`

it('toolshelf mcp answers while neither the SDK nor the host can be loaded, with what it knows of its servers', async () => {
  expect(existsSync(built), `${built} exists; "npm run build" makes it`).toBe(true)
  const folder = temporaryFolder()
  const config = join(folder, 'toolshelf.json')
  const server = { command: process.execPath, args: [scriptPath('healthy')], description: 'sums' }
  writeFileSync(config, JSON.stringify({ mcpServers: { calculator: server } }))
  const [known] = (await readConfig([config])).servers
  const cache = openDefinitionCache(defaultCacheFolder({ XDG_CACHE_HOME: folder }), () => {})
  const extensions = { 'com.example/sums': {} }
  const about = {
    tools: [],
    freshUntil: 0,
    lists: {},
    info: undefined,
    clientCapabilities: {},
    isLegacy: true,
  }
  if (known)
    await cache.write(known, { ...about, capabilities: { extensions }, instructions: 'Add, then check.' })
  const hook = `import { register } from 'node:module'; register(${JSON.stringify(asModule(HOLD_BACK))})`
  const child = spawn(process.execPath, ['--import', asModule(hook), built, 'mcp', '--config', config], {
    env: { PATH: process.env.PATH ?? '', HOME: folder, XDG_CACHE_HOME: folder },
    stdio: 'pipe',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const heldBack = once(child.stderr, 'data')
  child.stdin.write(line(initialize('2025-06-18')))
  const [answer] = await once(child.stdout, 'data')
  expect(JSON.parse(String(answer))).toMatchObject({
    id: 'first',
    result: {
      protocolVersion: '2025-06-18',
      capabilities: { extensions },
      instructions: expect.stringMatching(/calculator \(sums\).*Add, then check\./s),
    },
  })
  expect(String(await heldBack)).toBe('held back\n')
})
