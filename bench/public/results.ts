// Types of the public results as stored in results.json, and their tables.
import { table } from '../report.ts'

/** Per cent: the mean and the limits of its 95 % interval. */
export type Measured = readonly [mean: number, low: number, high: number]

export type Figures = { readonly r1: Measured; readonly r5: Measured; readonly ndcg10: Measured }

export type PublicResults = {
  /** The day of the measurement, as YYYY-MM-DD. */
  readonly date: string
  readonly command: string
  readonly sets: readonly {
    readonly name: string
    /** `owner/name@commit`, or what else the set was read from. */
    readonly source: string
    readonly licence?: string
    readonly tools: number
    readonly queries: number
  }[]
  readonly rankers: readonly { readonly name: string; readonly isOurs: boolean }[]
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
  /** By set, then by ranker; the order is that of `sets` and `rankers`. */
  readonly figures: readonly (readonly { readonly full: Figures; readonly short: Figures }[])[]
}

export const MARKERS = {
  start: '<!-- public bench: written by `npm run bench public` -->',
  end: '<!-- end of public bench -->',
} as const

/** Every figure with its interval, for bench/RESULTS.md. */
export function resultLines(results: PublicResults): string[] {
  const rows = (isShort: boolean) =>
    results.sets.flatMap(({ name: set }, setIndex) =>
      results.rankers.map(({ name }, index) => {
        const { full, short } = results.figures[setIndex]![index]!
        const { r1, r5, ndcg10 } = isShort ? short : full
        return [set, name, withInterval(r1), withInterval(r5), withInterval(ndcg10)]
      }),
    )
  const header = ['set', 'ranker', 'R@1', 'R@5', 'nDCG@10']
  return [
    'Per cent, with the 95 % bootstrap interval (seeded). All rankers have the same tools and queries, in one run.',
    ...skippedLines(results),
    '',
    ...table(
      ['set', 'source', 'licence', 'tools', 'queries'],
      results.sets.map((set) => [set.name, set.source, set.licence ?? '', set.tools, set.queries]),
    ),
    '',
    ...table(header, rows(false)),
    '',
    'The same queries cut to their two to four rarest words:',
    '',
    ...table(header, rows(true)),
  ]
}

/** The tables of docs/search.md, the best of each column in bold. */
export function docsLines(results: PublicResults): string[] {
  const header = ['', ...results.sets.map(({ name }) => name)]
  const part = (isShort: boolean) => docsTable(header, results, isShort)
  const queries = results.sets.map(({ name, tools, queries }) => `${name} ${tools} and ${queries}`)
  return [
    '![nDCG@10 of every ranker on each set](search-quality.svg)',
    '',
    `Measured on ${results.date} with \`${results.command}\`: R@1 / R@5 / nDCG@10 in per cent, the best in bold. Tools and queries: ${queries.join(', ')}.`,
    '',
    ...part(false),
    '',
    'The same queries cut to their two to four rarest words, as models type them:',
    '',
    ...part(true),
    ...skippedLines(results).flatMap((line) => ['', line]),
  ]
}

function skippedLines({ skipped }: PublicResults): string[] {
  return skipped.map(({ name, reason }) => `${name} did not run where this was measured: ${reason}.`)
}

function docsTable(header: readonly string[], results: PublicResults, isShort: boolean): string[] {
  const columns = results.figures.map((set) => set.map(({ full, short }) => (isShort ? short : full)))
  const rows = results.rankers.map(({ name, isOurs }, index) => [
    isOurs ? `\`${name}\`` : name,
    ...columns.map((column) => docsCell(column, index)),
  ])
  return table(header, rows)
}

function docsCell(column: readonly Figures[], index: number): string {
  return METRICS.map((metric) => {
    const best = Math.max(...column.map((figures) => figures[metric][0]))
    const [mean] = column[index]![metric]
    return mean === best ? `**${mean.toFixed(0)}**` : mean.toFixed(0)
  }).join(' / ')
}

const METRICS = ['r1', 'r5', 'ndcg10'] as const

function withInterval([mean, low, high]: Measured): string {
  return `${mean.toFixed(1)} (${low.toFixed(1)}–${high.toFixed(1)})`
}

/** Replaces the text between the markers. Throws if the page lacks them. */
export function withDocs(page: string, lines: readonly string[]): string {
  const [start, end] = [page.indexOf(MARKERS.start), page.indexOf(MARKERS.end)]
  if (start < 0 || end < start)
    throw new Error(`the page lacks the lines ${MARKERS.start} and ${MARKERS.end}`)
  return `${page.slice(0, start)}${MARKERS.start}\n${lines.join('\n')}\n${page.slice(end)}`
}
