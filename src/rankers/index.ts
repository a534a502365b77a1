// Exports of rankers for other folders.
export {
  explainHybrid,
  patientModel,
  type RankerName,
  rankers,
  translateQuery,
  warmUpEntries,
  warmUpSearch,
  whenIndexed,
} from './rankers.ts'
