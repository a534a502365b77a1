// Bounds maps and sets that keep the most recently used entries.

/** Deletes the oldest entries beyond `maxEntries`. An entry becomes the newest if it is deleted and added again. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, maxEntries: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= maxEntries) return
    entries.delete(key)
  }
}
