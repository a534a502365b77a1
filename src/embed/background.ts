// Makes the vectors that are missing, a few at a time, with rests: nothing ever waits for it that did not ask to.
import { setImmediate } from 'node:timers/promises'
import type { VectorStore } from './store.ts'
import type { Tier } from './tier.ts'
import { createWaiting, type Waiting } from './waiting.ts'

export interface Background {
  /** Undefined when there is nothing to do. */
  readonly progress: { readonly done: number; readonly total: number } | undefined
  /** How often vectors were added. */
  readonly rounds: number
  /** Texts for which there is no room are left out: whoever needs them asks again. */
  prepare(texts: readonly string[]): void
  /** Until there is nothing to do. */
  finished(): Promise<void>
}

/** Texts per message to the worker. A query waits for one of them at most: the engine takes them one by one. */
const BATCH = 8
/** Milliseconds of rest after each batch, unless someone waits. */
const PAUSE = 25
/** How many texts are looked up before the event loop has a turn. */
const LOOKUPS = 256

export function createBackground(tier: Tier): Background {
  const waiting = createWaiting()
  let work: Promise<void> | undefined
  let done = 0
  let rounds = 0

  const drop = (texts: readonly string[]): void => {
    for (const text of texts) waiting.delete(text)
    done += texts.length
  }
  const run = async (): Promise<void> => {
    const store = await tier.open()
    while (store) {
      const batch = await nextBatch(waiting, store, drop)
      const vectors = batch.length > 0 ? await tier.embed(batch) : undefined
      if (vectors === undefined) break
      store.add(batch, vectors)
      drop(batch)
      rounds++
      if (!tier.isAwaited) await pause()
    }
    if (tier.failure !== undefined) waiting.clear()
  }
  /** More may have come in after the last look. */
  const runAll = async (): Promise<void> => {
    while (waiting.size > 0) await run()
    work = undefined
    done = 0
  }

  return {
    get progress() {
      return work && { done, total: done + waiting.size }
    },
    get rounds() {
      return rounds
    },
    prepare(texts) {
      if (tier.failure !== undefined) return
      if (texts.length > 0) waiting.add(texts)
      if (waiting.size > 0) work ??= runAll()
    },
    async finished() {
      while (work) await work
    },
  }
}

/** Up to a batch of texts that have no vector yet; those that have one are dropped. */
async function nextBatch(
  waiting: Waiting,
  store: VectorStore,
  drop: (texts: readonly string[]) => void,
): Promise<string[]> {
  const batch: string[] = []
  let lookups = 0
  for (const text of waiting.texts()) {
    if (store.has(text)) drop([text])
    else if (batch.push(text) === BATCH) break
    if (++lookups % LOOKUPS === 0) await setImmediate()
  }
  return batch
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE).unref()
  })
}
