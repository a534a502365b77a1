// Exports of rankers for other folders.
export { explainHybrid, type RankerName, rankers, warmUp, warmUpEntries } from './rankers.ts'
