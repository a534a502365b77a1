// Tests the tests: changes the sources in small ways (mutants) and reports those changes that no test notices.
// --seed chooses another sample; --again tries only what survived the last run. Stryker's instrumenter, which makes the
// mutants, is installed on the first run.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { testsFor } from './tests.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const usage =
  'Usage: npm run mutants -- <folder or file of src/> [more …] [--sample N of each] [--seed N] [--tests <glob>] [--again]'
/** A run is repeated when a process had to be ended, at most this often. */
const MAX_RUNS = 6

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '0' },
    tests: { type: 'string', multiple: true },
    again: { type: 'boolean', default: false },
  },
})
process.chdir(root)
/** Each name with its files; a file that two names hold counts for the first. */
const places = positionals.map((name) => ({ name, files: sourceFiles(name) }))
const files = [...new Set(places.flatMap((place) => place.files))]
const count = values.sample === undefined ? Number.POSITIVE_INFINITY : Number(values.sample)
if (files.length === 0 || !(count >= 1)) fail(usage)
setPriority(10)
install()

const work = join(root, '.mutants')
const survivorsFile = join(work, 'survivors.json')
process.env.MUTANTS_FOLDER = join(work, `run-${process.pid}`)
const { listMutants, mutate, sample } = await import('./choose.mjs')
const job = await import('./job.mjs')
const { isSurvivor, report } = await import('./report.mjs')

const all = await listMutants(files)
const equivalents = JSON.parse(readFileSync(join(here, 'equivalent.json'), 'utf8'))
const chosen = places
  .flatMap(({ name }) =>
    sample(mutantsOf(name), count, values.seed).map((mutant) => ({ ...mutant, place: name })),
  )
  .filter((mutant) => !equivalents.some((known) => isSame(known, mutant)))
  .filter(({ identity }) => !values.again || lastSurvivors().includes(identity))
if (chosen.length === 0) fail('No mutants to try.')
const { sources, mutants } = await mutate(chosen)
console.log(`${chosen.length} of ${all.length} mutants, in ${sources.size} of ${files.length} files`)

let child
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupt)
await tryAll()
await tryFailingIsolated()
await tryMaskedAlone()
finish()

async function tryAll() {
  mkdirSync(process.env.MUTANTS_FOLDER, { recursive: true })
  job.writeJob({ sources: {}, tests: [], ids: [] })
  for (let run = 0; run < MAX_RUNS; run++) {
    const done = job.idsWithOutcome()
    job.writeJob({
      sources: mutatedSources(),
      tests: values.tests ?? testsFor([...sources.keys()]),
      ids: mutants.map(({ id }) => id).filter((id) => !done.has(id)),
    })
    if ((await runTests()) === 0) return
  }
}

/** Files with tests that failed without a mutant: an earlier mutant may have left something behind in their process. */
async function tryFailingIsolated() {
  const tests = [...new Set([...job.readHits().failing].map((title) => title.split(': ')[0]))]
  if (tests.length === 0) return
  const done = job.idsWithOutcome()
  const ids = mutants.map(({ id }) => id).filter((id) => !done.has(id))
  job.writeJob({ sources: mutatedSources(), tests, ids, pass: 1, isIsolated: true })
  await runTests()
}

/** Tries each mutant in its own process, so that cached state also comes from the mutant. */
async function tryMaskedAlone() {
  const { masked, failing } = job.readHits()
  const done = job.idsWithOutcome()
  for (const { id } of mutants) {
    const tests = masked.get(id)
    if (!tests || done.has(id)) continue
    job.writeJob({ sources: mutatedSources(), tests, ids: [id], alone: { id, failing: [...failing] } })
    await runTests()
    // A slow failure counts only if it happens twice, because the machine may have stalled once.
    if (!job.isDoubtful(id)) continue
    job.clearOutcome(id)
    await runTests()
  }
}

function mutatedSources() {
  return Object.fromEntries([...sources].map(([name, text]) => [join(root, name), text]))
}

/** Resolves to the number of processes that had to be ended because a mutant kept them busy. */
async function runTests() {
  let ended = 0
  const watch = setInterval(() => {
    for (const { pid, id } of job.overdue()) {
      job.writeOutcome(id, 'timedOut')
      if (endProcess(pid)) ended++
    }
  }, 1_000)
  const words = ['run', '--config', join(here, 'vitest.config.mjs')]
  child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...words], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // A group of its own, so that an interrupted run leaves no process behind.
    detached: true,
    // Snapshots are compared and never written.
    env: { ...process.env, CI: 'true', NODE_NO_WARNINGS: '1' },
  })
  await new Promise((resolve) => child.once('exit', resolve))
  clearInterval(watch)
  return ended
}

/** False for a process that has ended by itself. */
function endProcess(pid) {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

/** Reports the results so far if somebody interrupts the run. */
function interrupt() {
  if (child?.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  finish()
  process.exit(130)
}

function finish() {
  const done = job.idsWithOutcome()
  const { inTests, outside, failing } = job.readHits()
  for (const test of failing) console.log(`fails without a mutant, so it was not used: ${test}`)
  const outcomeOf = (id) => {
    if (done.has(id)) return job.outcomeOf(id)
    if (inTests.has(id)) return 'survived'
    return outside.has(id) ? 'static' : 'uncovered'
  }
  const tried = mutants.map((mutant) => ({ ...mutant, outcome: outcomeOf(mutant.id) }))
  report(tried)
  writeFileSync(survivorsFile, JSON.stringify(tried.filter(isSurvivor).map(({ identity }) => identity)))
  rmSync(process.env.MUTANTS_FOLDER, { recursive: true, force: true })
}

function mutantsOf(name) {
  const placeOf = (file) => places.find((place) => place.files.includes(file)).name
  return all.filter(({ fileName }) => placeOf(fileName) === name)
}

function sourceFiles(name) {
  const path = name.startsWith('src') ? name : join('src', name)
  if (!existsSync(path)) fail(`${path}: no such folder or file`)
  if (statSync(path).isFile()) return [path]
  // `messages/.` are the files of the folder itself.
  const recursive = !name.endsWith('/.')
  return readdirSync(path, { recursive, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(path, file))
    .sort()
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
    return JSON.parse(readFileSync(join(here, file), 'utf8')).packages[
      'node_modules/@stryker-mutator/instrumenter'
    ]?.version
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
