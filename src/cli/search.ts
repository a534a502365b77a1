// `toolshelf search`: shows what a query finds among the tools of your servers, or of a catalogue, and why.
import { find } from '../core/calls/index.ts'
import type { PoolTool, Rank } from '../core/index.ts'
import { explainHybrid, warmUpEntries } from '../rankers/index.ts'
import type { WordMatch } from '../search/index.ts'
import { catalogueEntries, createLexicalIndex, type ScorePart } from '../search/index.ts'
import { printable, table } from '../terminal/index.ts'
import { readTools } from './catalogue.ts'
import { type Command, filesIn, foldedLine, type Input, type Terminal, UsageError } from './command.ts'
import { rankerOption, readLimit, readRanker } from './rank-option.ts'
import { listServerTools } from './server-tools.ts'

export const searchCommand: Command = {
  name: 'search',
  summary: 'Shows which tools of your MCP servers, or of a catalogue, a query finds.',
  words: '<query> [--config <files>] [--catalog <tools.jsonl>]',
  options: {
    config: {
      type: 'string',
      value: 'files',
      about: 'whose servers to start and search; your toolshelf.json if left out',
    },
    catalog: {
      type: 'string',
      value: 'file',
      about: 'search this file instead: one tool per line, {name, description, input_schema, server?}',
    },
    ranker: { ...rankerOption, about: `${rankerOption.about}; hybrid if left out` },
    limit: { type: 'string', value: 'number', about: 'how many hits at most; 5 if left out' },
    explain: { type: 'boolean', about: 'what each part of the score gave, and which words in which fields' },
    json: { type: 'boolean', about: 'print {"hits": [{"name", "score", …}]}' },
  },
  examples: [
    'toolshelf search "create github issue"',
    'toolshelf search "send message" --config ~/.cursor/mcp.json',
    'toolshelf search "+slack send" --catalog tools.jsonl --explain',
  ],
  async run(input, terminal) {
    const { query, catalog, config, name, limit } = readWords(input)
    const rank = readRanker(name)
    const listed =
      catalog === undefined ? await listServerTools(config, terminal) : await readTools(catalog, terminal)
    const tools = catalogueEntries(listed)
    if (name === 'model' && !(await warmUpEntries(tools)))
      terminal.tell('The encoder is not installed; using hybrid.')
    const found = await findWith(rank, tools, query, limit, terminal)
    const whys = input.isSet('explain')
      ? explain(
          tools,
          query,
          found.hits.map(({ tool }) => tool),
          name,
        )
      : undefined
    if (input.isSet('json')) terminal.print(JSON.stringify(asJson(found, whys)))
    else printTable(found, whys, tools.length, terminal)
    return 0
  },
}

function readWords(input: Input) {
  const { words, text, isSet } = input
  const query = words.join(' ').trim()
  if (query === '') throw new UsageError('pass words to search for, such as "create github issue".')
  const catalog = text('catalog')
  if (catalog === '') throw new UsageError('--catalog is empty; pass a file.')
  const config = filesIn(input)
  if (catalog !== undefined && config !== undefined)
    throw new UsageError('--config and --catalog cannot be combined; use one of them.')
  const name = text('ranker') ?? 'hybrid'
  if (isSet('explain') && !EXPLAINED.includes(name))
    throw new UsageError(`--explain works only with ${EXPLAINED.join(', ')}.`)
  return { query, catalog, config, name, limit: readLimit(text('limit'), 5) }
}

const EXPLAINED = ['hybrid', 'model', 'lexical']

type FoundTool = { readonly tool: PoolTool; readonly score: number }
type FoundTools = { readonly hits: readonly FoundTool[]; readonly matched: number }

