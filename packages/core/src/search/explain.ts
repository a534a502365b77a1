// Explains why a tool was found: how each word of the query matched, in which fields, and how much that added; and what
// each feature of the fusion added.
import type { PoolTool } from '../types.ts'
import { CANDIDATES, FUSION_FEATURES, type FusionWeights, gatherCandidates, WITHOUT_MODEL } from './hybrid.ts'
import { readIntent } from './intent.ts'
import { fieldGain, type LexicalIndex, NO_TERM } from './lexical.ts'
import { type Alternative, type MatchKind, planOf } from './lexical-search.ts'
import type { Vectors } from './vectors.ts'
import { eachWord, FIELDS, type Field, searchFields } from './words.ts'

/** How one word of the query matched a tool. */
export type WordMatch = {
  /** The word of the query; `term` is the tool's word stem that it matched. */
  readonly word: string
  readonly term: string
  readonly how: MatchKind
  /** What the match adds to the sum, before the bonuses for names. */
  readonly amount: number
  /** The fields that contain the term, with their shares of the amount. */
  readonly fields: readonly { readonly field: Field; readonly amount: number }[]
}

/** Returns a function that explains a tool's lexical score: its matched words, the one that adds most first. */
export function explainWords(index: LexicalIndex, query: string): (tool: PoolTool) => readonly WordMatch[] {
  const { groups } = planOf(query, index)
  return (tool) => {
    if (!index.tools.includes(tool)) return []
    const strengths = strengthsOf(tool, index)
    return groups
      .flatMap(({ word, alternatives }) => {
        const matches = alternatives.flatMap(
          (one) => matchOf(word, one, strengths.get(one.term), index) ?? [],
        )
        return matches.sort(byAmount).slice(0, 1)
      })
      .sort(byAmount)
  }
}

function byAmount(a: { readonly amount: number }, b: { readonly amount: number }): number {
  return b.amount - a.amount
}

function matchOf(
  word: string,
  { term, how, gain }: Alternative,
  perField: readonly number[] | undefined,
  { vocabulary, settings }: LexicalIndex,
): WordMatch | undefined {
  if (!perField) return undefined
  const sum = perField.reduce((total, one) => total + one, 0)
  const amount = how === 'form' ? gain : (gain * sum) / (sum + settings.saturation)
  const fields = perField.flatMap((one, index) =>
    one > 0 ? [{ field: FIELDS[index]!, amount: (amount * one) / sum }] : [],
  )
  return { word, term: vocabulary.textOf(term), how, amount, fields }
}

/** Returns, for each term of a tool, what each field adds before saturation. */
function strengthsOf(tool: PoolTool, { vocabulary, settings }: LexicalIndex): Map<number, number[]> {
  const strengths = new Map<number, number[]>()
  for (const [field, texts] of searchFields(tool).entries()) {
    if (settings.weights[field] === 0) continue
    const counts = new Map<number, number>()
    let length = 0
    for (const text of texts)
      eachWord(text, (word, isJoined) => {
        if (field === 0 && !isJoined) counts.set(vocabulary.formOf(word), 1)
        const term = vocabulary.termOf(word)
        if (term === NO_TERM) return
        counts.set(term, (counts.get(term) ?? 0) + 1)
        if (!isJoined) length++
      })
    const gain = fieldGain(settings, field, length)
    for (const [term, times] of counts) {
      const perField = strengths.get(term) ?? FIELDS.map(() => 0)
      perField[field]! += gain * times
      strengths.set(term, perField)
    }
  }
  return strengths
}

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
  const { candidates } = gatherCandidates(index, readIntent(query), vectors, undefined, CANDIDATES)
  const wanted = new Set(toolsToExplain)
  const parts = new Map<PoolTool, ScorePart[]>()
  for (const { tool, features } of candidates) {
    if (!wanted.has(tool)) continue
    const all = FUSION_FEATURES.map((name) => ({
      name,
      value: features[name],
      amount: features[name] * WITHOUT_MODEL[name],
    }))
    parts.set(tool, all.filter(({ amount }) => amount > 0).sort(byAmount))
  }
  return parts
}
