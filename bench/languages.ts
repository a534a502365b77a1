// `npm run bench languages <folder>`: how well everyday queries in other languages find English tools. The folder holds the
// sets `arcade` and `livemcp`, whose tools are the catalogue; the queries are our own (bench/languages), ten a language
// written for development and ten kept for the end.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Rank, rankers, type Tool } from '../packages/core/src/index.ts'
import { type EvaluationQuery, evaluate, poolTools } from '../packages/core/src/search/evaluate.ts'
import { createHybrid } from '../packages/core/src/search/hybrid.ts'
import { createMeaning } from '../packages/core/src/search/meaning.ts'
import { createVectors } from '../packages/core/src/search/vectors.ts'
import { report, table } from './report.ts'

type Need = {
  readonly half: 'development' | 'final'
  readonly english: string
  readonly gold: string
  readonly acceptable: readonly string[]
}

const SETS = ['arcade', 'livemcp']

const read = <Value>(name: string) =>
  JSON.parse(readFileSync(new URL(`./languages/${name}`, import.meta.url), 'utf8')) as Value
const needs = read<Record<string, Need>>('needs.json')
const queries = read<Record<string, Record<string, string>>>('queries.json')

const [folder] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
if (!folder) {
  console.error('This bench needs the sets arcade and livemcp: name their folder as its argument.')
  process.exit(2)
}

const tools = poolTools(
  SETS.flatMap((set) =>
    readFileSync(join(folder, set, 'tools.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Tool),
  ),
)

const meaning = createMeaning(readFileSync(new URL('../packages/core/data/meaning.bin', import.meta.url)))
const columns: Readonly<Record<string, Rank>> = {
  lexical: rankers.lexical,
  'hybrid, not translated': createHybrid({ vectors: createVectors(meaning) }),
  hybrid: rankers.hybrid,
}

function setOf(texts: Readonly<Record<string, string>>, half: Need['half']): EvaluationQuery[] {
  return Object.entries(texts).flatMap(([name, query]) => {
    const need = needs[name]
    if (!need) throw new Error(`bench/languages/needs.json has no need "${name}".`)
    return need.half === half ? [{ query, gold: [need.gold], acceptable: need.acceptable }] : []
  })
}

const percent = (value: number) => String(Math.round(value * 100))

async function rowsOf(half: Need['half']): Promise<string[][]> {
  const rows: string[][] = []
  const sums = Object.keys(columns).map(() => [0, 0] as [number, number])
  for (const [language, texts] of Object.entries(queries)) {
    const cells: string[] = []
    for (const [column, rank] of Object.values(columns).entries()) {
      const { r1, r5 } = await evaluate(rank, tools, setOf(texts, half))
      cells.push(`${percent(r1)} / ${percent(r5)}`)
      const sum = sums[column]!
      sum[0] += r1
      sum[1] += r5
    }
    rows.push([language, ...cells])
  }
  const count = Object.keys(queries).length
  rows.push(['mean', ...sums.map(([r1, r5]) => `${percent(r1 / count)} / ${percent(r5 / count)}`)])
  const english = Object.fromEntries(Object.entries(needs).map(([name, need]) => [name, need.english]))
  const cells: string[] = []
  for (const rank of Object.values(columns)) {
    const { r1, r5 } = await evaluate(rank, tools, setOf(english, half))
    cells.push(`${percent(r1)} / ${percent(r5)}`)
  }
  rows.push(['the same needs in English', ...cells])
  return rows
}

const header = ['language', ...Object.keys(columns)]
report('Queries in other languages', 'npm run bench languages <folder>', [
  `R@1 / R@5 in per cent over ${tools.length} English tools (${SETS.join(' and ')}). Ten queries a language in each half.`,
  '',
  'Kept for the end:',
  '',
  ...table(header, await rowsOf('final')),
  '',
  'Used in development:',
  '',
  ...table(header, await rowsOf('development')),
])
