// `toolshelf eval`: measures rankers on queries with known answers.

import type { PoolTool } from '../core/index.ts'
import { patientModel, warmUpEntries, whenIndexed } from '../rankers/index.ts'
import { type Evaluation, evaluate, interval, METRICS, poolTools, type Quality } from '../search/index.ts'
import { table } from '../terminal/index.ts'
import { type Command, CommandError, type Terminal, UsageError } from './command.ts'
import { rankerOption, readQueries, readRanker, readTools, withEncoderProgress } from './tools/index.ts'

export const evalCommand: Command = {
  name: 'eval',
  summary: 'Measures rankers on queries whose answers are known.',
  words: '--catalog <tools.jsonl> --queries <queries.jsonl>',
  noArguments: 'pass files with --catalog and --queries',
  options: {
    catalog: {
      type: 'string',
      value: 'file',
      about: 'one tool per line: {name, description, input_schema, server?}',
    },
    queries: {
      type: 'string',
      value: 'file',
      about: 'one query per line: {query, gold: [names], acceptable?, kind?, scope?}',
    },
    ranker: {
      ...rankerOption,
      isMultiple: true,
      about: `${rankerOption.about} (default: hybrid)`,
    },
    json: { type: 'boolean', about: 'print {"rankers": {"<name>": {"n", "r1", …, "kinds"}}}' },
  },
  examples: [
    'toolshelf eval --catalog tools.jsonl --queries queries.jsonl --ranker hybrid --ranker classic --ranker bm25',
  ],
  async run({ text, texts, isSet }, terminal) {
    const [catalog, queryFile] = [text('catalog'), text('queries')]
    if (!catalog || !queryFile) throw new UsageError('--catalog and --queries are both required.')
    const given = texts('ranker')
    const names = given.length > 0 ? given : ['hybrid']
    const chosen = names.map((name) => [name, readRanker(name)] as const)
    const tools = poolTools(await readTools(catalog, terminal))
    const queries = await readQueries(queryFile, terminal)
    const results: Record<string, Evaluation> = {}
    for (const [name, rank] of chosen) {
      if (name === 'model' && !(await readByModel(tools, terminal))) continue
      const progress = progressOf(name, terminal)
      const measured = name === 'model' ? patientModel() : whenIndexed(rank)
      results[name] = await evaluate(measured, tools, queries, { progress }).catch((error: Error) => {
        throw new CommandError(error.message)
      })
    }
    if (isSet('json'))
      terminal.print(
        JSON.stringify({
          rankers: Object.fromEntries(Object.entries(results).map(([name, one]) => [name, plain(one)])),
        }),
      )
    else terminal.print(readable(results))
    return 0
  },
}

/** Returns false if the encoder is unavailable: the other rankers are still measured. */
async function readByModel(tools: readonly PoolTool[], terminal: Terminal): Promise<boolean> {
  terminal.report(`model: reading ${tools.length} tools; what was read before is kept on disk.`)
  const isReady = await withEncoderProgress(terminal, (report) => warmUpEntries(tools, report))
  if (!isReady) terminal.report('model: left out, because the encoder is not installed.')
  return isReady
}

function progressOf(name: string, terminal: Terminal): (done: number, all: number) => void {
  if (!terminal.isInteractive) return () => {}
  return (done, all) => {
    if (done % 50 === 0 || done === all) terminal.report(`${name}: ${done} of ${all}`)
  }
}

function plain({ perQuery: _, ...rest }: Evaluation): Omit<Evaluation, 'perQuery'> {
  return rest
}

function readable(results: Record<string, Evaluation>): string {
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
