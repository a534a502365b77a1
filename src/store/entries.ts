// Reads lists of any length from a store.
import type { StateStore, StoredEntry } from './types.ts'

const PAGE = 500

/** Yields all values whose keys start with the prefix, sorted by key; reads them page by page. */
export async function* entriesIn(store: StateStore, prefix: string): AsyncGenerator<StoredEntry> {
  for (let after = ''; ; ) {
    const page = await store.list(prefix, { limit: PAGE, after })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)?.key ?? after
  }
}
