// Opens the encoder and its vector store lazily; warns once if they are unavailable.
import { type Engine, INSTALL, packages } from './engine.ts'
import { defaultFolder, openStore, type VectorStore } from './store.ts'

/** Options of `createLazyEncoder`. */
interface LazyEncoderOptions {
  readonly cacheFolder: string | undefined
  readonly notify: (message: string) => void
  /** Loads the engine; rejects if it is not installed. */
  readonly load: () => Promise<Engine>
}

/** The encoder and its vector store. */
export interface LazyEncoder {
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

interface EncoderState {
  readonly options: LazyEncoderOptions
  opening?: Promise<void>
  engine?: Engine
  store?: VectorStore
  failure?: string
  waiters: number
}

/** Creates the encoder; opens encoder and store on first use. */
export function createLazyEncoder(options: LazyEncoderOptions): LazyEncoder {
  const state: EncoderState = { options, waiters: 0 }
  return {
    get failure() {
      return state.failure
    },
    get isOpened() {
      return state.opening !== undefined
    },
    get isLoaded() {
      return state.engine?.isLoaded ?? false
    },
    get isAwaited() {
      return state.waiters > 0
    },
    get store() {
      return state.store
    },
    open: () => open(state),
    embed: (texts) => embed(state, texts),
    async awaited(run) {
      if (state.waiters++ === 0) state.engine?.hold(true)
      try {
        return await run()
      } finally {
        if (--state.waiters === 0) state.engine?.hold(false)
      }
    },
    async close() {
      state.failure ??= 'it was closed'
      await state.opening
      await state.engine?.close()
      await state.store?.flush()
    },
  }
}

async function open(state: EncoderState): Promise<VectorStore | undefined> {
  if (state.failure === undefined) {
    state.opening ??= openAll(state)
    await state.opening
  }
  return state.failure === undefined ? state.store : undefined
}

async function openAll(state: EncoderState): Promise<void> {
  const { cacheFolder, notify, load } = state.options
  try {
    state.engine = await load()
  } catch (error) {
    return fail(state, missing(error))
  }
  state.engine.hold(state.waiters > 0)
  const { model, dimensions } = state.engine
  state.store = await openStore({ folder: cacheFolder ?? defaultFolder(), model, dimensions, notify })
}

async function embed(state: EncoderState, texts: readonly string[]): ReturnType<LazyEncoder['embed']> {
  if ((await open(state)) === undefined) return undefined
  try {
    return await state.engine?.embed(texts.map((text) => text.slice(0, MAX_TEXT_LENGTH)))
  } catch (error) {
    fail(state, `the model of ${packages.model} failed (${messageOf(error)}). Search continues without it.`)
  }
}

function fail(state: EncoderState, reason: string): void {
  if (state.failure !== undefined) return
  state.failure = reason
  state.options.notify(reason)
}

function missing(error: unknown): string {
  return (
    `rank "model" needs a sentence encoder that is not installed: run "${INSTALL}", with -g where toolshelf is ` +
    `installed globally; until then searches rank as "hybrid" does (${messageOf(error)})`
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
