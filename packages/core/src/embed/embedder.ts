// Embeds texts with a sentence encoder in the background, in small batches with pauses, so that it does not delay other work.
// If the encoder is missing or fails, it warns once and returns no vectors; search works without them.
import { setImmediate } from 'node:timers/promises'
import type { EmbedProgress } from '../rankers/engine.ts'
import { type Engine, INSTALL, loadEngine, packages } from './engine.ts'
import { defaultFolder, openStore, type Vector, type VectorStore } from './store.ts'

/** Options of `createEmbedder`. */
export type EmbedderOptions = {
  /** Folder of the vector cache. Default: `$XDG_CACHE_HOME/toolshelf` or `~/.cache/toolshelf`. */
  readonly cacheFolder?: string
  /** Called once if the encoder is unavailable, and once if vectors cannot be written. */
  readonly notify?: (message: string) => void
  /** Loads the engine on first use; rejects if it is not installed. */
  readonly load?: () => Promise<Engine>
}

/** What the embedder is doing. */
type EmbedderState =
  /** Not installed, failed or closed. */
  | { readonly status: 'unavailable'; readonly reason: string }
  /** Not used yet. */
  | { readonly status: 'idle' }
  | { readonly status: 'working'; readonly done: number; readonly total: number }
  /** All texts have been processed. */
  | { readonly status: 'ready' }

/** Embeds texts with a sentence encoder. */
export type Embedder = {
  readonly state: EmbedderState
  /** Increases whenever new vectors are available. */
  readonly version: number
  /** Whether the model is in memory: a query then takes milliseconds, else seconds. */
  readonly isLoaded: boolean
  /** Loads the model in the background; does not keep the process alive. */
  wake(): void
  /**
   * Returns a unit vector; undefined if the encoder is unavailable or too many queries are waiting. The first call waits
   * for the model to load.
   */
  embedQuery(text: string): Promise<Float32Array | undefined>
  /** Returns the available vectors, in the order of the texts. */
  vectors(texts: readonly string[]): readonly (Vector | undefined)[]
  /**
   * Computes missing vectors in the background, those of the latest call first; does not keep the process alive. Drops texts
   * beyond the limit; callers that still need them call again.
   */
  prepare(texts: readonly string[]): void
  /**
   * Resolves when everything given to `prepare` is processed and on disk; keeps the process alive until then.
   *
   * @param progress is called after each batch.
   */
  ready(progress?: EmbedProgress): Promise<void>
  /** Ends the worker; vectors stay on disk. */
  close(): Promise<void>
}

/** Maximum concurrent queries; searches beyond that run without the encoder. */
const MAX_QUERIES = 32
/** Longer texts are cut, because the model reads only 256 word pieces. */
const MAX_TEXT_LENGTH = 4_000
/** Texts that may wait: who keeps adding new ones can neither fill the memory nor delay others for long. */
const MAX_WAITING = 20_000
/** Texts per message to the worker. A query waits for at most one text, because the engine handles them one by one. */
const BATCH = 8
/** Milliseconds of pause after each batch, unless a caller waits. */
const PAUSE_MS = 25
/** Texts to look up before other work may run. */
const LOOKUPS = 256

