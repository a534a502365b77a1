// Implements the rankers by words: `lexical`, Toolshelf's own, and `bm25`, which behaves like the hosted search tool.
// Implements wire 18.
import type { Rank } from '../query.ts'
import type { PoolTool } from '../types.ts'
import { SearchInputError } from './input-error.ts'
import { buildLexicalIndex, type LexicalIndex } from './lexical.ts'
import { LEXICAL, type LexicalSettings, PLAIN_BM25 } from './settings.ts'
import { runAtOnce, type Sliced } from './slices.ts'

/** Longest query that the hosted BM25 tool accepts (wire 20). */
const MAX_BM25_QUERY_LENGTH = 500

/** Caches an index per list of tools, as long as the list lives; builds each from the latest one where they overlap. */
export function createIndexes(
  settings: LexicalSettings,
): (tools: readonly PoolTool[]) => Sliced<LexicalIndex> {
  const indexes = new WeakMap<readonly PoolTool[], LexicalIndex>()
  let latest: WeakRef<LexicalIndex> | undefined
  return function* (tools) {
    const known = indexes.get(tools)
    if (known) return known
    const index = yield* latest?.deref()?.updating(tools) ?? buildLexicalIndex(tools, settings)
    indexes.set(tools, index)
    latest = new WeakRef(index)
    return index
  }
}

/** Creates a lexical ranker with these settings. */
export function createLexicalRank(settings: LexicalSettings = LEXICAL): Rank {
  const indexFor = createIndexes(settings)
  return (tools, query, limit) => {
    const found = runAtOnce(indexFor(tools)).search(query, limit)
    const hits = found.hits.map(({ document, score }) => ({ tool: tools[document]!, score }))
    return {
      hits,
      get matched() {
        return found.matched()
      },
    }
  }
}

/** Ranks by fielded BM25F with cleaned queries, synonyms and bonuses for names. */
export const lexical: Rank = createLexicalRank()

const plain = createLexicalRank(PLAIN_BM25)

/** Ranks by plain BM25 over name, description, argument names and argument descriptions (wire 18). */
export const bm25: Rank = (tools, query, limit) => {
  if (query.length > MAX_BM25_QUERY_LENGTH) {
    const message = `the query has ${query.length} characters; at most ${MAX_BM25_QUERY_LENGTH} are searched. Shorten it.`
    throw new SearchInputError(message)
  }
  return plain(tools, query, limit)
}
