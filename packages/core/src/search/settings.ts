// Defines the weights of the lexical ranker, tuned on development queries by leaving out whole sets (bench/quality.ts).
import type { PerField, QueryWeights } from './words.ts'

/** The weights of a lexical ranker. */
export type LexicalSettings = {
  /** How much a word counts in each field, in the order of FIELDS. 0 leaves the field out. */
  readonly weights: PerField
  /** How much a long field reduces the weight of its words, 0 to 1. */
  readonly lengthPenalty: PerField
  /** The usual length of each field in words. Fixed, so that a tool's document never depends on other tools. */
  readonly usualLength: PerField
  /** BM25's k1: how soon repeating a word stops to matter. */
  readonly saturation: number
  /** Rarity: idf = log(1 + (N - n + 0.5) / (n + rarityFloor)). */
  readonly rarityFloor: number
  readonly query: QueryWeights
  /** The weight of a synonym relative to the word itself; 0 turns synonyms off. */
  readonly synonym: number
  /** The weight of a completed, corrected or split word, tried only for words that no tool has; 0 turns repair off. */
  readonly repair: number
  /** Bonus for a word that the name has in exactly the form of the query. */
  readonly sameForm: number
  /** Bonus for the share of the name's words that the query has, squared. */
  readonly nameCoverage: number
  /** Bonus for the share of the query's words that name and server have, to the power of three. */
  readonly queryInName: number
  /** Bonus for a server whose whole name the query has. */
  readonly serverNamed: number
  /** How much the best single sentence of a longer query counts relative to the whole. */
  readonly bestClause: number
}

/** The settings of the ranker `lexical`: BM25F, which is BM25 over fields, each with its weight. */
export const LEXICAL: LexicalSettings = {
  // Name, server, hint, description, argument names, argument descriptions, enum values.
  weights: [3, 4, 2, 1, 1.6, 0.45, 0.7],
  lengthPenalty: [0.1, 0, 0.3, 0.5, 0.5, 0.4, 0.1],
  usualLength: [3, 2, 5, 15, 3, 25, 5],
  saturation: 0.8,
  rarityFloor: 0.3,
  query: { filler: 0.2, value: 0.4, number: 0.4 },
  synonym: 0.7,
  repair: 0.6,
  sameForm: 0.25,
  nameCoverage: 0.25,
  queryInName: 0.8,
  serverNamed: 0.1,
  bestClause: 0.3,
}

/**
 * BM25 as in the hosted search tool: name, description, argument names and their descriptions, words as typed. The
 * server is part of the name that the model reads.
 */
export const PLAIN_BM25: LexicalSettings = {
  weights: [1, 1, 0, 1, 1, 1, 0],
  lengthPenalty: [0.75, 0.75, 0, 0.75, 0.75, 0.75, 0],
  usualLength: [3, 2, 5, 15, 3, 25, 5],
  saturation: 1.2,
  rarityFloor: 0.5,
  query: { filler: 1, value: 1, number: 1 },
  synonym: 0,
  repair: 0,
  sameForm: 0,
  nameCoverage: 0,
  queryInName: 0,
  serverNamed: 0,
  bestClause: 0,
}
