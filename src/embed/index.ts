// Exports of embed for other folders.
export {
  createEmbedder,
  type Embedder,
  type EmbedderOptions,
  type EmbedProgress,
  type Engine,
  floatsOf,
} from './embedder.ts'
