// The search playground: runs a query against all tools with every ranker, explains each hit, and returns the rank of a
// tool that should have been first. Nothing is loaded, learned or saved.
import type { PoolTool, Rank } from '../../core/index.ts'
import { cut, errorMessage, type Fields, isFields, textOf } from '../../lib/index.ts'
import {
  EXPLAINED_RANKERS,
  explainHits,
  findWithScores,
  patientModel,
  rankers,
  type SearchExplanation,
  scorePartLabel,
  warmUpEntries,
  whenIndexed,
} from '../../rankers/index.ts'
import type { RankedHit, RankingView, SearchView } from '../api.ts'
import { InspectorFailure, MAX_NAME_LENGTH, readNames, readOptionalText, readText } from './read-input.ts'
import { suggestChanges } from './suggest.ts'
import { type TriedChange, withChange } from './tried-change.ts'
import type { InspectedServers } from './types.ts'

/** The rankers that are compared, the default first. */
export const RANKERS = ['hybrid', 'model', 'lexical', 'bm25', 'classic', 'regex'] as const
type RankerName = (typeof RANKERS)[number]

const MAX_QUERY_LENGTH = 2000
const MAX_CHANGE_LENGTH = 4000
const LIMIT = 10
const MAX_HITS = 50
const MAX_DESCRIPTION_LENGTH = 300

/**
 * Runs a search of the page.
 * @param count - Called before each ranking; throws if the reader may search no more.
 */
export async function searchPlayground(
  { shelf }: InspectedServers,
  input: Fields,
  count: () => Promise<unknown>,
): Promise<SearchView> {
  const query = readText(input.query, 'query', MAX_QUERY_LENGTH).trim()
  if (query === '') throw new InspectorFailure(400, '"query" is empty')
  const limit = limitIn(input.limit)
  const { pool } = shelf.partition()
  const name = readOptionalText(input.expected, 'expected', MAX_NAME_LENGTH)
  const original = name === undefined ? undefined : pool.byName.get(name)
  if (name !== undefined && !original) throw new InspectorFailure(404, `there is no tool "${cut(name, 100)}"`)
  const change = changeIn(input.change)
  const { tools, expected } = withChange(pool.tools, original, change)
  const rankings: RankingView[] = []
  const compared = rankersIn(input.rankers)
  for (const ranker of compared) {
    await count()
    rankings.push(await rankingOf(ranker, { tools, query, limit, expected }))
  }
  const { translation } = await explainHits(tools, query, [], 'hybrid')
  return {
    query,
    searched: tools.length,
    translation: translation
      ? { language: translation.language, words: translation.words.map(({ from, to }) => ({ from, to })) }
      : null,
    rankings,
    // The page asks ranker by ranker: what would lift the tool is tried once, on the default one.
    suggestions:
      expected && compared.includes(RANKERS[0]) ? await suggestChanges(tools, query, expected, count) : [],
  }
}

function limitIn(value: unknown): number {
  if (value === undefined) return LIMIT
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_HITS) return value
  throw new InspectorFailure(400, `"limit" must be a whole number from 1 to ${MAX_HITS}`)
}

function rankersIn(value: unknown): readonly RankerName[] {
  if (value === undefined) return RANKERS
  const names = readNames(value, 'rankers', RANKERS.length)
  const stranger = names.find((name) => !RANKERS.some((one) => one === name))
  if (stranger !== undefined)
    throw new InspectorFailure(400, `there is no ranker "${cut(stranger, 50)}"; use ${RANKERS.join(', ')}`)
  return RANKERS.filter((name) => names.includes(name))
}

function changeIn(value: unknown): TriedChange {
  if (value === undefined || value === null) return {}
  if (!isFields(value)) throw new InspectorFailure(400, '"change" must be an object')
  const read = (name: string) => readOptionalText(value[name], name, MAX_CHANGE_LENGTH)
  const [hint, description, alias] = [read('hint'), read('description'), read('alias')]
  return {
    ...(hint === undefined ? {} : { hint }),
    ...(description === undefined ? {} : { description }),
    ...(alias === undefined || alias.trim() === '' ? {} : { alias }),
  }
}

type Question = {
  readonly tools: readonly PoolTool[]
  readonly query: string
  readonly limit: number
  readonly expected: PoolTool | undefined
}

const nothing = { matched: 0, hits: [], expected: null }

async function rankingOf(ranker: RankerName, question: Question): Promise<RankingView> {
  const startedAt = performance.now()
  const passed = () => Math.round(performance.now() - startedAt)
  try {
    if (ranker === 'model' && !(await warmUpEntries([])))
      throw new Error(
        'the sentence encoder is not installed; `toolshelf search --ranker model` says how to install it',
      )
    return { ranker, ...(await ranked(ranker, question, passed)), error: null }
  } catch (error) {
    return { ranker, ...nothing, milliseconds: passed(), error: cut(errorMessage(error), 1000) }
  }
}

async function ranked(ranker: RankerName, { tools, query, limit, expected }: Question, passed: () => number) {
  const rank: Rank = ranker === 'model' ? patientModel() : whenIndexed(rankers[ranker])
  const notify = () => {}
  const found = await findWithScores(rank, tools, query, { limit, notify })
  if (found.failure !== undefined) throw found.failure
  const milliseconds = passed()
  const isAmong = found.hits.some(({ tool }) => tool === expected)
  // Finds the rank of the expected tool beyond the limit; the first hits stay as a search with this limit ranks them.
  const all =
    expected && !isAmong ? await findWithScores(rank, tools, query, { limit: tools.length, notify }) : found
  const place = all.hits.findIndex(({ tool }) => tool === expected)
  const shown = [...found.hits.map(({ tool }) => tool), ...(expected ? [expected] : [])]
  const explanation = EXPLAINED_RANKERS.includes(ranker)
    ? await explainHits(tools, query, shown, ranker)
    : undefined
  const hits = found.hits.map(({ tool, score }, index) => ({
    rank: index + 1,
    ...hitOf(tool, score, explanation),
  }))
  return {
    matched: found.matched,
    milliseconds,
    hits,
    expected: expected
      ? {
          rank: place < 0 ? null : place + 1,
          ...hitOf(expected, all.hits[place]?.score ?? 0, explanation),
        }
      : null,
  }
}

function hitOf(
  tool: PoolTool,
  score: number,
  explanation: SearchExplanation | undefined,
): Omit<RankedHit, 'rank'> {
  const why = explanation?.whys.get(tool)
  return {
    name: tool.name,
    server: tool.server ?? null,
    description: cut(textOf(tool.definition.description), MAX_DESCRIPTION_LENGTH),
    score: rounded(score),
    parts: (why?.parts ?? [])
      .map(({ name, amount }) => ({ label: scorePartLabel(name), amount: rounded(amount) }))
      .sort((one, other) => Math.abs(other.amount) - Math.abs(one.amount)),
    words: (why?.words ?? []).slice(0, MAX_WORDS).map(({ word, term, how, amount, fields }) => ({
      word: cut(word, 100),
      term: cut(term, 100),
      how,
      amount: rounded(amount),
      fields: fields.map(({ field, amount: part }) => ({ field, amount: rounded(part) })),
    })),
  }
}

const MAX_WORDS = 50

function rounded(amount: number): number {
  return Number(amount.toFixed(4))
}
