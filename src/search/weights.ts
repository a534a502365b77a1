// The learned weights of the fusion (fusion.ts), as `npm run train` printed them.
import type { FusionWeights } from './fusion.ts'

/** Words and the static table. */
export const WITHOUT_MODEL: FusionWeights = {
  sureWords: 0,
  wordsLead: 2.12,
  meaning: 2.34,
  meaningLead: 1.66,
  both: 1.05,
  nameCoverage: 0.54,
  unsureMeaning: 0,
  serverCoverage: 1.4,
  queryCoverage: 2.63,
  model: 0,
  modelLead: 0,
}

/** The same with the real model. */
export const WITH_MODEL: FusionWeights = { ...WITHOUT_MODEL, model: 1, modelLead: 1 }
