// S18: no ranker, and no part of one, scores a text worse for a language that it does not know.
import { describe, expect, it } from 'vitest'
import { type RankerName, rankers } from '../../packages/core/src/index.ts'
import { type EvaluationQuery, evaluate } from '../../packages/core/src/search/evaluate.ts'
import { createHybrid } from '../../packages/core/src/search/hybrid.ts'
import { type ForeignCatalogue, foreignCatalogues } from './foreign-catalogues.ts'
import { toolsOf } from './tools.ts'

const decoys = toolsOf(
  { name: 'mcp__mail__send_email', server: 'mail', description: 'Sends an e-mail to recipients.' },
  { name: 'mcp__weather__get_forecast', server: 'weather', description: 'Returns the weather of a city.' },
  { name: 'mcp__books__find_book', server: 'books', description: 'Finds a book by its title.' },
)

const languages: [language: string, description: string, query: string][] = [
  ['Russian', 'Создаёт счёт для клиента', 'создаёт счёт'],
  ['Greek', 'Δημιουργεί τιμολόγιο για πελάτη', 'δημιουργεί τιμολόγιο'],
  ['Arabic', 'ينشئ فاتورة للعميل', 'ينشئ فاتورة'],
  ['Chinese', '为客户创建发票', '创建发票'],
  ['Japanese', '顧客の請求書を作成する', '請求書を作成'],
  ['Korean', '고객의 청구서를 만듭니다', '청구서를 만듭니다'],
  ['German', 'Erstellt eine Rechnung für den Kunden', 'erstellt Rechnung'],
  ['Polish', 'Wystawia fakturę klientowi', 'wystawia fakturę'],
]

describe('S18 a tool described in another language', () => {
  const ranked = Object.keys(rankers).filter((name) => name !== 'model' && name !== 'regex') as RankerName[]
  for (const name of ranked) {
    it.each(languages)(`S18 ${name}: %s words find it before all others`, async (_, description, query) => {
      const tools = [...decoys, ...toolsOf({ name: 'mcp__a__b', server: 'a', description })]
      const { hits } = await rankers[name](tools, query, 3)
      // The classic ranker knows whole words only (S6).
      if (name === 'classic' && hits.length === 0) return
      expect(hits[0]?.tool).toBe(tools.at(-1))
    })
  }
})

describe('S18 a catalogue in a script that the table of meanings does not cover', () => {
  const setOf = ({ tools, queries }: ForeignCatalogue) => ({
    tools: toolsOf(...tools.map(([name, description]) => ({ name, description }))),
    queries: queries.map(([query, name]): EvaluationQuery => ({ query, gold: [name] })),
  })

  it.each(foreignCatalogues)('S18 hybrid finds no less than lexical: $language', async (catalogue) => {
    const { tools, queries } = setOf(catalogue)
    const [words, both] = [
      await evaluate(rankers.lexical, tools, queries),
      await evaluate(rankers.hybrid, tools, queries),
    ]
    expect(words.r5).toBeGreaterThan(0.9)
    expect(both.r1).toBeGreaterThanOrEqual(words.r1)
    expect(both.ndcg10).toBeGreaterThanOrEqual(words.ndcg10)
  })
})

describe('S18 what a part of the ranker cannot read', () => {
  it('S18 a tool that no part but the words can read keeps the place that the words give it', async () => {
    const [latin, foreign] = toolsOf(
      { name: 'a', description: 'report' },
      { name: 'б', description: 'отчёт' },
    )
    const rank = createHybrid({ vectors: undefined, model: async () => Float32Array.of(0.9, 0) })
    const both = [latin!, foreign!]
    const { hits } = await rank(both, 'отчёт report', 2)
    expect(hits[0]!.score).toBeCloseTo(hits[1]!.score, 5)
  })
})
