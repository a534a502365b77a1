// Exports of search/meaning for other folders.
export {
  createDense,
  createMeaning,
  createVectors,
  type Dense,
  type Meaning,
  readMeaning,
  type Vectors,
  type WeightedWord,
} from './meaning.ts'
