// Where the demo's servers come from: packages beside us, the cache, or npm. A small program stands in for npm.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type InstallOptions, provideServers } from '../../packages/cli/src/demo/install.ts'
import { demoServers } from '../../packages/cli/src/demo/servers.ts'
import { newPlace } from '../terminal/support.ts'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))

/** Puts a `npm` in front of all others; it runs in the folder where it should install. */
function withNpm(source: string) {
  const { folder } = newPlace()
  const npm = join(folder, 'npm')
  writeFileSync(npm, `#!${process.execPath}\n${source}`)
  chmodSync(npm, 0o755)
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`)
}

/** Writes an empty file for each package of package.json, as npm would install it. */
const INSTALLS = `
const { mkdirSync, readFileSync, writeFileSync } = require('node:fs')
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const scripts = ${JSON.stringify(Object.fromEntries(Object.values(demoServers).map((server) => [server.package, server.script])))}
for (const name of Object.keys(dependencies)) {
  const file = 'node_modules/' + name + '/' + (scripts[name] ?? 'index.js')
  mkdirSync(require('node:path').dirname(file), { recursive: true })
  writeFileSync(file, '')
}
`

function install(options: Partial<InstallOptions> = {}) {
  const told: string[] = []
  const cache = join(newPlace().folder, 'cache', 'demo-servers')
  const asked = { notify: (message: string) => void told.push(message), beside: [], cache, ...options }
  const again = () => provideServers({ signal: new AbortController().signal, ...asked })
  return { again, told, cache, provided: again() }
}

afterEach(() => {
  vi.unstubAllEnvs()
})

it('the demo installs the versions that it is tested with', () => {
  const versions = Object.values(demoServers).map((server) => [server.package, server.version])
  expect(manifest.devDependencies).toMatchObject(Object.fromEntries(versions))
})

describe.skipIf(process.platform === 'win32')('provideServers', () => {
  it('installs once, and says so in one line', async () => {
    withNpm(INSTALLS)
    const { again, told, cache, provided } = install()
    expect(await provided).toBe(join(cache, 'node_modules'))
    expect(told).toEqual([expect.stringContaining(`6 MCP servers from npm into ${cache}`)])
    withNpm('process.exit(1)')
    expect(await again()).toBe(join(cache, 'node_modules'))
    expect(told).toHaveLength(1)
    expect(readdirSync(join(cache, '..'))).toEqual(['demo-servers'])
  })

  it('installs the zod of a clone, which shapes the schemas of the servers', async () => {
    withNpm(INSTALLS)
    const { cache, provided } = install()
    await provided
    const { dependencies } = JSON.parse(readFileSync(join(cache, 'package.json'), 'utf8'))
    expect(dependencies.zod).toBe(lock.packages['node_modules/zod'].version)
  })

  it('replaces what is not whole', async () => {
    withNpm(INSTALLS)
    const { again, cache, provided } = install()
    await provided
    const [one] = Object.values(demoServers)
    rmSync(join(cache, 'node_modules', one?.package ?? ''), { recursive: true })
    expect(await again()).toBe(join(cache, 'node_modules'))
    expect(existsSync(join(cache, 'node_modules', one?.package ?? '', one?.script ?? ''))).toBe(true)
  })

  it('takes packages that are at hand', async () => {
    withNpm('process.exit(1)')
    const beside = newPlace().folder
    for (const server of Object.values(demoServers)) {
      mkdirSync(join(beside, server.package, server.script, '..'), { recursive: true })
      writeFileSync(join(beside, server.package, server.script), '')
    }
    const { told, provided } = install({ beside: [beside] })
    expect(await provided).toBe(beside)
    expect(told).toEqual([])
  })

  it.each([
    [
      'console.error("npm error code E404\\nnpm error 404 no such package\\n    at x (y.js)"); process.exit(1)',
      'code E404',
    ],
    ['', 'a package does not contain what the demo starts'],
  ])('says what went wrong and what to do, and leaves nothing behind: %s', async (source, message) => {
    withNpm(source)
    const { cache, provided } = install()
    const error: Error = await provided.then(
      () => new Error('it was installed'),
      (reason: Error) => reason,
    )
    expect(error.message).toContain(message)
    expect(error.message).toContain('npm ping')
    expect(error.message).not.toContain('y.js')
    expect(readdirSync(join(cache, '..'))).toEqual([])
  })

  it('stops when the person interrupts', async () => {
    withNpm('setInterval(() => {}, 1000)')
    const stop = new AbortController()
    const { cache, provided } = install({ signal: stop.signal })
    stop.abort()
    expect(await provided).toBeUndefined()
    expect(readdirSync(join(cache, '..'))).toEqual([])
  })
})
