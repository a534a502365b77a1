// Exports of search/meaning for other folders.
export { createDense, type Dense } from './kernel.ts'
export { createMeaning, type Meaning, readMeaning } from './meaning.ts'
export type { WeightedWord } from './near-words.ts'
export { createVectors, type Vectors } from './vectors.ts'