/** Creates an embedder; loads the encoder and opens the store of vectors on first use. */
export function createEmbedder(options: EmbedderOptions = {}): Embedder {
  const { cacheFolder: folder = defaultFolder(), notify = () => {}, load = loadEngine } = options
  let engine: Engine | undefined
  let store: VectorStore | undefined
  let opening: Promise<void> | undefined
  let failure: string | undefined
  /** Callers that wait for a result: only then may the worker keep the process alive. */
  let waiting = 0
  let queries = 0
  let isWaking = false
  /** Texts to embed, the next first. */
  let queue = new Set<string>()
  let work: Promise<void> | undefined
  let [done, rounds] = [0, 0]
  const listeners = new Set<EmbedProgress>()

  const fail = (reason: string): void => {
    if (failure !== undefined) return
    failure = reason
    notify(reason)
  }
  const openAll = async (): Promise<void> => {
    try {
      engine = await load()
    } catch (error) {
      return fail(
        `rank "model" needs a sentence encoder that is not installed: run "${INSTALL}", with -g where toolshelf is ` +
          `installed globally; until then searches rank as "hybrid" does (${messageOf(error)})`,
      )
    }
    engine.hold(waiting > 0)
    const { model, dimensions } = engine
    store = await openStore({ folder, model, dimensions, notify })
  }
  const open = async (): Promise<VectorStore | undefined> => {
    if (failure === undefined) {
      opening ??= openAll()
      await opening
    }
    return failure === undefined ? store : undefined
  }
  const embed = async (texts: readonly string[]): Promise<readonly ArrayLike<number>[] | undefined> => {
    if (!(await open())) return undefined
    try {
      return await engine?.embed(texts.map((text) => text.slice(0, MAX_TEXT_LENGTH)))
    } catch (error) {
      fail(`the model of ${packages.model} failed (${messageOf(error)}). Search continues without it.`)
      return undefined
    }
  }
  const awaited = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    if (waiting++ === 0) engine?.hold(true)
    try {
      return await run()
    } finally {
      if (--waiting === 0) engine?.hold(false)
    }
  }

  const drop = (texts: readonly string[]): void => {
    for (const text of texts) queue.delete(text)
    done += texts.length
  }
  /** Takes texts without a vector; drops those that have one. */
  const nextBatch = async (store: VectorStore): Promise<string[]> => {
    const batch: string[] = []
    let lookups = 0
    for (const text of queue) {
      if (store.has(text)) drop([text])
      else if (batch.push(text) === BATCH) break
      if (++lookups % LOOKUPS === 0) await setImmediate()
    }
    return batch
  }
  const embedAll = async (): Promise<void> => {
    while (queue.size > 0) {
      const store = await open()
      const batch = store ? await nextBatch(store) : []
      const vectors = batch.length > 0 ? await embed(batch) : undefined
      if (store && vectors) {
        store.add(batch, vectors)
        drop(batch)
        rounds++
        for (const listener of listeners) listener(done, done + queue.size)
        if (waiting === 0) await new Promise((resolve) => void setTimeout(resolve, PAUSE_MS).unref())
      }
      if (failure !== undefined) queue.clear()
    }
    work = undefined
    done = 0
  }

  return {
    get state(): EmbedderState {
      if (failure !== undefined) return { status: 'unavailable', reason: failure }
      if (work) return { status: 'working', done, total: done + queue.size }
      return { status: opening ? 'ready' : 'idle' }
    },
    get version() {
      return rounds + (store ? 1 : 0)
    },
    get isLoaded() {
      return engine?.isLoaded ?? false
    },
    wake() {
      if (isWaking || engine?.isLoaded) return
      isWaking = true
      void embed(['']).finally(() => {
        isWaking = false
      })
    },
    async embedQuery(text) {
      if (queries >= MAX_QUERIES) return undefined
      queries++
      try {
        const [vector] = (await awaited(() => embed([text]))) ?? []
        return vector && Float32Array.from(vector)
      } finally {
        queries--
      }
    },
    vectors: (texts) => texts.map((text) => store?.get(text)),
    prepare(texts) {
      if (failure !== undefined || texts.length === 0) return
      queue = new Set([...new Set([...texts, ...queue])].slice(0, MAX_WAITING))
      work ??= embedAll()
    },
    ready: (progress) =>
      awaited(async () => {
        if (progress) listeners.add(progress)
        try {
          while (work) await work
          await store?.flush()
        } finally {
          if (progress) listeners.delete(progress)
        }
      }),
    async close() {
      failure ??= 'it was closed'
      await opening
      await engine?.close()
      await store?.flush()
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
