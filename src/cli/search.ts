// `toolshelf search`: what a query finds in a catalogue, and why.

import { find } from '../core/calls/query.ts'
import type { PoolTool, Rank } from '../core/index.ts'
import { explainHybrid } from '../rankers.ts'
import { catalogueEntries } from '../search/evaluate.ts'
import type { WordMatch } from '../search/explain.ts'
import { createLexicalIndex, type Part } from '../search/index.ts'
import { readTools } from './catalogue.ts'
import { type Command, UsageError } from './command.ts'
import { rankerOption, readLimit, readRanker } from './rank-option.ts'
import { table } from './table.ts'

export const search: Command = {
  name: 'search',
  summary: 'Shows which tools of a catalogue a query finds.',
  words: '<query> --catalog <tools.jsonl>',
  options: {
    catalog: {
      type: 'string',
      value: 'file',
      about: 'one tool a line: {name, description, input_schema, server?}',
    },
    ranker: { ...rankerOption, about: `${rankerOption.about}; hybrid if left out` },
    limit: { type: 'string', value: 'number', about: 'how many hits at most; 5 if left out' },
    explain: { type: 'boolean', about: 'which words in which fields gave how much' },
    json: { type: 'boolean', about: 'print {"hits": [{"name", "score", …}]}' },
  },
  examples: [
    'toolshelf search "create github issue" --catalog tools.jsonl',
    'toolshelf search slack --catalog tools.jsonl --explain',
  ],
  async run({ words, text, isSet }, terminal) {
    const query = words.join(' ').trim()
    if (query === '') throw new UsageError('what to search for is missing.')
    const catalog = text('catalog')
    if (!catalog) throw new UsageError('--catalog is missing: a file with one tool a line.')
    const rank = readRanker(text('ranker') ?? 'hybrid')
    const tools = catalogueEntries(await readTools(catalog, terminal))
    const { hits, matched } = await findWith(rank, tools, query, readLimit(text('limit'), 5))
    const index = isSet('explain') ? createLexicalIndex(tools) : undefined
    const parts = index
      ? explainHybrid(
          index,
          query,
          hits.map(({ tool }) => tool),
        )
      : undefined
    const shown = hits.map(({ tool, score }) => ({
      name: tool.name,
      ...(tool.server === undefined ? {} : { server: tool.server }),
      score: Number(score.toFixed(4)),
      ...(index
        ? { why: { words: index.explain(tool, query)?.words ?? [], parts: parts?.get(tool) ?? [] } }
        : {}),
    }))
    if (isSet('json')) terminal.print(JSON.stringify({ hits: shown, matched }))
    else if (shown.length === 0) terminal.print(`No tool of ${tools.length} matches.`)
    else {
      terminal.print(
        table(
          ['score', 'tool', ...(index ? ['why'] : [])],
          shown.map(({ score, name, why }) => [score.toFixed(3), name, ...(why ? [explained(why)] : [])]),
        ),
      )
      if (matched > shown.length) terminal.print(`${matched - shown.length} more matched.`)
    }
    return 0
  },
}

/** The query forms of ToolSearch (+required, select:, full names), with the scores that the ranker gave. */
async function findWith(rank: Rank, tools: readonly PoolTool[], query: string, limit: number) {
  const scores = new Map<PoolTool, number>()
  const recorded: Rank = async (...input) => {
    const ranking = await rank(...input)
    for (const { tool, score } of ranking.hits) scores.set(tool, score)
    return ranking
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const shelving = {
    pool: { tools, byName },
    immediate: [],
    deferred: tools,
    deferredNames: new Set(byName.keys()),
  }
  const found = await find(query, limit, shelving, { rank: recorded, notify: () => {} })
  return { hits: found.tools.map((tool) => ({ tool, score: scores.get(tool) ?? 0 })), matched: found.matched }
}

type Why = { readonly words: readonly WordMatch[]; readonly parts: readonly Part[] }

function explained({ words, parts }: Why): string {
  const amounts = parts.slice(0, 4).map(({ name, amount }) => `${name} ${amount.toFixed(2)}`)
  const found = words.map(({ word, fields }) => `${word} in ${fields.map(({ field }) => field).join(' + ')}`)
  return [...amounts, found.length > 0 ? `[${found.join('; ')}]` : '[by meaning alone]'].join(', ')
}
