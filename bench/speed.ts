// `npm run bench speed`: compares the lexical index and the whole default ranker with MiniSearch on made-up tools, in the same
// run; and measures what starting costs. Only the ratios matter.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import MiniSearch from 'minisearch'
import { type PoolTool, rankers } from '../packages/core/src/index.ts'
import { buildLexicalIndex, createLexicalIndex } from '../packages/core/src/search/lexical.ts'
import { searchIndex } from '../packages/core/src/search/lexical-search.ts'
import { runAtOnce } from '../packages/core/src/search/reading.ts'
import { LEXICAL } from '../packages/core/src/search/settings.ts'
import { searchFields } from '../packages/core/src/search/words.ts'
import { median, report, table } from './report.ts'
import { synthetic } from './synthetic.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

type Built = {
  readonly search: (query: string) => unknown
  readonly buildTime: number
  readonly megabytes: number
}

const split = (text: string) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u)

function miniSearch(tools: readonly PoolTool[]): (query: string) => unknown {
  const index = new MiniSearch({
    fields: ['name', 'description', 'params'],
    tokenize: split,
    searchOptions: { boost: { name: 3 } },
  })
  index.addAll(
    tools.map((tool, id) => {
      const [, , , description, names, descriptions] = searchFields(tool)
      return {
        id,
        name: tool.name,
        description: description?.[0],
        params: [names, descriptions].flat().join(' '),
      }
    }),
  )
  return (query) => index.search(query).slice(0, 5)
}

function ours(tools: readonly PoolTool[]): (query: string) => unknown {
  const index = createLexicalIndex(tools)
  return (query) => searchIndex(index, query, 5)
}

const gc = (globalThis as { gc?: () => void }).gc ?? (() => {})

function held(): number {
  gc()
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 2 ** 20
}

function build(
  make: (tools: readonly PoolTool[]) => (query: string) => unknown,
  tools: readonly PoolTool[],
): Built {
  const before = held()
  const search = make(tools)
  const megabytes = held() - before
  const times = Array.from({ length: tools.length > 5000 ? 1 : 9 }, () => {
    const begin = process.cpuUsage()
    make(tools)
    const { user, system } = process.cpuUsage(begin)
    return (user + system) / 1000
  })
  return { search, buildTime: median(times), megabytes }
}

/** Microseconds a query, the median of several rounds. */
function timeOf(search: (query: string) => unknown, queries: readonly string[], budget: number): number {
  const rounds: number[] = []
  const end = performance.now() + budget
  do {
    const begin = performance.now()
    let done = 0
    while (done < queries.length && (done < 5 || performance.now() < end)) search(queries[done++]!)
    rounds.push(((performance.now() - begin) / done) * 1000)
  } while (performance.now() < end)
  return median(rounds)
}

/** Microseconds of a ranker, words, static meaning and fusion together: of each query's first time, and later. */
async function rankTimes(
  tools: readonly PoolTool[],
  queries: readonly string[],
): Promise<{ readonly first: number; readonly later: number }> {
  await rankers.hybrid(tools, queries[0] ?? '', 5)
  const first: number[] = []
  const later: number[] = []
  const end = performance.now() + 3000
  do {
    const times = first.length === 0 ? first : later
    for (const query of queries) {
      const begin = performance.now()
      await rankers.hybrid(tools, query, 5)
      times.push((performance.now() - begin) * 1000)
    }
  } while (later.length === 0 || performance.now() < end)
  return { first: median(first), later: median(later) }
}

/** Milliseconds of a fresh process until a line has run. */
function startTime(code: string): number {
  const script = `const begin = performance.now(); ${code}; console.log(performance.now() - begin)`
  const times = [0, 1, 2].map(() =>
    Number(
      execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
        encoding: 'utf8',
        cwd: ROOT,
      }),
    ),
  )
  return median(times)
}

function updateTime(tools: readonly PoolTool[]): number {
  const without = tools.slice(50)
  const index = createLexicalIndex(without)
  runAtOnce(buildLexicalIndex(tools, LEXICAL, index))
  const times = [0, 1, 2, 3, 4].map(() => {
    const begin = performance.now()
    runAtOnce(buildLexicalIndex(tools, LEXICAL, index))
    return performance.now() - begin
  })
  return median(times)
}

const rows: (string | number)[][] = []
for (const count of [200, 2000, 20_000, 100_000]) {
  const { tools, queries } = synthetic(count)
  build(ours, tools.slice(0, 500))
  build(miniSearch, tools.slice(0, 500))
  const own = build(ours, tools)
  const peer = build(miniSearch, tools)
  const ownTime = timeOf(own.search, queries, 1500)
  const peerTime = timeOf(peer.search, queries, 4000)
  const whole = await rankTimes(tools, queries)
  rows.push([
    count.toLocaleString('en'),
    ownTime.toFixed(1),
    peerTime.toFixed(0),
    `1/${Math.round(peerTime / ownTime)}`,
    whole.first.toFixed(0),
    whole.later.toFixed(0),
    `${(whole.later / peerTime).toFixed(2)}×`,
    own.buildTime.toFixed(0),
    peer.buildTime.toFixed(0),
    own.megabytes.toFixed(1),
    peer.megabytes.toFixed(1),
    updateTime(tools).toFixed(1),
  ])
}
const start = [
  ['import @toolshelf/core/pure', startTime(`await import('./packages/core/dist/pure.js')`)],
  ['import @toolshelf/core', startTime(`await import('./packages/core/dist/index.js')`)],
  [
    'import @toolshelf/core and search once',
    startTime(
      `const { rankers } = await import('./packages/core/dist/index.js'); await rankers.hybrid([], 'a', 5)`,
    ),
  ],
] as const

report('Speed of search', 'npm run bench speed', [
  'Top 5 of three-word queries over made-up tools, against MiniSearch 7.2.0 in the same run. First: the first time that a query is',
  'asked; all other times are of queries asked before. Update: 50 tools added.',
  '',
  ...table(
    [
      'tools',
      'words µs',
      'MiniSearch µs',
      'ratio',
      'hybrid first µs',
      'later µs',
      'ratio',
      'build ms',
      'MiniSearch',
      'MB',
      'MiniSearch',
      'update ms',
    ],
    rows,
  ),
  '',
  `Start, in ms: ${start.map(([name, time]) => `${name} ${time.toFixed(0)}`).join(' · ')}. The table of meanings is read at the first search.`,
])
