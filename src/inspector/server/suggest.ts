// Suggests what would lift a tool in a search: derives hints from the words of the query that the tool lacks, from its own
// name and parameters, and from what the winners have, and tries each with the default ranker. Only what helps is
// suggested, the best first.
import type { PoolTool } from '../../core/index.ts'
import { cut, splitName, textOf } from '../../lib/index.ts'
import { explainHits, findWithScores, rankers, whenIndexed } from '../../rankers/index.ts'
import { FILLER_WORDS, STOP_WORDS, searchFields, splitWords } from '../../search/index.ts'
import type { Suggestion } from '../api.ts'
import { withChange } from './tried-change.ts'

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
export async function suggestChanges(
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
