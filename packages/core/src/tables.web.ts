// What searches use in browsers, Workers and whatever is not Node: no tables, unless `createRankers` is given some, since they
// are millions of bytes.
import type { Tables } from './rankers/rankers.ts'

export const tables: Tables = {}
