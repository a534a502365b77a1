// Implements a bounded queue of texts to embed, newest requests first. A caller that keeps adding new texts can neither
// fill the memory nor delay others for long.

/** A bounded queue of texts. */
export interface TextQueue {
  readonly size: number
  /** Adds texts in front of all others; drops the oldest ones if the queue is full. */
  add(texts: readonly string[]): void
  delete(text: string): void
  clear(): void
  /** Returns the texts in processing order, without those added during iteration. */
  texts(): Iterable<string>
}

/** Limits of the queue. */
interface TextQueueLimits {
  readonly maxTexts?: number
  readonly maxCharacters?: number
}

const MAX_TEXTS = 20_000
const MAX_CHARACTERS = 16_000_000
/** Maximum number of lists; beyond it the oldest one is dropped. */
const MAX_LISTS = 64

/** Creates an empty queue. */
export function createTextQueue(limits: TextQueueLimits = {}): TextQueue {
  const { maxTexts = MAX_TEXTS, maxCharacters = MAX_CHARACTERS } = limits
  /** Each text is in exactly one list; the newest list is last. */
  let lists: Set<string>[] = []
  let size = 0
  let characters = 0

  const remove = (list: Set<string>, text: string): void => {
    if (!list.delete(text)) return
    size--
    characters -= text.length
  }
  const isFull = (): boolean => size > maxTexts || characters > maxCharacters
  /** Drops texts from the oldest lists, last text first. */
  const makeRoom = (): void => {
    while (lists.length > MAX_LISTS || (lists.length > 1 && isFull())) {
      const oldest = lists.shift()
      for (const text of oldest ?? []) remove(oldest as Set<string>, text)
    }
    const [only] = lists
    if (!only || !isFull()) return
    for (const text of [...only].reverse()) {
      if (!isFull()) return
      remove(only, text)
    }
  }
  return {
    get size() {
      return size
    },
    add(texts) {
      const added = new Set(texts)
      for (const list of lists) for (const text of added) remove(list, text)
      size += added.size
      for (const text of added) characters += text.length
      lists = [...lists.filter((list) => list.size > 0), added]
      makeRoom()
    },
    delete(text) {
      for (const list of lists) remove(list, text)
    },
    clear() {
      lists = []
      size = 0
      characters = 0
    },
    *texts() {
      for (const list of lists.toReversed()) yield* list
    },
  }
}
