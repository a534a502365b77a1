// The scores against a second, plain computation of the same formula, and the best against all.
import { describe, expect, test } from 'vitest'
import type { PoolTool } from '../../src/index.ts'
import { createLexicalIndex } from '../../src/search/index.ts'
import { LEXICAL, type LexicalSettings, PLAIN_BM25 } from '../../src/search/lexical/settings.ts'
import { toolsOf } from './tools.ts'

/** Words that are their own stems and nobody's synonyms. */
const WORDS = 'kabo lumi tagu rofo wuna dibo sopu naku vimo gafu pilo zoku bamu hodu relo'.split(' ')

type Fields = { name: string[]; server: string[]; description: string[]; argument: string[] }

/** Always the same numbers from 0 to 1. */
function createNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** A word that no other tool has: tools of one name would be distinguished by their servers. */
const ownWord = (place: number) => `qu${[...`${place}`].map((digit) => 'aeioubdfgh'[Number(digit)]).join('')}`

/** Early words are frequent, late ones rare. */
function fieldsOf(count: number): Fields[] {
  const number = createNumbers(7)
  const some = (most: number) =>
    Array.from({ length: Math.floor(number() * (most + 1)) }, () => WORDS[Math.floor(number() ** 3 * 15)]!)
  return Array.from({ length: count }, (_, place) => ({
    name: [ownWord(place), ...some(2), 'kabo'],
    server: [...some(1), 'zoku'],
    description: some(12),
    argument: some(1),
  }))
}

function toolOf({ name, server, description, argument }: Fields) {
  const properties = Object.fromEntries(argument.map((word) => [word, { type: 'string' }]))
  return {
    name: name.join('_'),
    server: server.join('-'),
    description: description.join(' '),
    arguments: properties,
  }
}

/** BM25F with the bonuses for names, as docs and settings say it, without an index. */
function plainScore(all: readonly Fields[], own: Fields, clauses: string[][], settings: LexicalSettings) {
  const query = [...new Set(clauses.flat())]
  const rarity = (word: string) => {
    const having = all.filter((one) => Object.values(one).some((words) => words.includes(word))).length
    return Math.log(1 + (all.length - having + 0.5) / (having + settings.rarityFloor))
  }
  const places = { name: 0, server: 1, description: 3, argument: 4 } as const
  const strength = (word: string) => {
    let sum = 0
    for (const [field, place] of Object.entries(places)) {
      const words = own[field as keyof Fields]
      const penalty = settings.lengthPenalty[place]!
      const norm = 1 - penalty + (penalty * words.length) / settings.usualLength[place]!
      sum += (settings.weights[place]! * words.filter((one) => one === word).length) / norm
    }
    return sum / (sum + settings.saturation)
  }
  const given = (word: string) =>
    rarity(word) * (strength(word) + (own.name.includes(word) ? settings.sameForm : 0))
  const sumOf = (words: string[]) => words.reduce((sum, word) => sum + given(word), 0)
  const share = clauses.length > 1 ? settings.bestClause : 0
  const sum = (1 - share) * sumOf(query) + share * Math.max(...clauses.map(sumOf))
  const covered = (words: string[], by: string[]) => {
    const distinct = [...new Set(words)]
    return distinct.filter((word) => by.includes(word)).length / distinct.length
  }
  const name = settings.nameCoverage * covered(own.name, query) ** settings.nameCoveragePower
  const named =
    settings.queryInName * covered(query, [...own.name, ...own.server]) ** settings.queryInNamePower
  const server = covered(own.server, query) === 1 ? settings.serverNamed : 0
  return sum * (1 + name) * (1 + named) * (1 + server)
}

const QUERIES = ['relo', 'kabo zoku', 'lumi hodu', 'tagu kabo rofo', 'relo. zoku kabo', 'bamu lumi. kabo']
const clausesOf = (query: string) => query.split('. ').map((clause) => clause.split(' '))

describe.each([
  ['lexical', LEXICAL],
  ['bm25', PLAIN_BM25],
])('%s', (_, settings) => {
  const fields = fieldsOf(60)
  // Arguments count once, however often a test's words repeat.
  for (const one of fields) one.argument = [...new Set(one.argument)]
  const index = createLexicalIndex(toolsOf(...fields.map(toolOf)), settings)

  test.each(QUERIES)('S7 the score of every tool is the formula: %s', (query) => {
    const { hits } = index.measure(query, [...fields.keys()])
    hits.forEach(({ score }, place) => {
      expect(score).toBeCloseTo(plainScore(fields, fields[place]!, clausesOf(query), settings), 3)
    })
  })

  test.each(QUERIES)(
    'S7 those with the highest scores come first, equal ones in the order of the pool: %s',
    (query) => {
      const all = index.measure(query, [...fields.keys()]).hits.filter(({ score }) => score > 0)
      all.sort((a, b) => b.score - a.score || a.document - b.document)
      for (const limit of [1, 7, 60]) expect(index.search(query, limit).hits).toEqual(all.slice(0, limit))
    },
  )
})

describe('the best', () => {
  /** No bonuses, so that the first stage alone decides; synonyms, so that a word has several terms. */
  const settings = { ...PLAIN_BM25, synonym: 0.7 }
  const synonyms = ['delete', 'remove', 'get', 'fetch', 'retrieve']
  const number = createNumbers(3)
  const some = (most: number, words: readonly string[]) =>
    Array.from(
      { length: 1 + Math.floor(number() * most) },
      () => words[Math.floor(number() ** 2 * words.length)]!,
    )
  const described = Array.from({ length: 2_000 }, (_, place) => ({
    name: `tool_${place}`,
    description: some(10, [...WORDS, ...synonyms]).join(' '),
  }))
  const tools: PoolTool[] = toolsOf(...described)
  const index = createLexicalIndex(tools, settings)
  const everything = [...tools.keys()]
  const queries = Array.from({ length: 40 }, () => some(6, [...synonyms, ...WORDS].reverse()).join(' '))

  test.each([1, 12, 150])('S7 %d of many tools are the best of all', (limit) => {
    for (const query of queries) {
      const all = index.measure(query, everything).hits.filter(({ score }) => score > 0)
      all.sort((a, b) => b.score - a.score || a.document - b.document)
      const { hits, matched } = index.search(query, limit)
      expect(hits).toHaveLength(Math.min(limit, all.length))
      for (const [place, { score }] of hits.entries()) expect(score).toBeCloseTo(all[place]!.score, 4)
      expect(new Set(hits.map(({ document }) => document)).size).toBe(hits.length)
      expect(matched()).toBe(all.length)
    }
  })
})
