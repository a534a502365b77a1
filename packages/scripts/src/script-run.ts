// Runs one script, seen from the main thread: starts its worker, makes its calls, and terminates it when it reaches a
// limit, whatever the worker does.
import { type EventEmitter, setMaxListeners } from 'node:events'
import { Worker } from 'node:worker_threads'
import { createQueue, errorMessage, isFields } from '@toolshelf/core/internal'
import { createStopwatch, type Stopwatch } from './stopwatch.ts'
import type {
  CallForScript,
  ScriptCallRecord,
  ScriptEnding,
  ScriptLimits,
  ScriptOutcome,
  WorkerAnswer,
  WorkerInput,
  WorkerMessage,
} from './types.ts'

/** Milliseconds after which a worker that should have ended the script itself is terminated. */
const GRACE_MS = 1500
/** Megabytes of the worker's heap, outside WebAssembly. */
const WORKER_MEMORY = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16 }

/** A thread that runs one script. */
export type ScriptWorker = EventEmitter & {
  postMessage(answer: WorkerAnswer): void
  terminate(): Promise<unknown>
}

export type StartWorker = (input: WorkerInput) => ScriptWorker

/** Returns a function that starts a worker thread without environment variables and input, and with limited memory. */
export function startThread(file: URL): StartWorker {
  return (workerData) =>
    new Worker(file, { workerData, env: {}, execArgv: [], stdin: false, resourceLimits: WORKER_MEMORY })
}

type ScriptRunOptions = {
  readonly startWorker: StartWorker
  readonly wasm: WebAssembly.Module
  readonly source: string
  readonly call: CallForScript
  readonly limits: ScriptLimits
  readonly now: number
  readonly signal: AbortSignal
}

/** Runs a script in a worker; never rejects. */
export async function runInWorker(options: ScriptRunOptions): Promise<ScriptOutcome> {
  if (options.signal.aborted) return { state: 'stopped', text: STOPPED, log: '', calls: [] }
  const run = new ScriptRun(options)
  try {
    return await run.ended
  } finally {
    await run.close()
  }
}

const STOPPED = 'The script was stopped.'

/** A call whose outcome is still open. */
type CallRecord = { -readonly [Field in keyof ScriptCallRecord]: ScriptCallRecord[Field] }

class ScriptRun {
  readonly ended: Promise<ScriptOutcome>
  readonly #options: ScriptRunOptions
  readonly #worker: ScriptWorker
  readonly #calling = new AbortController()
  readonly #records: CallRecord[] = []
  readonly #queue: ReturnType<typeof createQueue>
  /** Measures the time in which the script may compute. */
  readonly #computing: Stopwatch
  /** Measures the total time, except while a person is asked. */
  readonly #total: Stopwatch
  #finish: (outcome: ScriptOutcome) => void = () => {}

  constructor(options: ScriptRunOptions) {
    const { startWorker, wasm, source, limits, now, signal } = options
    this.#options = options
    // Each call adds a listener, and Node warns about more than ten.
    setMaxListeners(0, this.#calling.signal)
    this.#queue = createQueue(limits.concurrentCalls)
    this.ended = new Promise((resolve) => {
      this.#finish = resolve
    })
    this.#worker = startWorker({ wasm, source, limits, now })
    this.#computing = createStopwatch(limits.computeMs + GRACE_MS, () => this.#end(COMPUTED_TOO_LONG))
    this.#total = createStopwatch(limits.totalMs, () => this.#end({ kind: 'took-too-long' }))
    this.#total.start()
    this.#worker.on('message', (message: WorkerMessage) => this.#receive(message))
    this.#worker.on('error', (error) => this.#end({ kind: 'crash', message: errorMessage(error) }))
    this.#worker.on('exit', () => this.#end({ kind: 'crash', message: 'its thread ended' }))
    this.#worker.once('online', () => this.#computing.start())
    signal.addEventListener('abort', this.#stop, { once: true })
  }

  async close(): Promise<void> {
    this.#options.signal.removeEventListener('abort', this.#stop)
    this.#computing.stop()
    this.#total.stop()
    this.#calling.abort(new Error('the script has ended'))
    await this.#worker.terminate()
  }

  #receive(message: WorkerMessage): void {
    if (message.type === 'idle') this.#computing.reset()
    else if (message.type === 'end') this.#end(message.ending, message.log)
    else void this.#call(message)
  }

  async #call({ id, path, input }: WorkerMessage & { type: 'call' }): Promise<void> {
    const record: CallRecord = { tool: path.join('.'), outcome: 'unfinished' }
    this.#records.push(record)
    const answer = await this.#answer(id, path, input)
    if (this.#calling.signal.aborted) return
    record.outcome = 'error' in answer ? 'failed' : 'done'
    this.#computing.start()
    this.#worker.postMessage(answer)
  }

  async #answer(id: number, path: readonly string[], json: string): Promise<WorkerAnswer> {
    const { call, limits } = this.#options
    const { signal } = this.#calling
    const askPerson = async <Value>(work: () => Promise<Value>) => {
      this.#total.pause()
      return work().finally(() => this.#total.start())
    }
    try {
      const input: unknown = JSON.parse(json)
      if (!isFields(input)) throw new Error('a tool takes one object')
      const value = await this.#queue(async () => {
        signal.throwIfAborted()
        // A call that ignores the signal must not keep the others waiting.
        return Promise.race([call({ path, input }, { signal, askPerson }), aborted(signal)])
      })
      const result = JSON.stringify(value) ?? 'null'
      if (result.length > limits.resultCharacters)
        throw new Error(
          `the result has ${result.length} characters; a script can take ${limits.resultCharacters}. Ask the tool for less, or for a page`,
        )
      return { id, json: result }
    } catch (error) {
      return { id, error: errorMessage(error) }
    }
  }

  readonly #stop = () => this.#finish({ state: 'stopped', text: STOPPED, log: '', calls: this.#records })

  #end(ending: ScriptEnding | { readonly kind: 'took-too-long' }, log = ''): void {
    const state = ending.kind === 'value' || ending.kind === 'nothing' ? 'returned' : 'failed'
    this.#finish({ state, text: textFor(ending, this.#options.limits), log, calls: this.#records })
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

const COMPUTED_TOO_LONG = { kind: 'computed-too-long' } as const

function textFor(ending: ScriptEnding | { readonly kind: 'took-too-long' }, limits: ScriptLimits): string {
  switch (ending.kind) {
    case 'value':
      return ending.text
    case 'nothing':
      return 'The script returned nothing. Give its answer with "return".'
    case 'too-long':
      return `The script returned ${ending.length} characters; ${limits.outputCharacters} are allowed. Return less: filter, count, or only the fields that you need.`
    case 'error':
      return `The script failed. ${ending.message}${adviceFor(ending.message, limits)}`
    case 'computed-too-long':
      return `The script was stopped, because it computed for more than ${limits.computeMs} ms. Look for an endless loop, or do less in one script.`
    case 'took-too-long':
      return `The script was stopped, because it ran for more than ${limits.totalMs} ms. Make fewer calls in one script.`
    case 'never-settles':
      return 'The script waits for a promise that nothing will settle: await only calls of tools. There are no timers.'
    case 'crash':
      return `The script ended its sandbox: ${ending.message}. Use less memory and simpler code.`
  }
}

function adviceFor(message: string, { memoryBytes }: ScriptLimits): string {
  if (message.includes('out of memory'))
    return ` A script has ${Math.round(memoryBytes / 1024 / 1024)} MB: keep less of the results.`
  if (message.includes('stack overflow')) return ' Its calls of functions are nested too deeply.'
  return ''
}
