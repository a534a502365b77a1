// Tests the tests: changes the sources in small ways (mutants) and reports those changes that no test notices.
// Usage: npm run mutants -- <folder or file of src/> [more …] [--sample N] [--tests <glob>] [--again]
// --again tries only what survived the last run. Stryker is installed on the first run.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { testsFor } from './tests.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const work = '.mutants'
const survivorsFile = join(work, 'survivors.json')
const chosenFile = join(root, work, `chosen-${process.pid}.json`)
/** A mutated text is most often a message for people, which few tests should pin word by word. */
const excludedMutations = ['StringLiteral']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    tests: { type: 'string', multiple: true },
    again: { type: 'boolean', default: false },
  },
})
process.chdir(root)
const files = positionals.flatMap(sourceFiles)
const count = values.sample === undefined ? Number.POSITIVE_INFINITY : Number(values.sample)
if (files.length === 0 || !(count >= 1))
  fail('Usage: npm run mutants -- <folder or file of src/> [more …] [--sample N] [--tests <glob>] [--again]')
setPriority(10)
install()

const { listMutants, sample } = await import('./choose.mjs')
const { printTotals, startReport, survivorsSoFar } = await import('./report.mjs')
const { Stryker } = await import('@stryker-mutator/core')
const all = await listMutants(files, excludedMutations)
const equivalents = JSON.parse(readFileSync(join(here, 'equivalent.json'), 'utf8'))
const chosen = sample(all, count)
  .filter((mutant) => !equivalents.some((known) => isSame(known, mutant)))
  .filter(({ identity }) => !values.again || lastSurvivors().includes(identity))
if (chosen.length === 0) fail('No mutants to try.')
const mutated = [...new Set(chosen.map(({ fileName }) => fileName))]
console.log(`${chosen.length} of ${all.length} mutants, in ${mutated.length} of ${files.length} files`)

mkdirSync(work, { recursive: true })
writeFileSync(chosenFile, JSON.stringify(chosen.map(({ key }) => key)))
process.env.MUTANTS_ROOT = root
process.env.MUTANTS_CHOSEN = chosenFile
process.env.MUTANTS_TESTS = JSON.stringify(values.tests ?? testsFor(mutated))
startReport(root, chosen)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, finish)
await new Stryker({
  mutate: chosen.map(rangeOf),
  mutator: { plugins: null, excludedMutations },
  plugins: ['@stryker-mutator/vitest-runner', join(here, 'chosen-only.mjs'), join(here, 'report.mjs')],
  testRunner: 'chosen-only',
  vitest: { configFile: 'scripts/mutants/vitest.config.mjs', related: false },
  // TypeScript 7 has no API that Stryker could rewrite a tsconfig with, and nothing here needs it rewritten.
  tsconfigFile: 'none',
  coverageAnalysis: 'perTest',
  // Constants of a module: each would need every test in a new process.
  ignoreStatic: true,
  concurrency: 1,
  // Generous: on a busy machine a slow run must not count as an endless one.
  timeoutMS: 120_000,
  dryRunTimeoutMinutes: 60,
  ignorePatterns: [
    'dist',
    'site',
    'coverage',
    work,
    '**/.git',
    'bench/servers/node_modules',
    'test/clients/node_modules',
  ],
  tempDirName: join(work, 'sandbox'),
  cleanTempDir: 'always',
  reporters: ['survivors'],
  logLevel: 'warn',
  allowConsoleColors: false,
}).runMutationTest()
finish()

/** A place to mutate, as Stryker writes it. Mutants inside of it come along and are skipped. */
function rangeOf({ fileName, location: { start, end } }) {
  return `${fileName}:${start.line + 1}:${start.column}-${end.line + 1}:${end.column}`
}

function sourceFiles(name) {
  const path = name.startsWith('src') ? name : join('src', name)
  if (!existsSync(path)) fail(`${path}: no such folder or file`)
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(path, file))
    .sort()
}

/** Also when somebody interrupts the run: what was tried until then counts. */
function finish() {
  rmSync(chosenFile, { force: true })
  printTotals()
  writeFileSync(survivorsFile, JSON.stringify(survivorsSoFar()))
}

function lastSurvivors() {
  if (!existsSync(survivorsFile)) fail(`${survivorsFile} is missing: run once without --again first.`)
  return JSON.parse(readFileSync(survivorsFile, 'utf8'))
}

/** By texts, not by line numbers, so that an entry outlives edits elsewhere in its file. */
function isSame(known, { fileName, line, original, replacement }) {
  return known.file === fileName && known.line === line && known.from === original && known.to === replacement
}

// Not `npm ci`: that demands optional packages for every platform, also those that a registry does not have.
function install() {
  const versionIn = (file) => {
    if (!existsSync(join(here, file))) return undefined
    return JSON.parse(readFileSync(join(here, file), 'utf8')).packages['node_modules/@stryker-mutator/core']
      ?.version
  }
  if (versionIn('node_modules/.package-lock.json') === versionIn('package-lock.json')) return
  const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync('npm', words, {
    cwd: here,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}

function fail(message) {
  console.error(message)
  process.exit(2)
}
