// Defines the learned weights of the fusion (fusion.ts), as `npm run train` printed them (bench/RESULTS.md).
import type { FusionWeights } from './fusion.ts'

/** Weights for words and the static table. */
export const WITHOUT_MODEL: FusionWeights = {
  wordsLead: 1.78,
  meaning: 2.58,
  meaningLead: 0.32,
  both: 1.16,
  nameCoverage: 0.62,
  unsureMeaning: 1.28,
  serverCoverage: 1.24,
  queryCoverage: 2.34,
  nearWordsLead: 2.06,
  action: 0.9,
  model: 0,
  modelLead: 0,
}

/** Weights that include the sentence encoder. */
export const WITH_MODEL: FusionWeights = {
  wordsLead: 1.5,
  meaning: 1.3,
  meaningLead: 0.67,
  both: 1.68,
  nameCoverage: 0.44,
  unsureMeaning: 0.01,
  serverCoverage: 0.99,
  queryCoverage: 2.63,
  nearWordsLead: 1.98,
  action: 0.75,
  model: 1.65,
  modelLead: 2.62,
}
