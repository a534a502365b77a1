// The learned weights of the fusion (fusion.ts), as `npm run train` printed them (bench/RESULTS.md).
import type { FusionWeights } from './fusion.ts'

/** Words and the static table. */
export const WITHOUT_MODEL: FusionWeights = {
  wordsLead: 2.52,
  meaning: 2.62,
  meaningLead: 0.5,
  both: 1.32,
  nameCoverage: 0.21,
  unsureMeaning: 1.43,
  serverCoverage: 1.25,
  queryCoverage: 3.08,
  nearWordsLead: 0,
  action: 0.7,
  model: 0,
  modelLead: 0,
}

/** The same with the real model. */
export const WITH_MODEL: FusionWeights = {
  wordsLead: 2.36,
  meaning: 1.06,
  meaningLead: 0.8,
  both: 1.65,
  nameCoverage: 0.32,
  unsureMeaning: 0.34,
  serverCoverage: 0.88,
  queryCoverage: 3.28,
  nearWordsLead: 0,
  action: 0.7,
  model: 1.9,
  modelLead: 2.9,
}
