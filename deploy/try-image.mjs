// Runs the steps of the Dockerfile without a container engine, in a temporary folder: the same commands, the same files, a user
// that is not root. Then starts the image's command, and asks its health check. With --modules, the packages installed here
// take the place of `npm ci`; `npm test` does so.
//   node deploy/try-image.mjs [--modules] [--keep]
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'toolshelf-image-'))
process.on('exit', () => {
  if (process.argv.includes('--keep')) console.log(root)
  else rmSync(root, { recursive: true, force: true })
})
chmodSync(root, 0o755)
/** Folders of the image, each below the temporary folder; others must not be written. */
const FOLDERS = ['/source', '/package', '/opt/toolshelf', '/home/node', '/etc/toolshelf']
const inRoot = (text) => FOLDERS.reduce((changed, folder) => changed.replaceAll(folder, root + folder), text)

const steps = readFileSync(new URL('Dockerfile', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .map((line) => ({ verb: line.split(' ', 1)[0], rest: line.slice(line.indexOf(' ') + 1) }))
const environment = { PATH: process.env.PATH, HOME: join(root, 'home/node') }
const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
const hasModules = process.argv.includes('--modules')
for (const folder of FOLDERS) mkdirSync(root + folder, { recursive: true })

/** What git knows, without what .dockerignore leaves out, as `docker build` would see it. */
function copyContext(to) {
  const ignored = readFileSync(join(repository, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => /^[^#]/.test(line))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
  })
  for (const file of files.split('\n').filter(Boolean)) {
    if (ignored.some((name) => file === name || file.startsWith(`${name}/`))) continue
    cpSync(join(repository, file), join(to, file), { recursive: true })
  }
}

/** Hard links, where that is possible: there are many. */
function copyModules(to) {
  const words = [join(repository, 'node_modules'), join(to, 'node_modules')]
  if (spawnSync('cp', ['-al', ...words]).status === 0) return
  rmSync(join(to, 'node_modules'), { recursive: true, force: true })
  execFileSync('cp', ['-a', ...words])
}

let cwd = root
const image = { entrypoint: [], command: [], health: [] }
for (const { verb, rest } of steps) {
  console.log(`${verb} ${rest}`)
  if (verb === 'WORKDIR') cwd = inRoot(rest)
  if (verb === 'RUN' && hasModules && rest.startsWith('npm ci ')) copyModules(cwd)
  else if (verb === 'RUN')
    execFileSync('sh', ['-c', inRoot(rest)], {
      cwd,
      env: { ...process.env, ...environment, npm_config_cache: cache, npm_config_prefer_offline: 'true' },
      stdio: 'inherit',
    })
  if (verb === 'COPY' && rest === '. .') copyContext(cwd)
  else if (verb === 'COPY' && !rest.startsWith('--from')) {
    const words = rest.split(' ')
    const target = words.pop()
    for (const file of words) {
      const to = target === './' ? join(cwd, file) : inRoot(target)
      mkdirSync(dirname(to), { recursive: true })
      cpSync(join(repository, file), to)
    }
  }
  if (verb === 'ENV')
    Object.assign(
      environment,
      Object.fromEntries(
        rest
          .split(' ')
          .map((pair) => [pair.split('=')[0], inRoot(pair.split('=')[1]).replace('$PATH', process.env.PATH)]),
      ),
    )
  if (verb === 'ENTRYPOINT') image.entrypoint = JSON.parse(rest)
  if (verb === 'CMD') image.command = JSON.parse(rest)
  if (verb === 'HEALTHCHECK') image.health = JSON.parse(rest.slice(rest.indexOf('CMD ') + 4))
}

const size = spawnSync('du', ['-sm', join(root, 'opt/toolshelf')], { encoding: 'utf8' }).stdout.split('\t')[0]
console.log(`the package takes ${size} MB of the image`)

// A server that needs nothing but Node.
const server = `
process.stdin.on('data', (chunk) => { for (const line of String(chunk).split('\\n').filter(Boolean)) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const results = { initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'try', version: '1' } },
    'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] } }
  const result = results[method]
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'unknown' } }) }))
} })`
writeFileSync(
  join(root, 'etc/toolshelf/servers.json'),
  JSON.stringify({ mcpServers: { try: { command: 'node', args: ['-e', server] } } }),
)
spawnSync('chown', ['-R', '1000:1000', join(root, 'home/node')])

const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const { port: free } = probe.address()
    probe.close(() => resolve(free))
  })
})
const asUser = process.getuid?.() === 0 ? ['setpriv', '--reuid=1000', '--regid=1000', '--clear-groups'] : []
if (asUser.length === 0) console.log('not root: running as the current user instead of user 1000')
const env = {
  ...environment,
  TOOLSHELF_KEY: 'to-try-the-image-on-loopback',
  TOOLSHELF_HEALTH_URL: `http://127.0.0.1:${port}/health`,
}
const [program, ...words] = [
  ...asUser,
  ...image.entrypoint,
  ...image.command.map(inRoot),
  '--port',
  String(port),
]
const gateway = spawn(program, words, {
  env,
  cwd: join(root, 'home/node'),
  stdio: ['ignore', 'inherit', 'pipe'],
})
let told = ''
gateway.stderr.on('data', (chunk) => {
  process.stderr.write(chunk)
  told += chunk
})
const over = new Promise((resolve) => gateway.once('exit', resolve))
for (let tries = 0; !told.includes('ready at') && gateway.exitCode === null && tries < 2400; tries++)
  await new Promise((resolve) => setTimeout(resolve, 100))
const [checker, ...checking] = [...asUser, ...image.health.map(inRoot)]
const health = spawnSync(checker, checking, { env, stdio: 'inherit' }).status
const user = spawnSync('ps', ['-o', 'uid=', '-p', String(gateway.pid)], { encoding: 'utf8' }).stdout.trim()
gateway.kill('SIGTERM')
const code = await over
console.log(`health check: ${health}, user: ${user}, exit code after SIGTERM: ${code}`)
process.exit(health === 0 && code === 0 ? 0 : 1)
