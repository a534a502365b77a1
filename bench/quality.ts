// `npm run bench quality <folder>`: how well rankers find the right tools, ours and other libraries', in the same run.
// The folder holds sets (tools.jsonl, queries.jsonl); each is also measured with its queries cut to a few words.
// Of large sets only every n-th query is taken, because some peers need minutes; `--all` takes them all.
import {
  type Evaluation,
  type EvaluationQuery,
  evaluate,
  type Quality,
} from '../packages/core/src/search/evaluate.ts'
import { createLexicalIndex } from '../packages/core/src/search/lexical.ts'
import { createLexicalRank, searchIndex } from '../packages/core/src/search/lexical-search.ts'
import { PLAIN_BM25 } from '../packages/core/src/search/settings.ts'
import { type Contender, contenders, figureOf, measureOn } from './protocol.ts'
import { report, table } from './report.ts'
import { type QuerySet, readSets } from './sets.ts'

/** What the sets' README calls BM25F: fields weighted, stemmed, stop words out, nothing else. */
const BASELINE = {
  ...PLAIN_BM25,
  weights: [3, 1, 0, 1, 0.5, 0.25, 0],
  lengthPenalty: [0.75, 0.75, 0, 0.75, 0.75, 0.75, 0],
} as const

const baseline: Contender = { name: 'BM25F baseline', rank: createLexicalRank(BASELINE), isOurs: false }
const measured = [...contenders().filter(({ name }) => name !== 'regex'), baseline]

const folder = process.argv.slice(2).find((argument) => !argument.startsWith('-'))
if (!folder) {
  console.error('This bench needs sets of tools and queries: name their folder as its argument.')
  process.exit(2)
}

const percent = (value: number) => (value * 100).toFixed(1)
const cell = ({ r1, r5, ndcg10 }: Quality) => `${percent(r1)} / ${percent(r5)} / ${percent(ndcg10)}`

function intervalOf(evaluation: Evaluation): string {
  const { low, high } = figureOf(evaluation, 'ndcg10')
  return `${percent(low)}–${percent(high)}`
}

/** Queries that share no word with the tools they ask for. */
function paraphrases({ tools, queries }: QuerySet): EvaluationQuery[] {
  const index = createLexicalIndex(tools, BASELINE)
  const place = new Map(tools.map(({ name }, position) => [name, position]))
  return queries.filter(({ query, gold, scope }) => {
    const documents = gold.flatMap((name) => place.get(name) ?? [])
    return (
      !scope &&
      documents.length > 0 &&
      searchIndex(index, query, 0, documents).hits.every(({ words }) => words === 0)
    )
  })
}

async function measure(set: QuerySet, isShort: boolean): Promise<Map<string, Evaluation>> {
  const results = new Map<string, Evaluation>()
  for (const contender of measured) {
    const { name } = contender
    results.set(name, await measureOn(contender, set, isShort))
    console.error(`${set.name}${isShort ? ', short' : ''}: ${name} ${cell(results.get(name)!)}`)
  }
  return results
}

const names = measured.map(({ name }) => name)
const rows: string[][] = []
const shortRows: string[][] = []
const apartRows: string[][] = []
const details: string[][] = []
for (const set of readSets(folder, process.argv.includes('--all') ? Number.POSITIVE_INFINITY : 250)) {
  const full = await measure(set, false)
  const short = await measure(set, true)
  rows.push([set.name, ...names.map((name) => cell(full.get(name)!))])
  const kinds = Object.keys(full.get(names[0]!)!.kinds)
  if (kinds.length > 1)
    for (const kind of kinds)
      rows.push([`${set.name} ${kind}`, ...names.map((name) => cell(full.get(name)!.kinds[kind]!))])
  const apart = paraphrases(set)
  if (apart.length > 0) {
    const cells: string[] = []
    for (const { rank } of measured) cells.push(cell(await evaluate(rank, set.tools, apart)))
    apartRows.push([`${set.name} (${apart.length})`, ...cells])
  }
  shortRows.push([set.name, ...names.map((name) => cell(short.get(name)!))])
  for (const [name, one] of full) {
    const { n, r1, r3, r5, r10, ndcg10, mrr10, all5 } = one
    const values = [r1, r3, r5, r10, ndcg10, mrr10, all5].map(percent)
    details.push([set.name, name, String(n), ...values, intervalOf(one)])
  }
}

report('Quality of search', 'npm run bench quality <folder>', [
  'R@1 / R@5 / nDCG@10 in per cent. The queries are development halves; the sets are not part of the project.',
  '',
  ...table(['set, kind', ...names], rows),
  '',
  'The same queries cut to their two to four rarest words:',
  '',
  ...table(['set', ...names], shortRows),
  '',
  'Those of the queries that share no word with the tools they ask for:',
  '',
  ...table(['set (queries)', ...names], apartRows),
  '',
  'Everything, with the 95 % interval of nDCG@10:',
  '',
  ...table(
    ['set', 'ranker', 'n', 'R@1', 'R@3', 'R@5', 'R@10', 'nDCG@10', 'MRR@10', 'all@5', 'interval'],
    details,
  ),
])
