// Installs the real clients of a lock file on the first test that wants one, in the user's cache, so that
// another clone finds them. They are too big for the project's own dependencies, and most need a newer Node than it does.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isThorough } from '../support/runs.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')

const LONGEST_INSTALLATION = 300_000
/** For so long nobody tries again what has failed. */
const ONE_MINUTE = 60_000
const NEEDED_NODE = 24

export type Clients = {
  /** Why there are none, in one line; undefined if they are here. */
  readonly missing: string | undefined
  /** A Node that all of them run on. */
  readonly node: string
  /** A file of an installed package. */
  readonly file: (path: string) => string
}

/** Packages that are installed together: those of one lock file, which is in a folder here. */
export type ClientSet = {
  readonly folder: string
  /** In megabytes, for a set so large that it is installed and tried only if TEST_EFFORT is above 1. */
  readonly largeMB?: number
}

const COMMON: ClientSet = { folder: '.' }
/** MCP Inspector, mcporter, opencode and pi. */
export const AGENTS: ClientSet = { folder: 'agents', largeMB: 485 }

/** `needed`: files of packages that not every platform has. */
export async function prepareClients(needed: readonly string[] = [], set = COMMON): Promise<Clients> {
  const common = placesOf(COMMON)
  const own = placesOf(set)
  const newerNode = `node-${process.platform}-${process.arch}/bin/node`
  const node = ownNodeIsNew() ? process.execPath : join(common.modules, newerNode)
  const file = (path: string) => join(own.modules, path)
  const missing =
    tooLarge(set) ??
    (set === COMMON ? undefined : await install(own)) ??
    (await install(common)) ??
    lacking(common, ownNodeIsNew() ? [] : [newerNode]) ??
    lacking(own, needed)
  if (missing !== undefined) process.stderr.write(`Skipped: ${missing}\n`)
  return { missing, node, file }
}

type Places = {
  readonly source: string
  readonly home: string
  readonly installed: string
  readonly stamp: string
  readonly lock: string
  readonly failure: string
  /** A link to the installation: paths from here stay short and free of spaces. */
  readonly modules: string
}

function placesOf(set: ClientSet): Places {
  const source = join(here, set.folder)
  const lockFile = readFileSync(join(source, 'package-lock.json'))
  const version = createHash('sha256').update(lockFile).digest('hex').slice(0, 12)
  const home = join(caches, 'toolshelf-test-clients', version)
  const installed = join(home, 'node_modules')
  return {
    source,
    home,
    installed,
    stamp: join(installed, '.installed'),
    lock: join(home, 'installing'),
    failure: join(home, 'installing-failed'),
    modules: join(source, 'node_modules'),
  }
}

function tooLarge({ folder, largeMB }: ClientSet): string | undefined {
  if (largeMB === undefined || isThorough) return undefined
  return `${folder} takes ${largeMB} MB; TEST_EFFORT=2 installs and tries it.`
}

function ownNodeIsNew(): boolean {
  return Number(process.versions.node.split('.')[0]) >= NEEDED_NODE
}

function lacking({ modules }: Places, files: readonly string[]): string | undefined {
  const absent = files.find((path) => !existsSync(join(modules, path)))
  if (absent === undefined) return undefined
  const [scope, name] = absent.split('/')
  const missing = scope?.startsWith('@') ? `${scope}/${name}` : scope
  return `npm has no ${missing} for ${process.platform} on ${process.arch}.`
}

/** Test files run side by side: one installs, the others wait for it. */
async function install(places: Places): Promise<string | undefined> {
  const { source, home, stamp, lock, failure } = places
  await mkdir(home, { recursive: true })
  for (;;) {
    if (existsSync(stamp)) return linkModules(places)
    if (await isYounger(failure, ONE_MINUTE)) return textOf(failure)
    if (await begins(lock)) break
    await pause(200)
  }
  try {
    for (const name of ['package.json', 'package-lock.json'])
      await copyFile(join(source, name), join(home, name))
    await runNpm(home)
    await writeFile(stamp, '')
    return await linkModules(places)
  } catch (error) {
    const reason = `the clients could not be installed: ${(error as Error).message}`
    await writeFile(failure, reason)
    return reason
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

/** Puts the link in the place of an older one, or of a folder from before there was a cache. */
async function linkModules({ installed, modules }: Places): Promise<undefined> {
  if ((await readlink(modules).catch(() => undefined)) === installed) return
  const link = `${modules}-${process.pid}`
  await symlink(installed, link, 'junction')
  await rename(link, modules).catch(async () => {
    await rm(modules, { recursive: true, force: true })
    await rename(link, modules)
  })
}

/** A lock that is older than any installation belongs to a process that was ended. */
async function begins(lock: string): Promise<boolean> {
  if (existsSync(lock) && !(await isYounger(lock, LONGEST_INSTALLATION)))
    await rm(lock, { recursive: true, force: true })
  try {
    await mkdir(lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Not `npm ci`: that wants every optional package in the lock file, also those that a registry does not have. */
function runNpm(home: string): Promise<void> {
  const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000']
  const npm = spawn('npm', [...words, ...patience], {
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LONGEST_INSTALLATION - 10_000,
    shell: process.platform === 'win32',
  })
  let said = ''
  npm.stderr.on('data', (chunk: Buffer) => {
    said += chunk
  })
  return new Promise((resolve, reject) => {
    npm.once('error', reject)
    npm.once('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(firstWords(said) || `npm ended with ${code ?? signal}.`))
    })
  })
}

function firstWords(said: string): string {
  const lines = said.replaceAll('npm error', '').trim().split('\n')
  return lines
    .slice(0, 4)
    .map((line) => line.trim())
    .join(', ')
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

async function isYounger(path: string, age: number): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }))
  return Date.now() - mtimeMs < age
}
