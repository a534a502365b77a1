// Exchanges jobs and outcomes between run.mjs and the processes of a test run, as files of one folder.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.env.MUTANTS_FOLDER
const jobFile = () => join(folder, 'job.json')

/** `job` has the mutated sources by path, the globs of the tests and the mutants to try. */
export function writeJob(job) {
  for (const name of ['outcomes', 'active', 'hits']) mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(jobFile(), JSON.stringify(job))
}

export function readJob() {
  return JSON.parse(readFileSync(jobFile(), 'utf8'))
}

/** `outcome` is `killed`, `timedOut`, or `slow` for a test that failed after so long that the machine may be the reason. */
export function writeOutcome(id, outcome) {
  writeFileSync(join(folder, 'outcomes', id), outcome)
}

/** The ids of the mutants that a test noticed so far, in any process. */
export function idsWithOutcome() {
  return new Set(readdirSync(join(folder, 'outcomes')))
}

export function outcomeOf(id) {
  return readFileSync(join(folder, 'outcomes', id), 'utf8')
}

export function isDoubtful(id) {
  return idsWithOutcome().has(id) && outcomeOf(id) === 'slow'
}

export function clearOutcome(id) {
  rmSync(join(folder, 'outcomes', id))
}

/** Records which mutant this process tries now, so that run.mjs can end a process that hangs. */
export function writeActive(id, limitMs) {
  writeFileSync(
    join(folder, 'active', String(process.pid)),
    JSON.stringify({ id, until: Date.now() + limitMs }),
  )
}

export function clearActive() {
  rmSync(join(folder, 'active', String(process.pid)), { force: true })
}

/** Returns the processes that have exceeded the time limit of a mutant. */
export function overdue() {
  const folderOfActive = join(folder, 'active')
  return readdirSync(folderOfActive).flatMap((pid) => {
    const active = tryParse(join(folderOfActive, pid))
    if (active === undefined || Date.now() < active.until) return []
    rmSync(join(folderOfActive, pid), { force: true })
    return [{ pid: Number(pid), id: active.id }]
  })
}

/**
 * The mutants that ran in this process: `inTests` within a test, `outside` while a file was loaded or in `beforeAll`; and the
 * tests that failed without a mutant; and `masked`, the files of tests in which a mutant must be tried alone.
 */
export function writeHits(hits) {
  const { pass = 0, alone } = readJob()
  if (!alone) writeFileSync(join(folder, 'hits', String(process.pid)), JSON.stringify({ ...hits, pass }))
}

export function readHits() {
  const all = readdirSync(join(folder, 'hits')).flatMap((name) => tryParse(join(folder, 'hits', name)) ?? [])
  const union = (key, some = all) => new Set(some.flatMap((hits) => hits[key]))
  const last = Math.max(0, ...all.map(({ pass }) => pass))
  return {
    inTests: union('inTests'),
    outside: union('outside'),
    // Tests that failed in the first pass were run again in the second.
    failing: union(
      'failing',
      all.filter(({ pass }) => pass === last),
    ),
    masked: mergeFiles(all.flatMap((hits) => hits.masked)),
  }
}

/** Files by mutant, of all processes. */
function mergeFiles(entries) {
  const files = new Map()
  for (const [id, names] of entries) files.set(id, [...new Set([...(files.get(id) ?? []), ...names])])
  return files
}

/** Undefined while another process writes the file. */
function tryParse(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
