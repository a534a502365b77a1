// Installs the packages of a lock file in the user's cache, so that another clone finds them. It is plain JavaScript
// because `scripts/test.mjs` runs it as it is.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')

const MAX_INSTALLATION_MS = 300_000
/** For so long nobody tries again what has failed. */
const ONE_MINUTE_MS = 60_000
const NEEDED_NODE = 24

/** Whether this Node is as new as the newest that a client needs. */
export function ownNodeIsNew() {
  return Number(process.versions.node.split('.')[0]) >= NEEDED_NODE
}

/**
 * Where the packages of a folder here are found: in a link, so that paths stay short and free of spaces.
 * @param {string} folder
 */
export function modulesOf(folder) {
  return join(here, folder, 'node_modules')
}

/**
 * Installs the packages of the lock file in a folder here, unless they are installed. Several processes may call it at
 * once: one installs, the others wait for it.
 * @param {string} folder
 * @returns {Promise<string | undefined>} Why it failed; undefined if the packages are there.
 */
export async function installClients(folder) {
  const places = placesOf(folder)
  const { source, home, stamp, lock, failure } = places
  await mkdir(home, { recursive: true })
  for (;;) {
    if (existsSync(stamp)) return linkModules(places)
    if (await isYounger(failure, ONE_MINUTE_MS)) return textOf(failure)
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
    const reason = `npm could not install what is needed: ${error.message}`
    await writeFile(failure, reason)
    return reason
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

function placesOf(folder) {
  const source = join(here, folder)
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
    modules: modulesOf(folder),
  }
}

/** Puts the link in the place of an older one, or of a folder from before there was a cache. */
async function linkModules({ installed, modules }) {
  if ((await readlink(modules).catch(() => undefined)) === installed) return
  const link = `${modules}-${process.pid}`
  await symlink(installed, link, 'junction')
  await rename(link, modules).catch(async () => {
    await rm(modules, { recursive: true, force: true })
    await rename(link, modules)
  })
}

/** A lock that is older than any installation belongs to a process that was ended. */
async function begins(lock) {
  if (existsSync(lock) && !(await isYounger(lock, MAX_INSTALLATION_MS)))
    await rm(lock, { recursive: true, force: true })
  try {
    await mkdir(lock)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Not `npm ci`: that wants every optional package in the lock file, also those that a registry does not have. */
function runNpm(home) {
  const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000']
  const npm = spawn('npm', [...words, ...patience], {
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: MAX_INSTALLATION_MS - 10_000,
    shell: process.platform === 'win32',
  })
  let said = ''
  npm.stderr.on('data', (chunk) => {
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

function firstWords(said) {
  const lines = said.replaceAll('npm error', '').trim().split('\n')
  return lines
    .slice(0, 4)
    .map((line) => line.trim())
    .join(', ')
}

async function textOf(path) {
  return readFile(path, 'utf8').catch(() => undefined)
}

async function isYounger(path, age) {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }))
  return Date.now() - mtimeMs < age
}
