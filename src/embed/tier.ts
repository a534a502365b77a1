// Opens the encoder and its vector store lazily; warns once if they are unavailable.
import { type Engine, packages } from './engine.ts'
import { defaultFolder, openStore, type VectorStore } from './store.ts'

export interface TierOptions {
  readonly cacheFolder: string | undefined
  readonly notify: (message: string) => void
  /** Loads the engine; rejects if it is not installed. */
  readonly load: () => Promise<Engine>
}

export interface Tier {
  /** The reason why the encoder is unavailable. */
  readonly failure: string | undefined
  readonly isOpened: boolean
  /** Whether the model is in memory. */
  readonly isLoaded: boolean
  /** Whether a caller waits for a result. */
  readonly isAwaited: boolean
  /** The vector store, once it is open. */
  readonly store: VectorStore | undefined
  open(): Promise<VectorStore | undefined>
  /** Returns a vector per text; undefined if the encoder is unavailable. */
  embed(texts: readonly string[]): Promise<readonly ArrayLike<number>[] | undefined>
  /** Runs work that a caller waits for; only then may the worker keep the process alive. */
  awaited<Result>(run: () => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** Longer texts are cut, because the model reads only 256 word pieces. */
const MAX_TEXT_LENGTH = 4_000

interface Situation {
  readonly options: TierOptions
  opening?: Promise<void>
  engine?: Engine
  store?: VectorStore
  failure?: string
  waiters: number
}

export function createTier(options: TierOptions): Tier {
  const now: Situation = { options, waiters: 0 }
  return {
    get failure() {
      return now.failure
    },
    get isOpened() {
      return now.opening !== undefined
    },
    get isLoaded() {
      return now.engine?.isLoaded ?? false
    },
    get isAwaited() {
      return now.waiters > 0
    },
    get store() {
      return now.store
    },
    open: () => open(now),
    embed: (texts) => embed(now, texts),
    async awaited(run) {
      if (now.waiters++ === 0) now.engine?.hold(true)
      try {
        return await run()
      } finally {
        if (--now.waiters === 0) now.engine?.hold(false)
      }
    },
    async close() {
      now.failure ??= 'it was closed'
      await now.opening
      await now.engine?.close()
      await now.store?.flush()
    },
  }
}

async function open(now: Situation): Promise<VectorStore | undefined> {
  if (now.failure === undefined) {
    now.opening ??= openAll(now)
    await now.opening
  }
  return now.failure === undefined ? now.store : undefined
}

async function openAll(now: Situation): Promise<void> {
  const { cacheFolder, notify, load } = now.options
  try {
    now.engine = await load()
  } catch (error) {
    return fail(now, missing(error))
  }
  now.engine.hold(now.waiters > 0)
  const { model, dimensions } = now.engine
  now.store = await openStore({ folder: cacheFolder ?? defaultFolder(), model, dimensions, notify })
}

async function embed(now: Situation, texts: readonly string[]): ReturnType<Tier['embed']> {
  if ((await open(now)) === undefined) return undefined
  try {
    return await now.engine?.embed(texts.map((text) => text.slice(0, MAX_TEXT_LENGTH)))
  } catch (error) {
    fail(now, `the model of ${packages.model} failed (${messageOf(error)}). Search continues without it.`)
  }
}

function fail(now: Situation, reason: string): void {
  if (now.failure !== undefined) return
  now.failure = reason
  now.options.notify(reason)
}

function missing(error: unknown): string {
  return (
    `the optional packages ${packages.embed} and ${packages.model} cannot be loaded (${messageOf(error)}). ` +
    'Search works without them, but ranks by meaning less well.'
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
