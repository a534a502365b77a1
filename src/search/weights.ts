// The learned weights of the fusion (fusion.ts), as `npm run train` printed them.
import type { FusionWeights } from './fusion.ts'

/** Words and the static table. */
export const WITHOUT_MODEL: FusionWeights = {
  wordsLead: 2.43,
  meaning: 2.81,
  meaningLead: 0.48,
  both: 1.28,
  nameCoverage: 0.26,
  unsureMeaning: 1.24,
  serverCoverage: 1.18,
  queryCoverage: 3.18,
  model: 0,
  modelLead: 0,
}

/** The same with the real model. */
export const WITH_MODEL: FusionWeights = {
  wordsLead: 1.78,
  meaning: 1.38,
  meaningLead: 0.75,
  both: 1.43,
  nameCoverage: 0.51,
  unsureMeaning: 0,
  serverCoverage: 0.87,
  queryCoverage: 3.83,
  model: 2,
  modelLead: 2.81,
}
