// `toolshelf search`: shows what a query finds among the tools of your servers, or of a catalogue, and why; measures rankers.
import { createSkills, loadSkills } from '@toolshelf/agent'
import { userSkillFolders } from '@toolshelf/agent/internal'
import type { PoolTool, Rank } from '@toolshelf/core'
import {
  oneLine,
  poolTools,
  type RelatedItem,
  splitName,
  type Translation,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import {
  EXPLAINED_RANKERS,
  explainHits,
  type FoundTools,
  findWithScores,
  type SearchExplanation,
  scorePartLabel,
  type Why,
  whenIndexed,
} from '@toolshelf/core/internal/node'
import {
  type Command,
  configOption,
  filesIn,
  foldedLine,
  type Input,
  numberIn,
  type Terminal,
  UsageError,
} from './command.ts'
import { timeoutIn, timeoutOption } from './options.ts'
import { evaluateRankers, evaluationJson, evaluationTable } from './search-eval.ts'
import { printable } from './terminal/pen.ts'
import { table } from './terminal/table.ts'
import { listServerTools, MAX_WAIT_SECONDS, rankerOption, readRanker, readTools } from './tools.ts'

export const searchCommand: Command = {
  name: 'search',
  summary: 'Shows which tools of your MCP servers, or of a catalogue, a query finds.',
  words: '<query>|--eval <queries.jsonl> [--config <file>…] [--catalog <tools.jsonl>]',
  options: {
    ...configOption('configuration whose servers to start and search (default: your toolshelf.json)'),
    catalog: {
      value: 'file',
      about: 'search this file instead: one tool per line, {name, description, input_schema, server?}',
    },
    ...timeoutOption(MAX_WAIT_SECONDS),
    ranker: {
      ...rankerOption,
      isMultiple: true,
      about: `${rankerOption.about} (default: hybrid); --eval takes several`,
    },
    limit: { value: 'number', about: 'most hits to show (default: 5)' },
    explain: {
      about:
        'show what each part of the score gave, which words in which fields, and how the query was translated',
    },
    eval: {
      value: 'file',
      about:
        'measure rankers on queries with known answers instead: one per line, {query, gold: [names], acceptable?, kind?, scope?}',
    },
    json: {
      about:
        'print {"hits": [{"name", "score", …}], "matched", "related"}, or {"rankers": {"<name>": {"n", "r1", …, "kinds"}}}',
    },
  },
  examples: [
    'toolshelf search "create github issue"',
    'toolshelf search "send message" --config ~/.cursor/mcp.json',
    'toolshelf search "+slack send" --catalog tools.jsonl --explain',
    'toolshelf search --eval queries.jsonl --catalog tools.jsonl --ranker hybrid --ranker bm25',
  ],
  async run(input, terminal) {
    const { query, names, limit, ...source } = readWords(input)
    const [name = 'hybrid'] = names
    const ranker = readRanker(name)
    const tools = await readEntries(source, terminal)
    const queries = input.text('eval')
    if (queries !== undefined) {
      const results = await evaluateRankers(names, tools, queries, terminal)
      terminal.print(input.isSet('json') ? toJson(evaluationJson(results)) : evaluationTable(results))
      return 0
    }
    const related = source.catalog === undefined ? await findSkills(query, tools, terminal) : []
    const found = await findWith(whenIndexed(ranker), tools, query, limit, terminal)
    const hits = found.hits.map(({ tool }) => tool)
    const explanation = input.isSet('explain') ? await explainHits(tools, query, hits, name) : undefined
    if (input.isSet('json')) terminal.print(toJson({ ...asJson(found, explanation), related }))
    else {
      printTable(found, explanation, tools.length, terminal)
      for (const { kind, name: item, description, advice } of related)
        terminal.print(
          foldedLine(
            printable(`Also ${kind} ${oneLine(item, 100)}: ${oneLine(description, 160)} (${advice})`),
          ),
        )
      // Prints the hint only to a terminal, so that piped output stays the same.
      if (terminal.isInteractive && !explanation && hits.length > 0 && EXPLAINED_RANKERS.includes(name))
        terminal.print('Add --explain to see why these tools were found.')
    }
    return 0
  },
}

async function readEntries(
  { catalog, config, timeout }: Pick<ReturnType<typeof readWords>, 'catalog' | 'config' | 'timeout'>,
  terminal: Terminal,
): Promise<PoolTool[]> {
  if (catalog !== undefined) return poolTools(await readTools(catalog, terminal))
  return poolTools(await listServerTools(config, timeout, terminal))
}

/** The user's skills that rank among the best. */
async function findSkills(
  query: string,
  tools: readonly PoolTool[],
  terminal: Terminal,
): Promise<readonly RelatedItem[]> {
  const notify = (message: string) => terminal.report(printable(message))
  return createSkills(await loadSkills(userSkillFolders(), notify), { notify }).related(query, tools)
}

function readWords(input: Input) {
  const { words, text, texts, isSet } = input
  const query = words.join(' ').trim()
  const isEvaluation = text('eval') !== undefined
  if (text('eval') === '') throw new UsageError('--eval is empty; pass a file of queries.')
  if (query === '' && !isEvaluation)
    throw new UsageError('pass words to search for, such as "create github issue".')
  if (isEvaluation && (query !== '' || isSet('explain') || text('limit') !== undefined))
    throw new UsageError('--eval takes its queries from the file; leave out words, --explain and --limit.')
  const catalog = text('catalog')
  if (catalog === '') throw new UsageError('--catalog is empty; pass a file.')
  const config = filesIn(input)
  if (catalog !== undefined && config !== undefined)
    throw new UsageError('--config and --catalog cannot be combined; use one of them.')
  const given = texts('ranker')
  const names = given.length > 0 ? given : ['hybrid']
  names.forEach(readRanker)
  if (names.length > 1 && !isEvaluation)
    throw new UsageError('several rankers are compared with --eval only; pass one --ranker.')
  if (isSet('explain') && !names.every((name) => EXPLAINED_RANKERS.includes(name)))
    throw new UsageError(`--explain works only with ${EXPLAINED_RANKERS.join(', ')}.`)
  return {
    query,
    catalog,
    config,
    timeout: timeoutIn(input),
    names,
    limit: numberIn(input, 'limit', isLimit, 'a whole number of at least 1') ?? 5,
  }
}

const isLimit = (value: number) => Number.isInteger(value) && value >= 1

async function findWith(
  rank: Rank,
  tools: readonly PoolTool[],
  query: string,
  limit: number,
  terminal: Terminal,
): Promise<FoundTools> {
  const found = await findWithScores(rank, tools, query, { limit, notify: terminal.report })
  for (const { name, near } of found.unknown) {
    const nearest = near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ''
    terminal.report(printable(`There is no tool named "${name}".${nearest}`))
  }
  return found
}

function asJson({ hits, matched }: FoundTools, explanation: SearchExplanation | undefined): object {
  const shown = hits.map(({ tool, score }) => ({
    name: tool.name,
    ...(tool.server === undefined ? {} : { server: tool.server }),
    score: Number(score.toFixed(4)),
    ...(explanation ? { why: explanation.whys.get(tool) } : {}),
  }))
  const translation = explanation?.translation
  return { hits: shown, matched, ...(translation ? { translation } : {}) }
}

function printTable(
  { hits, matched }: FoundTools,
  explanation: SearchExplanation | undefined,
  count: number,
  terminal: Terminal,
) {
  const translation = explanation?.translation
  if (translation) terminal.print(`${foldedLine(translationLine(translation))}\n`)
  if (hits.length === 0) return terminal.print(`No tool of ${count} matches.`)
  const hasServers = hits.some(({ tool }) => tool.server !== undefined)
  const rows = hits.map(({ tool, score }) => [
    score.toFixed(3),
    printable(tool.name),
    ...(hasServers ? [printable(tool.server ?? '')] : []),
  ])
  terminal.print(table(['score', 'tool', ...(hasServers ? ['server'] : [])], rows))
  if (explanation) {
    terminal.print('')
    for (const note of scoreNotes(explanation)) terminal.print(`${foldedLine(note)}\n`)
  }
  for (const { tool } of explanation ? hits : [])
    terminal.print([printable(tool.name), ...explained(tool, explanation?.whys.get(tool))].join('\n'))
  if (matched > hits.length) terminal.print(`${matched - hits.length} more matched.`)
}

/** Says why the parts below do not add up to the score, where they do not. */
function scoreNotes({ translation }: SearchExplanation): string[] {
  return [
    ...(translation
      ? [
          'The score of a translated query is at most 1: a weighted mean of two rankings, by its own words and by the English ones, each relative to its best hit. The parts below are those of the English ranking.',
        ]
      : []),
  ]
}

/** Returns, for example, "Translated from de: rechnung → invoice"; omits words without a translation. */
function translationLine({ language, words }: Translation): string {
  const shown = words.filter(({ to }) => to.length > 0)
  return printable(
    `Translated from ${language}: ${shown.map(({ from, to }) => `${from} → ${to.join(', ')}`).join('; ')}`,
  )
}

/** A line for each part of the score, and one for the words that were found. */
function explained(tool: PoolTool, why: Why | undefined): string[] {
  const amounts = (why?.parts ?? []).map(
    ({ name, amount }) => `  ${scorePartLabel(name).padEnd(22)}${amount.toFixed(2).padStart(5)}`,
  )
  const words = new Map(
    (why?.words ?? []).map(({ word, term, how, fields }) => {
      const places = fields.map(({ field }) => field).join(' + ')
      return [word, how === 'synonym' ? `${places} as its synonym ${wholeWord(term, tool)}` : places]
    }),
  )
  const found = [...words].map(([word, fields]) => `${word} in ${fields}`)
  const matched = found.length > 0 ? `  words: ${found.join('; ')}` : '  words: none, by meaning alone'
  return [...amounts, foldedLine(matched)]
}

function wholeWord(stem: string, { name, definition }: PoolTool): string {
  const words = splitName(`${name} ${textOf(definition.description).replace(/[^\p{L}\p{N}]+/gu, ' ')}`)
  return printable(words.find((word) => word.startsWith(stem)) ?? stem)
}
