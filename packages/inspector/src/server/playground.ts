// The search playground: runs a query against all tools with every ranker, explains each hit, ranks the tool that should have
// been first, and suggests what would lift it, each tried with the default ranker. Nothing is loaded, learned or saved.

import type { PoolTool, Rank } from '@toolshelf/core'
import { rankers } from '@toolshelf/core'
import {
  cut,
  errorMessage,
  FILLER_WORDS,
  type Fields,
  isFields,
  STOP_WORDS,
  searchFields,
  splitName,
  splitWords,
  textOf,
} from '@toolshelf/core/internal'
import {
  EXPLAINED_RANKERS,
  explainHits,
  findWithScores,
  type SearchExplanation,
  scorePartLabel,
  whenIndexed,
} from '@toolshelf/core/internal/node'
import type { RankedHit, RankingView, SearchView, Suggestion } from '../api.ts'
import {
  type InspectedServers,
  InspectorFailure,
  MAX_NAME_LENGTH,
  readNames,
  readOptionalText,
  readText,
} from './types.ts'

/** The rankers that are compared, the default first. */
export const RANKERS = ['hybrid', 'lexical', 'bm25', 'classic', 'regex'] as const
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
    return { ranker, ...(await ranked(ranker, question, passed)), error: null }
  } catch (error) {
    return { ranker, ...nothing, milliseconds: passed(), error: cut(errorMessage(error), 1000) }
  }
}

async function ranked(ranker: RankerName, { tools, query, limit, expected }: Question, passed: () => number) {
  const rank: Rank = whenIndexed(rankers[ranker])
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
    words: (why?.words ?? []).slice(0, MAX_EXPLAINED_WORDS).map(({ word, term, how, amount, fields }) => ({
      word: cut(word, 100),
      term: cut(term, 100),
      how,
      amount: rounded(amount),
      fields: fields.map(({ field, amount: part }) => ({ field, amount: rounded(part) })),
    })),
  }
}

const MAX_EXPLAINED_WORDS = 50

function rounded(amount: number): number {
  return Number(amount.toFixed(4))
}

const WINNERS = 3
const MAX_WORDS = 8
const MAX_HINT_LENGTH = 120
const MAX_SUGGESTIONS = 5
/** A change that does not lift the tool to at least this rank is not suggested. */
const WORTHWHILE = 50
/** Milliseconds after which no further candidate is tried. */
const MAX_TRIAL_MS = 3000

/**
 * Returns the changes that help, best first.
 * @param count - Called before each try; throws if the reader may search no more.
 */
async function suggestChanges(
  tools: readonly PoolTool[],
  query: string,
  expected: PoolTool,
  count: () => Promise<unknown>,
): Promise<Suggestion[]> {
  await count()
  const before = await rankOf(tools, query, expected, tools.length)
  if (before.rank === 1) return []
  const candidates = await candidatesFor(tools, query, expected, before.winners)
  const tried: Suggestion[] = []
  const startedAt = performance.now()
  for (const { kind, text } of candidates) {
    if (performance.now() - startedAt > MAX_TRIAL_MS) break
    await count()
    const value = kind === 'description' ? `${text}. ${textOf(expected.definition.description)}` : text
    const changed = withChange(tools, expected, { [kind]: value })
    const { rank } = await rankOf(changed.tools, query, changed.expected!, WORTHWHILE)
    const isBetter = rank !== null && (before.rank === null || rank < before.rank)
    if (isBetter) tried.push({ kind, text: value, rankBefore: before.rank, rankAfter: rank })
  }
  const order = (one: Suggestion) =>
    one.rankAfter! * 10_000 + KINDS.indexOf(one.kind) * 1000 + one.text.length / 10
  return tried.sort((one, other) => order(one) - order(other)).slice(0, MAX_SUGGESTIONS)
}

/** A hint can be saved; a description and a name belong to the server. */
const KINDS: readonly Suggestion['kind'][] = ['hint', 'description', 'alias']

type Candidate = { readonly kind: Suggestion['kind']; readonly text: string }

