// The door of embed: what other folders use of it.
export { createEmbedder, type Embedder, floatsOf } from './embedder.ts'
