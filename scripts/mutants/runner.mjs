// Vitest's runner, which runs each test first as it is and then once more for every mutant that the test entered.
// The sources hold all mutants at once and ask which one is active, so nothing is loaded twice. A mutant that makes a test
// fail is killed if the test passes again without it.
import { TestRunner } from 'vitest'
import { clearActive, idsWithOutcome, readJob, writeActive, writeHits, writeOutcome } from './job.mjs'

/** Tests that take longer without a mutant are run only as they are. */
const SLOW_CPU_MS = Number(process.env.MUTANTS_SLOW_MS ?? 1_000)
const SLOW_MS = 10 * SLOW_CPU_MS
/** A mutant that executes this many times more often than the original is in an endless loop. */
const HIT_FACTOR = 100
/** A failure that takes this many times as long as the original, plus some seconds, may be due to a stall: it must happen twice. */
const STALL_FACTOR = 5
const STALL_MS = 1_500
/** A mutant that survived this much work of one file's tests is tried by the tests of other files only. */
const MAX_MS_PER_FILE = 400

/** The real clock, even while a test replaces it. */
const { setTimeout, clearTimeout } = globalThis
const now = performance.now.bind(performance)

const { ids, alone } = readJob()
const tried = new Set(ids)
/** What the mutated sources share with whoever activates a mutant; the name is Stryker's. */
globalThis.__stryker__ ??= {
  mutantCoverage: { static: {}, perTest: {} },
  inTests: new Set(),
  failing: [],
  masked: {},
}
const mutants = globalThis.__stryker__
let hasStrayError = false
for (const event of ['unhandledRejection', 'uncaughtException']) {
  process.on(event, () => {
    hasStrayError = true
  })
}
/** Milliseconds of work by mutant, for the file whose tests are running. */
const spent = new Map()

export default class MutantRunner extends TestRunner {
  /**
   * The test that is running, and the step it is at: `original`, `mutant`, `again` (the original, behind a failure), or
   * `alone` (one mutant from the start of the process, because something remembered what the original did).
   */
  #current

  async onBeforeRunTask(test) {
    await super.onBeforeRunTask(test)
    test.retry = Number.MAX_SAFE_INTEGER
    const step = alone === undefined ? 'original' : 'alone'
    this.#current = { step, queue: [], hits: {}, limitMs: alone === undefined ? 60_000 : 20_000 }
  }

  onBeforeTryTask(test) {
    super.onBeforeTryTask(test)
    hasStrayError = false
    const { step, queue, hits, limitMs } = this.#current
    mutants.currentTestId = test.id
    mutants.mutantCoverage.perTest[test.id] = {}
    if (step === 'mutant' || step === 'alone') {
      const id = alone?.id ?? queue[0]
      const hitLimit = alone ? HIT_FACTOR * 10_000 : HIT_FACTOR * (hits[id] + 10)
      Object.assign(mutants, { activeMutant: id, hitCount: 0, hitLimit })
      writeActive(id, 60_000 + 2 * limitMs)
    }
    Object.assign(this.#current, { cpu: process.cpuUsage(), start: now() })
  }

  runTask(test) {
    // One test that kills a mutant is enough, and a mutant that makes one test hang may make all of them hang.
    const done = idsWithOutcome()
    if (ids.every((id) => done.has(id))) return
    return withLimit(TestRunner.getTestFn(test)(), this.#current.limitMs)
  }

  async onAfterRetryTask(test) {
    const current = this.#current
    const isEndless = mutants.activeMutant !== undefined && mutants.hitCount > mutants.hitLimit
    const isFailed = test.result.state === 'fail' || isEndless || hasStrayError
    const hits = mutants.mutantCoverage.perTest[test.id] ?? {}
    delete mutants.mutantCoverage.perTest[test.id]
    Object.assign(mutants, { activeMutant: undefined, currentTestId: undefined })
    clearActive()
    if (current.step === 'original') this.#afterOriginal(test, isFailed, hits)
    else if (current.step === 'mutant') afterMutant(current, isFailed, isEndless, test)
    else if (current.step === 'again') afterAgain(current, isFailed, test)
    else if (isFailed && !alone.failing.includes(titleOf(test)) && !idsWithOutcome().has(alone.id))
      writeOutcome(alone.id, isStalled(current, 1_000) ? 'slow' : 'killed')
    // Vitest retries what failed with an error, as often as `retry` says.
    const isOver = current.queue.length === 0
    const outcome = isOver
      ? { state: 'pass', errors: undefined }
      : { state: 'fail', errors: [{ message: 'retry' }] }
    Object.assign(test.result, outcome, { pending: false })
  }

  onAfterRunFiles() {
    super.onAfterRunFiles()
    spent.clear()
    const outside = Object.keys(mutants.mutantCoverage.static)
    const { failing, masked } = mutants
    writeHits({ inTests: [...mutants.inTests], outside, failing, masked: Object.entries(masked) })
  }

  #afterOriginal(test, isFailed, hits) {
    const current = this.#current
    for (const id of Object.keys(hits)) mutants.inTests.add(id)
    if (isFailed) mutants.failing.push(titleOf(test))
    const { user, system } = process.cpuUsage(current.cpu)
    const ms = now() - current.start
    if (isFailed || test.result.state !== 'pass' || (user + system) / 1000 > SLOW_CPU_MS || ms > SLOW_MS)
      return
    const done = idsWithOutcome()
    const queue = Object.keys(hits).filter(
      (id) => tried.has(id) && !done.has(id) && (spent.get(id) ?? 0) < MAX_MS_PER_FILE,
    )
    Object.assign(current, { step: 'mutant', queue, hits, originalMs: ms, limitMs: 5_000 + 20 * ms })
  }
}

/** Milliseconds that the processor worked on this try. */
function workOf({ cpu }) {
  const { user, system } = process.cpuUsage(cpu)
  return (user + system) / 1000
}

function titleOf(test) {
  return `${test.file.name}: ${test.name}`
}

/** A mutant that did not run although the original did, or whose test cannot be repeated, is tried alone in the end. */
function mask(id, { file }) {
  mutants.masked[id] ??= []
  if (!mutants.masked[id].includes(file.name)) mutants.masked[id].push(file.name)
}

function afterMutant(current, isFailed, isEndless, test) {
  const [id] = current.queue
  spent.set(id, (spent.get(id) ?? 0) + workOf(current))
  if (!isFailed && mutants.hitCount === 0) mask(id, test)
  const isStall = isFailed && !isEndless && isStalled(current, current.originalMs)
  if (isStall && current.doubted !== id) current.doubted = id
  else if (isFailed) Object.assign(current, { step: 'again', outcome: isEndless ? 'timedOut' : 'killed' })
  else current.queue.shift()
}

function isStalled({ start }, originalMs) {
  return now() - start > STALL_FACTOR * originalMs + STALL_MS
}

/** Excludes a test that now fails without a mutant: it cannot be repeated, or a mutant has left state behind. */
function afterAgain(current, isFailed, test) {
  if (isFailed) {
    for (const id of current.queue) mask(id, test)
    current.queue = []
  } else writeOutcome(current.queue.shift(), current.outcome)
  current.step = 'mutant'
}

function withLimit(promise, limitMs) {
  let timer
  const over = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('the test takes too long')), limitMs)
  })
  return Promise.race([promise, over]).finally(() => clearTimeout(timer))
}
