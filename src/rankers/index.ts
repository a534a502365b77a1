// Exports of rankers for other folders.
export {
  explainHybrid,
  patientModel,
  type RankerName,
  rankers,
  warmUpEntries,
  warmUpSearch,
  whenIndexed,
} from './rankers.ts'
