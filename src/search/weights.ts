// The learned weights of the fusion (fusion.ts), as `npm run train` printed them (bench/RESULTS.md).
import type { FusionWeights } from './fusion.ts'

/** Words and the static table. */
export const WITHOUT_MODEL: FusionWeights = {
  wordsLead: 1.85,
  meaning: 2.61,
  meaningLead: 0.46,
  both: 1.02,
  nameCoverage: 0.59,
  unsureMeaning: 1.34,
  serverCoverage: 1.24,
  queryCoverage: 2.48,
  nearWordsLead: 2.04,
  action: 0.87,
  model: 0,
  modelLead: 0,
}

/** The same with the real model. */
export const WITH_MODEL: FusionWeights = {
  wordsLead: 1.46,
  meaning: 1.42,
  meaningLead: 0.75,
  both: 1.67,
  nameCoverage: 0.37,
  unsureMeaning: 0,
  serverCoverage: 0.98,
  queryCoverage: 2.71,
  nearWordsLead: 1.94,
  action: 0.72,
  model: 1.61,
  modelLead: 2.66,
}
