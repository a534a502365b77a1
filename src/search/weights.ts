// The learned weights of the fusion (fusion.ts), as `npm run train` printed them (bench/RESULTS.md).
import type { FusionWeights } from './fusion.ts'

/** Words and the static table. */
export const WITHOUT_MODEL: FusionWeights = {
  wordsLead: 2.45,
  meaning: 2.56,
  meaningLead: 0.66,
  both: 1.21,
  nameCoverage: 0.59,
  unsureMeaning: 1.59,
  serverCoverage: 1.26,
  queryCoverage: 2.87,
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
  model: 1.9,
  modelLead: 2.9,
}
