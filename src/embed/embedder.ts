// The quality tier: meanings of texts by a real sentence encoder, made in the background and kept on disk. Whatever is
// missing or fails, it answers "not there" and says so once; search goes on without.
import { createBackground } from './background.ts'
import { type Engine, loadEngine } from './engine.ts'
import type { Vector } from './records.ts'
import { createTier } from './tier.ts'

export type { Engine } from './engine.ts'
export { floatsOf, type Vector } from './records.ts'

export interface EmbedderOptions {
  /** Where vectors are kept: `$XDG_CACHE_HOME/toolshelf` or `~/.cache/toolshelf`. */
  readonly cacheFolder?: string
  /** Hears, once each, that the tier cannot be used and that vectors cannot be kept. */
  readonly notify?: (message: string) => void
  /** Gives the engine, at the first use; rejects if it is not installed. */
  readonly load?: () => Promise<Engine>
}

export type EmbedderState =
  /** Not installed, failed or closed: no vector will come. */
  | { readonly status: 'unavailable'; readonly reason: string }
  /** Nothing was asked of it yet. */
  | { readonly status: 'idle' }
  | { readonly status: 'working'; readonly done: number; readonly total: number }
  /** Every text that was given was handled. */
  | { readonly status: 'ready' }

export interface Embedder {
  readonly state: EmbedderState
  /** Grows whenever there are new vectors: time to ask for those that were missing. */
  readonly version: number
  /**
   * A unit vector; undefined when the tier cannot be used or too many queries wait already. The first one waits for the
   * model to load.
   */
  embedQuery(text: string): Promise<Float32Array | undefined>
  /** What is ready, in the order of the texts: `scale × codes` is a unit vector, as near as signed bytes come. */
  vectors(texts: readonly string[]): readonly (Vector | undefined)[]
  /** Makes what is missing, in the background; it never keeps the process alive. */
  prepare(texts: readonly string[]): void
  /** Until everything given to `prepare` was handled and is on disk; keeps the process alive meanwhile. */
  ready(): Promise<void>
  /** Ends the worker. What was made stays on disk. */
  close(): Promise<void>
}

/** Queries at one time: a search that comes with more of them does without the model. */
const MAX_QUERIES = 32

export function createEmbedder(options: EmbedderOptions = {}): Embedder {
  const { cacheFolder, notify = () => {}, load = loadEngine } = options
  const tier = createTier({ cacheFolder, notify, load })
  const background = createBackground(tier)
  let queries = 0
  return {
    get state(): EmbedderState {
      if (tier.failure !== undefined) return { status: 'unavailable', reason: tier.failure }
      if (background.progress) return { status: 'working', ...background.progress }
      return { status: tier.isOpened ? 'ready' : 'idle' }
    },
    get version() {
      return background.rounds + (tier.store ? 1 : 0)
    },
    async embedQuery(text) {
      if (queries >= MAX_QUERIES) return undefined
      queries++
      return tier
        .awaited(async () => {
          const vector = (await tier.embed([text]))?.[0]
          return vector && Float32Array.from(vector)
        })
        .finally(() => {
          queries--
        })
    },
    vectors: (texts) => texts.map((text) => tier.store?.get(text)),
    prepare: background.prepare,
    ready: () =>
      tier.awaited(async () => {
        await background.finished()
        await tier.store?.flush()
      }),
    close: tier.close,
  }
}
