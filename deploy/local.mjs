// Starts what compose.yaml starts, without containers: Redis or Valkey from PATH, gateways, and a balancer in front of them.
//   node deploy/local.mjs [--config servers.json] [--users users.json] [--gateways 2] [--port 8080] [--no-store]
// Ctrl-C ends everything. Build the package first (npm run build), or have `toolshelf` on PATH.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startBalancer } from './balancer.mjs'

const USAGE =
  'node deploy/local.mjs [--config <servers>] [--users <file>] [--gateways 2] [--port 8080] [--no-store]'
const options = {
  config: { type: 'string', default: fileURLToPath(new URL('servers.json', import.meta.url)) },
  users: { type: 'string' },
  gateways: { type: 'string', default: '2' },
  port: { type: 'string', default: '8080' },
  'no-store': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
}
const values = readOptions()
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-local-'))
const children = new Set()
let isEnding = false

function readOptions() {
  try {
    const { values } = parseArgs({ options })
    if (!values.help) return values
    console.log(`Usage: ${USAGE}`)
    process.exit(0)
  } catch (error) {
    console.error(`local: ${error.message}\nUsage: ${USAGE}`)
    process.exit(2)
  }
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Starts a program whose lines are shown with its name; resolves when one of them matches. */
function start(name, command, args, ready, env = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  return new Promise((resolve, reject) => {
    let last = ''
    const hear = (chunk) => {
      for (const line of String(chunk).split('\n').filter(Boolean)) {
        if (!isEnding) console.error(`${name}: ${line}`)
        last = line
        const found = ready.exec(line)
        if (found) resolve({ child, found })
      }
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('error', reject)
    child.once('exit', (code) => {
      children.delete(child)
      reject(new Error(`${name} ended with ${code}: ${last}`))
    })
  })
}

const onPath = (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0

async function startStore() {
  if (values['no-store']) return {}
  const program = ['valkey-server', 'redis-server'].find(onPath)
  if (!program) {
    console.error('local: neither valkey-server nor redis-server is on PATH; install one, or pass --no-store')
    process.exit(1)
  }
  const port = await freePort()
  await start(
    'store',
    program,
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder],
    /Ready to accept/,
  )
  return { TOOLSHELF_STORE: `redis://127.0.0.1:${port}` }
}

/** The built package of this checkout, its sources, or the program on PATH. */
function toolshelf() {
  const built =
    process.env.TOOLSHELF_BINARY ?? fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url))
  if (existsSync(built)) return [process.execPath, built]
  if (onPath('toolshelf')) return ['toolshelf']
  const source = fileURLToPath(new URL('../packages/cli/src/main.ts', import.meta.url))
  return [process.execPath, '--import', import.meta.resolve('tsx'), source]
}

async function startGateway(number, env) {
  const [command, ...first] = toolshelf()
  const words = [
    'mcp',
    '--http',
    '--port',
    '0',
    '--config',
    values.config,
    '--proxies',
    '127.0.0.1',
    '--drain-delay',
    '1',
    ...(values.users === undefined ? [] : ['--users', values.users]),
  ]
  const { found } = await start(
    `gateway-${number}`,
    command,
    [...first, ...words],
    /ready at (\S+)\/mcp/,
    env,
  )
  return found[1]
}

async function end(code) {
  if (isEnding) return
  isEnding = true
  const ended = [...children].map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of children) child.kill('SIGTERM')
  await balancer?.close()
  await Promise.all(ended)
  rmSync(folder, { recursive: true, force: true })
  process.exit(code)
}

let balancer
process.on('SIGINT', () => end(0))
process.on('SIGTERM', () => end(0))
try {
  const env = await startStore()
  const numbers = Array.from({ length: Number(values.gateways) }, (_, index) => index + 1)
  const urls = await Promise.all(numbers.map((number) => startGateway(number, env)))
  balancer = await startBalancer(Number(values.port), urls)
  console.error(`local: ready at ${balancer.url}/mcp, with ${urls.length} gateways; Ctrl-C ends it`)
} catch (error) {
  console.error(`local: ${error.message}`)
  await end(1)
}
