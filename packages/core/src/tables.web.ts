// What searches use in browsers, Workers and whatever is not Node: no tables, unless `createRankers` is given some, since they
// are millions of bytes.
import type { Equipment } from './rankers/engine.ts'

export const equipment: Equipment = { tables: {}, openModel: undefined }
