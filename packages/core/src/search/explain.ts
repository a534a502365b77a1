// Explains why a tool was found: how each query word matched, in which fields, and how much it contributed.
import type { PoolTool } from '../types.ts'
import { fieldGain } from './analyse.ts'
import type { Alternative, MatchKind, QueryPlan } from './plan.ts'
import type { Vocabulary } from './query-words.ts'
import { FIELDS, type Field, searchFields } from './query-words.ts'
import type { LexicalSettings } from './settings.ts'
import { eachWord } from './words.ts'

/** How one word of the query matched a tool. */
export type WordMatch = {
  /** The word of the query; `term` is the tool's word stem that it matched. */
  readonly word: string
  readonly term: string
  readonly how: MatchKind
  /** What the match adds to the sum. */
  readonly amount: number
  /** The fields that contain the term, with their shares of the amount. */
  readonly fields: readonly { readonly field: Field; readonly amount: number }[]
}

type Family = { readonly vocabulary: Vocabulary; readonly settings: LexicalSettings }

/** Explains a tool's lexical score: its matched words, the one that adds most first. */
export function explainMatch(tool: PoolTool, plan: QueryPlan, family: Family): readonly WordMatch[] {
  const strengths = strengthsOf(tool, family)
  const words: WordMatch[] = []
  for (const { word, alternatives } of plan.groups) {
    let best: WordMatch | undefined
    for (const one of alternatives) {
      const match = matchOf(word, one, strengths.get(one.term), family)
      if (match && match.amount > (best?.amount ?? 0)) best = match
    }
    if (best) words.push(best)
  }
  return words.sort((a, b) => b.amount - a.amount)
}

function matchOf(
  word: string,
  { term, how, gain }: Alternative,
  perField: readonly number[] | undefined,
  { vocabulary, settings }: Family,
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
function strengthsOf(tool: PoolTool, { vocabulary, settings }: Family): Map<number, number[]> {
  const strengths = new Map<number, number[]>()
  searchFields(tool).forEach((texts, field) => {
    if (settings.weights[field] === 0) return
    const counts = new Map<number, number>()
    let length = 0
    const count = (term: number) => counts.set(term, (counts.get(term) ?? 0) + 1)
    for (const text of texts) {
      eachWord(text, (word, isJoined) => {
        const form = field === 0 && !isJoined ? vocabulary.formOf(word) : -1
        if (form >= 0) counts.set(form, 1)
        const term = vocabulary.termOf(word)
        if (term < 0) return
        count(term)
        if (!isJoined) length++
      })
    }
    const gain = fieldGain(settings, field, length)
    for (const [term, times] of counts) {
      const perField = strengths.get(term) ?? FIELDS.map(() => 0)
      perField[field]! += gain * times
      strengths.set(term, perField)
    }
  })
  return strengths
}
