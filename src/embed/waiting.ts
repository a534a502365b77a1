// The texts that wait for their vectors: bounded, and those that were asked for last come first. Somebody who asks for
// ever new texts can neither fill the memory nor keep others waiting for long.

export interface Waiting {
  readonly size: number
  /** Puts texts in front of all others; where there is no room, those that were asked for first are dropped. */
  add(texts: readonly string[]): void
  delete(text: string): void
  clear(): void
  /** In the order in which they should be worked on. Texts that are added meanwhile are not among them. */
  texts(): Iterable<string>
}

export interface WaitingLimits {
  readonly maxTexts?: number
  readonly maxCharacters?: number
}

const MAX_TEXTS = 20_000
const MAX_CHARACTERS = 16_000_000
/** Lists that are kept apart; with more, the one that was asked for first is dropped. */
const MAX_LISTS = 64

export function createWaiting(limits: WaitingLimits = {}): Waiting {
  const { maxTexts = MAX_TEXTS, maxCharacters = MAX_CHARACTERS } = limits
  /** Each text is in one of them; the list that was asked for last is at the end. */
  let lists: Set<string>[] = []
  let size = 0
  let characters = 0

  const remove = (list: Set<string>, text: string): void => {
    if (!list.delete(text)) return
    size--
    characters -= text.length
  }
  const isFull = (): boolean => size > maxTexts || characters > maxCharacters
  /** From the lists that were asked for first, the last texts first. */
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
