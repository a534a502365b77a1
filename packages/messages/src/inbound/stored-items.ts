// Remembers the output items of Responses replies that a client did not ask to leave unstored, so that its next request may
// name them by `item_reference`. In memory, least recently used first out: after a restart nothing is known.
import { type Fields, textOf, toJson } from '@toolshelf/core/internal'
import { createSizedCache } from '../recent.ts'

/** The items that one owner of a key may refer to. */
export type StoredItems = {
  readonly get: (id: string) => Fields | undefined
  readonly keep: (items: readonly Fields[]) => void
}

/** Returns a function that gives each owner a view of one bounded memory; nobody finds the items of others. */
export function createItemMemory(maxCharacters?: number): (owner: string) => StoredItems {
  const known = createSizedCache<Fields>(maxCharacters)
  return (owner) => ({
    get: (id) => known.get(`${owner} ${id}`),
    keep(items) {
      for (const item of items) {
        const id = textOf(item.id)
        if (id !== '') known.set(`${owner} ${id}`, Object.freeze({ ...item }), toJson(item).length)
      }
    },
  })
}
