// Exports of rankers for other folders.
export {
  EXPLAINED_RANKERS,
  explainHits,
  type FoundTool,
  type FoundTools,
  findWithScores,
  type SearchExplanation,
  scorePartLabel,
  type Why,
} from './explained-search.ts'
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
