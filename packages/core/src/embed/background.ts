// Computes missing vectors in the background, in small batches with pauses, so that it does not delay other work.
import { setImmediate } from 'node:timers/promises'
import type { LazyEncoder } from './lazy-encoder.ts'
import type { VectorStore } from './store.ts'
import { createTextQueue, type TextQueue } from './text-queue.ts'

/** Computes vectors in the background. */
interface Background {
  /** Texts processed so far and in total; undefined when idle. */
  readonly progress: { readonly done: number; readonly total: number } | undefined
  /** How many batches have added vectors. */
  readonly rounds: number
  /** Queues texts. Drops those that do not fit; callers that still need them call again. */
  prepare(texts: readonly string[]): void
  /** Resolves when the queue is empty; calls `progress` after each batch until then. */
  finished(progress?: (done: number, total: number) => void): Promise<void>
}

/** Texts per message to the worker. A query waits for at most one text, because the engine handles them one by one. */
const BATCH = 8
/** Milliseconds of pause after each batch, unless a caller waits. */
const PAUSE_MS = 25
/** Texts to look up before yielding to the event loop. */
const LOOKUPS = 256

/** Creates an idle background computation. */
export function createBackground(encoder: LazyEncoder): Background {
  const queue = createTextQueue()
  let work: Promise<void> | undefined
  let done = 0
  let rounds = 0
  const listeners = new Set<(done: number, total: number) => void>()

  const drop = (texts: readonly string[]): void => {
    for (const text of texts) queue.delete(text)
    done += texts.length
  }
  const run = async (): Promise<void> => {
    const store = await encoder.open()
    while (store) {
      const batch = await nextBatch(queue, store, drop)
      const vectors = batch.length > 0 ? await encoder.embed(batch) : undefined
      if (vectors === undefined) break
      store.add(batch, vectors)
      drop(batch)
      rounds++
      for (const listener of listeners) listener(done, done + queue.size)
      if (!encoder.isAwaited) await pause()
    }
    if (encoder.failure !== undefined) queue.clear()
  }
  /** Repeats until no texts were added in the meantime. */
  const runAll = async (): Promise<void> => {
    while (queue.size > 0) await run()
    work = undefined
    done = 0
  }

  return {
    get progress() {
      return work && { done, total: done + queue.size }
    },
    get rounds() {
      return rounds
    },
    prepare(texts) {
      if (encoder.failure !== undefined) return
      if (texts.length > 0) queue.add(texts)
      if (queue.size > 0) work ??= runAll()
    },
    async finished(progress) {
      if (progress) listeners.add(progress)
      try {
        while (work) await work
      } finally {
        if (progress) listeners.delete(progress)
      }
    },
  }
}

/** Takes up to one batch of texts without a vector; removes those that have one. */
async function nextBatch(
  queue: TextQueue,
  store: VectorStore,
  drop: (texts: readonly string[]) => void,
): Promise<string[]> {
  const batch: string[] = []
  let lookups = 0
  for (const text of queue.texts()) {
    if (store.has(text)) drop([text])
    else if (batch.push(text) === BATCH) break
    if (++lookups % LOOKUPS === 0) await setImmediate()
  }
  return batch
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE_MS).unref()
  })
}
