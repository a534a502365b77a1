// What searches use in Node, Bun and Deno: both tables, and the sentence encoder. Each is a module of its own, loaded when a
// search first wants it, so that a bundler takes it along.
import type { Equipment } from './rankers/engine.ts'

export const equipment: Equipment = {
  tables: {
    meaning: async () => (await import('#meaning')).meaning(),
    bridge: async () => (await import('#bridge')).bridge(),
  },
  openModel: async (parts) => (await import('./embed/model-rank.ts')).openModel(parts),
}
