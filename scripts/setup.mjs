// Makes a fresh clone ready: checks Node, then installs what package-lock.json names, if it is not there yet. The image is
// built with it, from files without test/.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../', import.meta.url)
const needed = [20, 19]

function nodeIsNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > needed[0] || (major === needed[0] && minor >= needed[1])
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(new URL(path, root), 'utf8')).packages
  } catch {
    return undefined
  }
}

/** The first reason to install, or undefined when node_modules matches the lock file. */
function reasonToInstall() {
  const wanted = readPackages('package-lock.json')
  const installed = readPackages('node_modules/.package-lock.json')
  if (!installed) return 'node_modules is missing'
  for (const [path, { version, optional, peer }] of Object.entries(wanted ?? {})) {
    if (path === '') continue
    const found = installed[path]?.version
    if (found === version) continue
    // Optional packages for other platforms are in the lock file but never installed.
    if (found === undefined && (optional || peer)) continue
    return `${path} is ${found ?? 'missing'}, package-lock.json wants ${version}`
  }
  return undefined
}

if (!nodeIsNewEnough()) {
  console.error(`setup: Toolshelf needs Node ${needed.join('.')} or newer; this is ${process.versions.node}.`)
  console.error(
    'setup: install a newer Node (for example with "nvm install 20"), then run the command again.',
  )
  process.exit(1)
}

async function install() {
  const reason = reasonToInstall()
  if (!reason) return console.log('setup: dependencies are up to date.')
  console.log(`setup: ${reason}.`)
  console.log('setup: installing dependencies with "npm ci", once; this takes about a minute.')
  // Uses npm's cached metadata first; if it is too old to list a version, tries again online.
  const code = (await runNpm(['ci', '--prefer-offline'])) && (await runNpm(['ci']))
  if (code === 0) return
  console.error('setup: "npm ci" failed; see the lines above.')
  process.exitCode = code
}

async function runNpm(words) {
  const npm = spawn('npm', [...words, '--no-audit', '--no-fund'], {
    cwd: fileURLToPath(root),
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  return new Promise((resolve) => {
    npm.once('error', () => resolve(1))
    npm.once('close', (status) => resolve(status ?? 1))
  })
}

await install()
