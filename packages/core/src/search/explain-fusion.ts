// Explains the scores of the default ranker: what each feature of the fusion added.
import type { PoolTool } from '../types.ts'
import { CANDIDATES, gatherCandidates } from './candidates.ts'
import { FUSION_FEATURES, type FusionWeights, fusionFeatures } from './fusion.ts'
import { readIntent } from './intent.ts'
import type { LexicalIndex } from './lexical.ts'
import type { Vectors } from './meaning.ts'
import { WITHOUT_MODEL } from './weights.ts'

/** What one feature of the fusion added to a tool's score. */
export type ScorePart = {
  readonly name: keyof FusionWeights
  readonly value: number
  readonly amount: number
}

/** Explains the scores of tools without the encoder: each part that is not 0, largest first. */
export function explainFusion(
  index: LexicalIndex,
  vectors: Vectors | undefined,
  query: string,
  toolsToExplain: readonly PoolTool[],
): Map<PoolTool, ScorePart[]> {
  const { tools } = index
  const intent = readIntent(query)
  const { documents, evidence, scale } = gatherCandidates(index, intent, vectors, undefined, CANDIDATES)
  const wanted = new Set(toolsToExplain)
  const parts = new Map<PoolTool, ScorePart[]>()
  for (const [position, document] of documents.entries()) {
    const [tool, one] = [tools[document], evidence[position]]
    if (!tool || !one || !wanted.has(tool)) continue
    const features = fusionFeatures(one, scale)
    const all = FUSION_FEATURES.map((name) => ({
      name,
      value: features[name],
      amount: features[name] * WITHOUT_MODEL[name],
    }))
    parts.set(
      tool,
      all.filter(({ amount }) => amount > 0).sort((a, b) => b.amount - a.amount),
    )
  }
  return parts
}