async function candidatesFor(
  tools: readonly PoolTool[],
  query: string,
  expected: PoolTool,
  winners: readonly PoolTool[],
): Promise<Candidate[]> {
  const own = new Set(searchFields(expected).flat().flatMap(wordsOf))
  const asked = unique(wordsOf(query)).filter((word) => !isFiller(word))
  const missing = asked.filter((word) => !own.has(word)).slice(0, MAX_WORDS)
  const name = splitName(expected.original).map((word) => word.toLowerCase())
  const parameters = unique((searchFields(expected)[4] ?? []).flatMap(wordsOf)).slice(0, 3)
  const wanted = missing.length > 0 ? missing : asked.slice(0, MAX_WORDS)
  const found = await winningWords(tools, query, winners, own)
  const hints = [
    wanted,
    asked.slice(0, MAX_WORDS),
    [...wanted, ...name],
    [...wanted, ...parameters],
    [...found, ...name],
    [...wanted, ...found],
  ]
  const texts = unique(hints.map((words) => joined(words)).filter((text) => text !== ''))
    .map((text) => (expected.hint === '' ? text : cut(`${expected.hint} ${text}`, 2 * MAX_HINT_LENGTH)))
    .filter((text) => text !== expected.hint)
  const [first] = texts
  return [
    ...texts.map((text): Candidate => ({ kind: 'hint', text })),
    ...(first === undefined ? [] : [{ kind: 'description', text: sentence(wanted) } as const]),
    ...(asked.length > 0 ? [{ kind: 'alias', text: asked.slice(0, 5).join('_') } as const] : []),
  ]
}

/** Words of the winners that met the query and that the tool lacks. */
async function winningWords(
  tools: readonly PoolTool[],
  query: string,
  winners: readonly PoolTool[],
  own: ReadonlySet<string>,
): Promise<string[]> {
  const { whys } = await explainHits(tools, query, winners, 'hybrid')
  const terms = [...whys.values()].flatMap(({ words }) => words.map(({ term }) => term))
  const texts = winners.flatMap((winner) => searchFields(winner).slice(0, 4).flat().flatMap(wordsOf))
  // Terms are stems: the first word of a winner that begins with one is its full form.
  const full = unique(terms).flatMap((term) => texts.find((word) => word.startsWith(term)) ?? [])
  return unique(full)
    .filter((word) => !own.has(word))
    .slice(0, MAX_WORDS)
}

async function rankOf(tools: readonly PoolTool[], query: string, expected: PoolTool, limit: number) {
  const rank = whenIndexed(rankers.hybrid)
  const { hits } = await findWithScores(rank, tools, query, { limit, notify: () => {} })
  const place = hits.findIndex(({ tool }) => tool === expected)
  const winners = hits.slice(0, place < 0 ? WINNERS : Math.min(place, WINNERS)).map(({ tool }) => tool)
  return { rank: place < 0 ? null : place + 1, winners }
}

function wordsOf(text: string): string[] {
  return splitWords(text).map((word) => word.toLowerCase())
}

function isFiller(word: string): boolean {
  return STOP_WORDS.has(word) || FILLER_WORDS.has(word)
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)]
}

function joined(words: readonly string[]): string {
  return cut(unique(words).join(' '), MAX_HINT_LENGTH)
}

function sentence(words: readonly string[]): string {
  const text = joined(words)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Texts to try. */
type TriedChange = { readonly hint?: string; readonly description?: string; readonly alias?: string }

/** Returns the list with the tool changed; the same list if nothing changes. */
function withChange(
  tools: readonly PoolTool[],
  tool: PoolTool | undefined,
  change: TriedChange,
): { readonly tools: readonly PoolTool[]; readonly expected: PoolTool | undefined } {
  if (!tool || Object.keys(change).length === 0) return { tools, expected: tool }
  const { hint = tool.hint, description, alias } = change
  const described = description === undefined ? {} : { description }
  const expected: PoolTool = {
    ...tool,
    hint,
    tool: { ...tool.tool, ...described },
    definition: { ...tool.definition, ...described },
    ...(alias === undefined ? {} : { original: alias }),
  }
  return { tools: tools.map((one) => (one === tool ? expected : one)), expected }
}
