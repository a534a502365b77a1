// The playground's search over given tools, with the real rankers and their explanations.

import { engine, whenIndexed } from '../../../packages/core/src/rankers/engine.ts'
import { rankers } from '../../../packages/core/src/rankers/rankers.ts'
import { poolTools } from '../../../packages/core/src/search/evaluate.ts'
import { explainWords } from '../../../packages/core/src/search/explain.ts'
import { createLexicalIndex, type LexicalIndex } from '../../../packages/core/src/search/lexical.ts'
import type { PoolTool } from '../../../packages/core/src/types.ts'
import type {
  RankedHit,
  RankingView,
  SearchInput,
  SearchView,
  ToolView,
} from '../../../packages/inspector/src/api.ts'
import { asTool } from './server.ts'

const COMPARED = ['hybrid', 'lexical', 'bm25'] as const

export async function searchTools(input: SearchInput, views: readonly ToolView[]): Promise<SearchView> {
  const { query, expected, change = {} } = input
  const changed = views.map((view) =>
    view.name === expected
      ? { ...view, hint: change.hint ?? view.hint, description: change.description ?? view.description }
      : view,
  )
  const entries = poolTools(changed.map(asTool))
  const index = createLexicalIndex(entries)
  const rankings: RankingView[] = []
  const compared = COMPARED.filter((name) => input.rankers?.includes(name) ?? true)
  for (const name of compared) rankings.push(await rankBy(name, { entries, index, query, expected }))
  const before = rankings[0]?.expected?.rank ?? null
  const hint = `${query}`
  const isAsked = expected !== undefined && change.hint === undefined && compared.includes(COMPARED[0])
  const after = isAsked ? await searchTools({ ...input, change: { hint } }, views) : undefined
  return {
    ...{ query, searched: views.length, translation: null, rankings },
    suggestions: after
      ? [
          {
            kind: 'hint',
            text: hint,
            rankBefore: before,
            rankAfter: after.rankings[0]?.expected?.rank ?? null,
          },
        ]
      : [],
  }
}

type Question = {
  readonly entries: readonly PoolTool[]
  readonly index: LexicalIndex
  readonly query: string
  readonly expected: string | undefined
}

async function rankBy(ranker: (typeof COMPARED)[number], question: Question): Promise<RankingView> {
  const { entries, index, query, expected } = question
  const ranking = await whenIndexed(rankers[ranker])(entries, query, entries.length)
  const wanted = entries.find(({ name }) => name === expected)
  const shown = [...ranking.hits.slice(0, 10).map(({ tool }) => tool), ...(wanted ? [wanted] : [])]
  const parts = ranker === 'hybrid' ? await engine.explain(index, query, shown) : undefined
  const hitOf = (tool: PoolTool, score: number): Omit<RankedHit, 'rank'> => ({
    ...{
      name: tool.name,
      server: tool.server ?? null,
      description: String(tool.definition.description),
      score,
    },
    parts: (parts?.get(tool) ?? []).map(({ name, amount }) => ({ label: name, amount })),
    words: ranker === 'bm25' ? [] : explainWords(index, query)(tool),
  })
  const place = ranking.hits.findIndex(({ tool }) => tool === wanted)
  return {
    ...{ ranker, matched: ranking.matched ?? ranking.hits.length, milliseconds: 1, error: null },
    hits: ranking.hits.slice(0, 10).map(({ tool, score }, at) => ({ rank: at + 1, ...hitOf(tool, score) })),
    expected: wanted
      ? { rank: place < 0 ? null : place + 1, ...hitOf(wanted, ranking.hits[place]?.score ?? 0) }
      : null,
  }
}
