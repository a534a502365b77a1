// `toolshelf search --eval`: measures rankers on queries with known answers.
import type { PoolTool } from '@toolshelf/core'
import { type Evaluation, evaluate, interval, METRICS, type Quality } from '@toolshelf/core/internal'
import { whenIndexed } from '@toolshelf/core/internal/node'
import { CommandError, type Terminal } from './command.ts'
import { table } from './terminal/table.ts'
import { readQueries, readRanker } from './tools.ts'

/** Measures each ranker with the queries of a file. */
export async function evaluateRankers(
  names: readonly string[],
  tools: readonly PoolTool[],
  queryFile: string,
  terminal: Terminal,
): Promise<Record<string, Evaluation>> {
  const queries = await readQueries(queryFile, terminal)
  const results: Record<string, Evaluation> = {}
  for (const name of names) {
    const progress = progressOf(name, terminal)
    results[name] = await evaluate(whenIndexed(readRanker(name)), tools, queries, { progress }).catch(
      (error: Error) => {
        throw new CommandError(error.message)
      },
    )
  }
  return results
}

function progressOf(name: string, terminal: Terminal): (done: number, all: number) => void {
  if (!terminal.isInteractive) return () => {}
  return (done, all) => {
    if (done % 50 === 0 || done === all) terminal.report(`${name}: ${done} of ${all}`)
  }
}

export function evaluationJson(results: Record<string, Evaluation>): object {
  return {
    rankers: Object.fromEntries(
      Object.entries(results).map(([name, { perQuery: _, ...measures }]) => [name, measures]),
    ),
  }
}

export function evaluationTable(results: Record<string, Evaluation>): string {
  const header = ['ranker', 'kind', 'n', ...METRICS.map((metric) => metric.toUpperCase())]
  const rows = Object.entries(results).flatMap(([name, one]) => [
    [name, 'all', one.n, ...METRICS.map((metric) => withInterval(one, metric))],
    ...Object.entries(one.kinds).map(([kind, quality]) => [
      name,
      kind,
      quality.n,
      ...METRICS.map((metric) => percent(quality[metric])),
    ]),
  ])
  return `${table(header, rows)}\nPer cent; ± is half of the 95 % bootstrap interval.`
}

function withInterval(one: Evaluation, metric: Exclude<keyof Quality, 'n'>): string {
  const [low, high] = interval(one.perQuery.map((query) => query[metric]))
  return `${percent(one[metric])} ±${((100 * (high - low)) / 2).toFixed(1)}`
}

function percent(value: number): string {
  return (100 * value).toFixed(1)
}
