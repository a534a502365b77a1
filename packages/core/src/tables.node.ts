// What searches use in Node, Bun and Deno: both tables. Each is a module of its own, loaded when a search first wants it, so that
// a bundler takes it along.
import type { Tables } from './rankers/rankers.ts'

export const tables: Tables = {
  meaning: async () => (await import('#meaning')).meaning(),
  bridge: async () => (await import('#bridge')).bridge(),
}
