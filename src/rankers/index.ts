// Exports of rankers for other folders.
export { explainHybrid, type RankerName, rankers, warmUpEntries, warmUpSearch } from './rankers.ts'
