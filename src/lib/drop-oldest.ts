// Bounds maps and sets that keep the most recently used entries.

/** Deletes the oldest entries beyond `most`. An entry becomes the newest if it is deleted and added again. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, most: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= most) return
    entries.delete(key)
  }
}
