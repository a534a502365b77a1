// Plans a query: for each word, the index terms that match it and how much each contributes.

import { STRENGTH_STEPS } from './analyse.ts'
import type { WeightedWord } from './meaning.ts'
import { countOf, type Postings } from './postings.ts'
import type { QueryWord } from './query-words.ts'
import { NO_TERM, type Repair, readQuery, repair, type Vocabulary } from './query-words.ts'
import type { LexicalSettings } from './settings.ts'
import { stem, synonymsOf } from './words.ts'

/** How an index term matches a word of the query. */
export type MatchKind = 'word' | 'synonym' | 'prefix' | 'typo' | 'part' | 'form'

/** An index term that matches a word of the query. */
export type Alternative = {
  readonly term: number
  readonly how: MatchKind
  /** Its weight relative to the word itself. */
  readonly share: number
  /** What a posting of full strength adds. */
  readonly gain: number
}

/** A word of the query. Only its best alternative counts. */
export type Group = {
  readonly word: string
  /** The word's weight in the query; `rarity` is the same by rarity. A group for a word's exact form has none. */
  readonly weight: number
  readonly rarity: number
  readonly clause: number
  readonly alternatives: readonly Alternative[]
  /** The most it can add to any tool's score. */
  readonly bound: number
  /** The number of postings to read. */
  readonly length: number
}

/** The words of a query with the terms that match them. */
export type QueryPlan = {
  readonly groups: readonly Group[]
  readonly clauses: number
  readonly weight: number
  readonly rarity: number
}

/** The parts of an index that a plan is made from. */
export type Source = {
  readonly count: number
  readonly vocabulary: Vocabulary
  readonly postings: Postings
  readonly settings: LexicalSettings
}

/** In longer queries, unknown words are names and values rather than typos. */
const MAX_WORDS_CORRECTED = 8

/** Plans a query against an index. */
export function planOf(query: string, source: Source): QueryPlan {
  const groups: Group[] = []
  let weight = 0
  let rarity = 0
  let clauses = 1
  const words = knownWords(readQuery(query, source.settings.query), source)
  const mayCorrect = words.length <= MAX_WORDS_CORRECTED
  for (const word of words) {
    const group = groupOf(word, source, mayCorrect)
    weight += group.weight
    rarity += group.rarity
    if (group.alternatives.length === 0) continue
    clauses = Math.max(clauses, word.clause + 1)
    groups.push(group)
    const form = formGroup(word, group, source)
    if (form) groups.push(form)
  }
  return { groups, clauses, weight, rarity }
}

/** Returns the words of a query with their weight by rarity, including those that no tool has. */
export function weighedWords(query: string, source: Source): WeightedWord[] {
  const { vocabulary, postings, settings } = source
  return knownWords(readQuery(query, settings.query), source).map(({ word, weight }) => ({
    word,
    weight: weight * rarityOf(countOf(postings, vocabulary.termOf(word)), source),
  }))
}

/** Replaces an identifier that no tool has as one word by its parts. */
function knownWords(words: readonly QueryWord[], { vocabulary, postings, settings }: Source): QueryWord[] {
  if (words.every(({ parts }) => parts.length === 0)) return words as QueryWord[]
  return words.flatMap((word) => {
    if (word.parts.length === 0 || countOf(postings, vocabulary.termOf(word.word)) > 0) return [word]
    return word.parts.map((part) => ({
      ...word,
      word: part,
      parts: [],
      weight: /^\d+$/.test(part) ? Math.min(word.weight, settings.query.number) : word.weight,
    }))
  })
}

function groupOf({ word, weight, clause }: QueryWord, source: Source, mayCorrect: boolean): Group {
  const { vocabulary, postings, settings } = source
  const own = vocabulary.termOf(word)
  const ownCount = countOf(postings, own)
  const rarity = weight * rarityOf(ownCount, source)
  const alternatives: Alternative[] = []
  const ceiling = { weight, rarity }
  if (ownCount > 0) alternatives.push({ term: own, how: 'word', share: 1, gain: rarity })
  if (settings.synonym > 0) {
    const near = synonymsOf(own === NO_TERM ? stem(word) : vocabulary.textOf(own))
    for (const one of near ?? [])
      add(alternatives, vocabulary.ofStem(one), 'synonym', settings.synonym, ceiling, source)
  }
  if (alternatives.length === 0) add(alternatives, vocabulary.formOf(word), 'form', 1, ceiling, source)
  if (settings.repair > 0 && alternatives.length === 0) {
    for (const found of repairsOf(word, source, mayCorrect))
      add(
        alternatives,
        found.how === 'part' ? vocabulary.termOf(found.word) : vocabulary.ofStem(found.word),
        found.how,
        settings.repair * found.share,
        ceiling,
        source,
      )
  }
  return finish(word, weight, rarity, clause, alternatives, postings)
}

function repairsOf(word: string, { vocabulary, postings }: Source, mayCorrect: boolean): Repair[] {
  const isKnown = (other: string) => countOf(postings, vocabulary.termOf(other)) > 0
  const stems = vocabulary
    .startingWith(word[0]!)
    .filter((one) => countOf(postings, vocabulary.ofStem(one)) > 0)
  return repair(word, stems, isKnown, mayCorrect)
}

/** Adds another term for a word, which counts no more than the rarer of the two allows. */
function add(
  alternatives: Alternative[],
  term: number,
  how: MatchKind,
  share: number,
  word: { readonly weight: number; readonly rarity: number },
  source: Source,
): void {
  const count = countOf(source.postings, term)
  if (count === 0) return
  for (const one of alternatives) if (one.term === term) return
  const gain = share * Math.min(word.weight * rarityOf(count, source), word.rarity)
  alternatives.push({ term, how, share, gain })
}

/** Creates the bonus for names that have the word in exactly the form of the query. */
function formGroup(
  { word, clause }: QueryWord,
  { rarity, alternatives: own }: Group,
  source: Source,
): Group | undefined {
  const { vocabulary, postings, settings } = source
  if (settings.sameForm === 0 || own[0]?.how === 'form') return undefined
  const term = vocabulary.formOf(word)
  if (countOf(postings, term) === 0) return undefined
  const alternatives: Alternative[] = [{ term, how: 'form', share: 1, gain: rarity * settings.sameForm }]
  return finish(word, 0, 0, clause, alternatives, postings)
}

function finish(
  word: string,
  weight: number,
  rarity: number,
  clause: number,
  alternatives: readonly Alternative[],
  postings: Postings,
): Group {
  let bound = 0
  let length = 0
  for (const { term, gain } of alternatives) {
    bound = Math.max(bound, (gain * (postings.strongest[term]! >> 2)) / STRENGTH_STEPS)
    length += countOf(postings, term)
  }
  return { word, weight, rarity, clause, alternatives, bound, length }
}

function rarityOf(count: number, { count: all, settings }: Source): number {
  const plain = Math.log(1 + (all - count + 0.5) / (count + settings.rarityFloor))
  return settings.rarityPower === 1 ? plain : plain ** settings.rarityPower
}
