// Every ranker by name (S7), and the default one with its table of meanings, read at the first search.
import { readFileSync } from 'node:fs'
import { classic, type Rank } from './core/index.ts'
import { regex } from './regex-ranker.ts'
import { bm25, createHybrid, createMeaning, createVectors, lexical } from './search/index.ts'

const TABLE = new URL('../data/meaning.bin', import.meta.url)

let loaded: Rank | undefined

/** By words and by meaning: the best one measured (bench/RESULTS.md). Without its table it ranks by words. */
export const hybrid: Rank = (tools, query, limit) => {
  loaded ??= createHybrid({ vectors: readVectors() })
  return loaded(tools, query, limit)
}

export const rankers = { hybrid, lexical, classic, bm25, regex } as const satisfies Record<string, Rank>

export type RankerName = keyof typeof rankers

function readVectors() {
  try {
    return createVectors(createMeaning(readFileSync(TABLE)))
  } catch {
    return undefined
  }
}
