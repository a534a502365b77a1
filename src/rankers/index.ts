// The door of rankers: what other folders use of it.
export { explainHybrid, type RankerName, rankers, warmUp, warmUpEntries } from './rankers.ts'