/** Supports the query forms of ToolSearch (+required, select:, full names), with the ranker's scores. */
async function findWith(
  rank: Rank,
  tools: readonly PoolTool[],
  query: string,
  limit: number,
  terminal: Terminal,
): Promise<FoundTools> {
  const scores = new Map<PoolTool, number>()
  const recorded: Rank = async (...input) => {
    const ranking = await rank(...input)
    for (const { tool, score } of ranking.hits) scores.set(tool, score)
    return ranking
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const partition = {
    pool: { tools, byName },
    immediate: [],
    deferred: tools,
    deferredNames: new Set(byName.keys()),
  }
  const found = await find(query, limit, partition, { rank: recorded, notify: terminal.tell })
  for (const { name, near } of found.unknown) {
    const nearest = near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ''
    terminal.tell(printable(`There is no tool named "${name}".${nearest}`))
  }
  return { hits: found.tools.map((tool) => ({ tool, score: scores.get(tool) ?? 0 })), matched: found.matched }
}

type Why = { readonly words: readonly WordMatch[]; readonly parts: readonly ScorePart[] }

/** The matched words of each hit and, if meaning counts too, the parts of its score without the encoder. */
function explain(
  tools: readonly PoolTool[],
  query: string,
  hits: readonly PoolTool[],
  name: string,
): Map<PoolTool, Why> {
  const index = createLexicalIndex(tools)
  const parts = name === 'lexical' ? new Map<PoolTool, ScorePart[]>() : explainHybrid(index, query, hits)
  const whyOf = (tool: PoolTool) => ({
    words: index.explain(tool, query)?.words ?? [],
    parts: parts.get(tool) ?? [],
  })
  return new Map(hits.map((tool) => [tool, whyOf(tool)]))
}

function asJson({ hits, matched }: FoundTools, whys: Map<PoolTool, Why> | undefined): object {
  const shown = hits.map(({ tool, score }) => ({
    name: tool.name,
    ...(tool.server === undefined ? {} : { server: tool.server }),
    score: Number(score.toFixed(4)),
    ...(whys ? { why: whys.get(tool) } : {}),
  }))
  return { hits: shown, matched }
}

function printTable(
  { hits, matched }: FoundTools,
  whys: Map<PoolTool, Why> | undefined,
  count: number,
  terminal: Terminal,
) {
  if (hits.length === 0) return terminal.print(`No tool of ${count} matches.`)
  const hasServers = hits.some(({ tool }) => tool.server !== undefined)
  const rows = hits.map(({ tool, score }) => [
    score.toFixed(3),
    printable(tool.name),
    ...(hasServers ? [printable(tool.server ?? '')] : []),
  ])
  terminal.print(table(['score', 'tool', ...(hasServers ? ['server'] : [])], rows))
  if (whys) terminal.print('')
  for (const { tool } of whys ? hits : [])
    terminal.print(`${printable(tool.name)}\n${foldedLine(`  ${explained(whys?.get(tool))}`)}`)
  if (matched > hits.length) terminal.print(`${matched - hits.length} more matched.`)
}

function explained(why: Why | undefined): string {
  const amounts = (why?.parts ?? []).map(({ name, amount }) => `${LABELS[name] ?? name} ${amount.toFixed(2)}`)
  const words = new Map(
    (why?.words ?? []).map(({ word, fields }) => [word, fields.map(({ field }) => field).join(' + ')]),
  )
  const found = [...words].map(([word, fields]) => `${word} in ${fields}`)
  return [...amounts, found.length > 0 ? `[${found.join('; ')}]` : '[by meaning alone]'].join(', ')
}

/** What the parts of a score mean. */
const LABELS: { readonly [part in ScorePart['name']]?: string } = {
  wordsLead: 'its words',
  meaning: 'its meaning',
  meaningLead: 'nearest in meaning',
  both: 'words and meaning agree',
  nameCoverage: 'words of its name',
  unsureMeaning: 'meaning, as words say little',
  serverCoverage: 'its server',
  queryCoverage: 'words of the query',
  nearWordsLead: 'words near those of the query',
  action: 'does what is asked',
}
