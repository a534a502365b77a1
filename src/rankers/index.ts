// Exports of rankers for other folders.
export {
  explainHybrid,
  patientModel,
  type RankerName,
  rankers,
  warmUpEntries,
  warmUpSearch,
} from './rankers.ts'
