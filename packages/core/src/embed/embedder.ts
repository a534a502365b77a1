// Embeds texts with a sentence encoder in the background and caches the vectors on disk. If the encoder is missing or
// fails, it warns once and returns no vectors; search works without them.
import type { EmbedProgress } from '../rankers/engine.ts'
import { createBackground } from './background.ts'
import { type Engine, loadEngine } from './engine.ts'
import { createLazyEncoder } from './lazy-encoder.ts'
import type { Vector } from './records.ts'

export type { Engine } from './engine.ts'
export { floatsOf, type Vector } from './records.ts'

/** Options of `createEmbedder`. */
export interface EmbedderOptions {
  /** Folder of the vector cache. Default: `$XDG_CACHE_HOME/toolshelf` or `~/.cache/toolshelf`. */
  readonly cacheFolder?: string
  /** Called once if the encoder is unavailable, and once if vectors cannot be written. */
  readonly notify?: (message: string) => void
  /** Loads the engine on first use; rejects if it is not installed. */
  readonly load?: () => Promise<Engine>
}

/** What the embedder is doing. */
export type EmbedderState =
  /** Not installed, failed or closed. */
  | { readonly status: 'unavailable'; readonly reason: string }
  /** Not used yet. */
  | { readonly status: 'idle' }
  | { readonly status: 'working'; readonly done: number; readonly total: number }
  /** All texts have been processed. */
  | { readonly status: 'ready' }

/** Embeds texts with a sentence encoder. */
export interface Embedder {
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
  /**
   * Returns the available vectors, in the order of the texts: `scale × codes` is a unit vector, quantised to signed
   * bytes.
   */
  vectors(texts: readonly string[]): readonly (Vector | undefined)[]
  /** Computes missing vectors in the background; does not keep the process alive. */
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

/** Creates an embedder; loads the encoder on first use. */
export function createEmbedder(options: EmbedderOptions = {}): Embedder {
  const { cacheFolder, notify = () => {}, load = loadEngine } = options
  const encoder = createLazyEncoder({ cacheFolder, notify, load })
  const background = createBackground(encoder)
  let queries = 0
  let isWaking = false
  return {
    get state(): EmbedderState {
      if (encoder.failure !== undefined) return { status: 'unavailable', reason: encoder.failure }
      if (background.progress) return { status: 'working', ...background.progress }
      return { status: encoder.isOpened ? 'ready' : 'idle' }
    },
    get version() {
      return background.rounds + (encoder.store ? 1 : 0)
    },
    get isLoaded() {
      return encoder.isLoaded
    },
    wake() {
      if (encoder.isLoaded || isWaking) return
      isWaking = true
      void encoder.embed(['']).finally(() => {
        isWaking = false
      })
    },
    async embedQuery(text) {
      if (queries >= MAX_QUERIES) return undefined
      queries++
      return encoder
        .awaited(async () => {
          const vector = (await encoder.embed([text]))?.[0]
          return vector && Float32Array.from(vector)
        })
        .finally(() => {
          queries--
        })
    },
    vectors: (texts) => texts.map((text) => encoder.store?.get(text)),
    prepare: background.prepare,
    ready: (progress) =>
      encoder.awaited(async () => {
        await background.finished(progress)
        await encoder.store?.flush()
      }),
    close: encoder.close,
  }
}
