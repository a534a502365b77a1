// Exports of embed for other folders.
export { createEmbedder, type Embedder, floatsOf } from './embedder.ts'
