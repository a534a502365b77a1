// Exports of rankers for other folders.
export {
  explainHybrid,
  type RankerName,
  rankers,
  translateQuery,
  warmUpEntries,
  warmUpSearch,
} from './rankers.ts'
