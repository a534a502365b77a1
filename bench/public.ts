// `npm run bench public [--data <folder>] [--cache <folder>] [--all] [--no-ratel]`: our rankers beside other
// libraries on public sets, and the tables and the chart of docs/search.md. `--render` draws these from the last results;
// `--ours` measures our rankers anew, and the figures of others stay as they were measured.
//
// The sets are fetched from their own repositories at pinned commits, checked by SHA-256 and kept in a cache folder; or
// read from --data, a folder per set with tools.jsonl and queries.jsonl. At most 200 queries a set; --all takes them all.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Contender, contenders, figureOf, measureOn } from './protocol.ts'
import { drawChart } from './public/chart.ts'
import { benchCacheFolder, fetchSource } from './public/fetch-source.ts'
import { loadRatel } from './public/ratel.ts'
import {
  docsLines,
  type Figures,
  type Measured,
  type PublicResults,
  resultLines,
  withDocs,
} from './public/results.ts'
import { SOURCES } from './public/sources.ts'
import { report } from './report.ts'
import { createSet, type QuerySet, readSets } from './sets.ts'

const MAX_QUERIES = 200

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    cache: { type: 'string' },
    all: { type: 'boolean', default: false },
    'no-ratel': { type: 'boolean', default: false },
    render: { type: 'boolean', default: false },
    ours: { type: 'boolean', default: false },
  },
})
const cache = values.cache ?? benchCacheFolder()
const most = values.all ? Number.POSITIVE_INFINITY : MAX_QUERIES

type Found = { readonly set: QuerySet; readonly source: string; readonly licence?: string }

function localSets(folder: string): Found[] {
  return readSets(folder, most).map((set) => ({ set, source: 'local copy' }))
}

/** The sets that could be fetched; each that could not is reported. */
async function publicSets(skipped: { name: string; reason: string }[]): Promise<Found[]> {
  const found: Found[] = []
  for (const source of SOURCES) {
    try {
      const { tools, queries } = source.convert(await fetchSource(source, cache))
      const from = `${source.repository}@${source.commit.slice(0, 12)}`
      found.push({ set: createSet(source.name, tools, queries, most), source: from, licence: source.licence })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      console.error(`${source.name}: left out, ${reason}`)
      skipped.push({ name: source.name, reason })
    }
  }
  return found
}

async function figuresOn(set: QuerySet, measured: readonly Contender[]) {
  const rows: { full: Figures; short: Figures }[] = []
  for (const contender of measured) {
    const row = { full: await figures(contender, set, false), short: await figures(contender, set, true) }
    console.error(`${set.name}: ${contender.name} ${row.full.ndcg10[0]} / short ${row.short.ndcg10[0]}`)
    rows.push(row)
  }
  return rows
}

async function figures(contender: Contender, set: QuerySet, isShort: boolean): Promise<Figures> {
  const evaluation = await measureOn(contender, set, isShort)
  const measured = (metric: keyof Figures): Measured => {
    const { mean, low, high } = figureOf(evaluation, metric)
    return [percent(mean), percent(low), percent(high)]
  }
  return { r1: measured('r1'), r5: measured('r5'), ndcg10: measured('ndcg10') }
}

function percent(value: number): number {
  return Math.round(value * 1000) / 10
}

function commandLine(): string {
  const options = [values.all ? '--all' : '', values.data === undefined ? '' : '--data <folder>'].filter(
    (option) => option !== '',
  )
  return ['npm run bench public', ...(options.length > 0 ? ['--', ...options] : [])].join(' ')
}

/** Yields what is measured so far, after each set. */
async function* measureAll(): AsyncGenerator<PublicResults> {
  const skipped: { name: string; reason: string }[] = []
  const found = values.data === undefined ? await publicSets(skipped) : localSets(values.data)
  const ratel = values['no-ratel'] || found.length === 0 ? { skipped: [] } : await loadRatel(cache)
  for (const { name, reason } of ratel.skipped) console.error(`${name}: left out, ${reason}`)
  const measured: Contender[] = [...contenders(), ...(ratel.peer ? [{ ...ratel.peer, isOurs: false }] : [])]
  const sets: PublicResults['sets'][number][] = []
  const all: PublicResults['figures'][number][] = []
  for (const { set, ...from } of found) {
    all.push(await figuresOn(set, measured))
    sets.push({ name: set.name, ...from, tools: set.tools.length, queries: set.queries.length })
    yield {
      date: new Date().toISOString().slice(0, 10),
      command: commandLine(),
      sets,
      rankers: measured.map(({ name, isOurs }) => ({ name, isOurs })),
      skipped: [...skipped, ...ratel.skipped],
      figures: all,
    }
  }
}

const stored = new URL('./public/results.json', import.meta.url)

function write(results: PublicResults): void {
  const section = values.data === undefined ? 'Public sets' : 'Public sets, local copies'
  report(section, results.command, resultLines(results))
  if (values.data !== undefined) return
  const docs = (name: string) => new URL(`../docs/${name}`, import.meta.url)
  writeFileSync(stored, `${JSON.stringify(results)}\n`)
  writeFileSync(docs('search-quality.svg'), drawChart(results))
  writeFileSync(docs('search.md'), withDocs(readFileSync(docs('search.md'), 'utf8'), docsLines(results)))
}

function lastResults(): PublicResults {
  return JSON.parse(readFileSync(stored, 'utf8')) as PublicResults
}

/** The last results with our rows measured anew, on the sets that they are of. */
async function measureOurs(last: PublicResults): Promise<PublicResults> {
  const found = await publicSets([])
  const measured = contenders().filter(({ isOurs }) => isOurs)
  const figures: PublicResults['figures'][number][] = []
  for (const [index, { name }] of last.sets.entries()) {
    const one = found.find(({ set }) => set.name === name)
    if (!one) throw new Error(`${name}: cannot be read, so its figures would be of different rankings`)
    const own = await figuresOn(one.set, measured)
    figures.push(
      last.figures[index]!.map((row, place) => {
        const at = measured.findIndex((ranker) => ranker.name === last.rankers[place]?.name)
        return own[at] ?? row
      }),
    )
  }
  return { ...last, date: new Date().toISOString().slice(0, 10), figures }
}

if (values.render) {
  write(lastResults())
} else if (values.ours) {
  write(await measureOurs(lastResults()))
} else {
  let count = 0
  for await (const results of measureAll()) {
    write(results)
    count = results.sets.length
  }
  if (count === 0) {
    console.error(
      'No set could be read. Without a network, pass --data <folder of sets> or --cache <folder of the files>.',
    )
    process.exitCode = 2
  }
}
