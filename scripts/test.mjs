// `npm test`: lint, types and build side by side, meanwhile it installs what tests need besides (a browser, other runtimes,
// real clients and real servers), then runs the tests. Arguments go to vitest. A check that fails stops the tests, and its
// whole output comes last.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installClients } from '../test/clients/installation.mjs'
import { ensureBrowser } from './browser.mjs'

const fileOf = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const { scripts } = JSON.parse(readFileSync(fileOf('package.json'), 'utf8'))
const env = { ...process.env, PATH: [fileOf('node_modules/.bin'), process.env.PATH].join(delimiter) }

const failures = []
let tests

/** Runs a command of package.json, keeps its output in case it fails, and reports the outcome in one line. */
async function passes(command) {
  const startedAt = performance.now()
  const child = spawn(command, { shell: true, cwd: fileOf(''), env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const code = await codeOf(child)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'passed' : 'FAILED'} after ${seconds} s: ${command}`)
  if (code === 0) return
  failures.push(`\nFAILED: ${command}\n${Buffer.concat(output)}`)
  // As Ctrl-C does: vitest ends its workers.
  tests?.kill('SIGINT')
}

function codeOf(child) {
  return new Promise((resolve) => {
    child.once('error', () => resolve(1))
    child.once('close', (code) => resolve(code ?? 1))
  })
}

function runTests() {
  const words = [fileOf('node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)]
  tests = spawn(process.execPath, words, { cwd: fileOf(''), env, stdio: 'inherit' })
  return codeOf(tests)
}

const checks = [scripts.lint, ...scripts.typecheck.split(' && ')].map(passes)
// Without the clients and servers, the tests that want them try again and report why they are missing.
const prepared = [
  ensureBrowser(),
  ...['.', 'servers', '../runtimes'].map((folder) => installClients(folder).catch(() => {})),
]
await Promise.all([passes(scripts.build), ...prepared])
const code = failures.length === 0 ? await runTests() : 1
await Promise.all(checks)
for (const failure of failures) console.error(failure)
process.exitCode = failures.length > 0 ? 1 : code
