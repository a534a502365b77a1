// Interprets the forms of a query (S1–S4) over the searchable text of tools, and ranks words as Claude Code does (S6). Rankers
// get only words, so the forms work with all of them.
// Implements H5, S1, S2, S3, S4, S6, S7, S10, S12, S14, S15.

import { oncePer } from './lib/objects.ts'
import { closestNames, fullName, splitName } from './names.ts'
import type { Settings } from './options.ts'
import type { PoolTool, ToolPartition } from './types.ts'

/** Returns a pattern for a whole word; in scripts without spaces, for any occurrence. */
function wordPattern(term: string): RegExp {
  const escaped = term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  if (new RegExp(UNSPACED.source, 'u').test(term)) return new RegExp(escaped, 'u')
  return new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])${escaped}(?![\\p{L}\\p{M}\\p{N}_])`, 'u')
}

/** The searchable text of a tool, built once per tool (S15). */
type SearchText = {
  readonly parts: readonly string[]
  readonly full: string
  readonly hint: string
  readonly description: string
}

export const searchText = oncePer(
  (entry: PoolTool): SearchText => ({
    parts: [...new Set([entry.name, entry.original, entry.server ?? ''].flatMap(splitName).map(fold))],
    full: fold(fullName(entry.name)),
    hint: fold(entry.hint),
    description: fold(String(entry.tool.description ?? '')),
  }),
)

const MAX_TEXT_LENGTH = 16_384

/** Normalises case, accents and width. Reads only the start of a long text, to bound the work. */
export function fold(text: string): string {
  const start = text.slice(0, MAX_TEXT_LENGTH)
  if (isAscii(start)) return start.toLowerCase()
  return start
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]+/g, '')
    .toLowerCase()
    .normalize('NFC')
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) return false
  return true
}

/** Scripts without spaces between words, or with endings attached to them: matched by pairs of characters (S14). */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+/gu

/** A tool that matches a query; the higher the score, the better. */
export type Hit = { readonly tool: PoolTool; readonly score: number }

/** What a ranker returns. */
export type Ranking = {
  /** Best first, at most as many as asked for. */
  readonly hits: readonly Hit[]
  /** How many tools matched in total. */
  readonly matched: number
  /** How many tools could not be ranked because they are not indexed yet. Default: 0. */
  readonly unread?: number
  /** The ranker's name, for events. */
  readonly ranker?: string
}

/**
 * A ranker: orders tools by how well they fit a query. The same tools and query must give the same ranking; ties keep the
 * tools' order.
 *
 * @example
 * const byName: Rank = (tools, query, limit) => {
 *   const hits = tools.filter(({ name }) => name.includes(query)).map((tool) => ({ tool, score: 1 }))
 *   return { hits: hits.slice(0, limit), matched: hits.length }
 * }
 */
export type Rank = {
  (tools: readonly PoolTool[], query: string, limit: number): Ranking | Promise<Ranking>
  /** Says what searches do without, such as a table; undefined if nothing is missing. Decisions pass it on. */
  readonly lacks?: () => string | undefined
}

const MAX_TERMS = 40

/** Ranks as the first tool-search clients did: points per word for name, hint and description (S6). */
export const classicRank: Rank = (tools, query, limit) => {
  const terms = termsOf(query).slice(0, MAX_TERMS)
  const hits: Hit[] = []
  for (const tool of tools) {
    const score = scoreOf(tool, terms)
    if (score > 0) hits.push({ tool, score })
  }
  hits.sort((a, b) => b.score - a.score)
  return { hits: hits.slice(0, limit), matched: hits.length, ranker: 'classic' }
}

/** A term with its pattern, compiled once per search. */
type Term = { readonly text: string; readonly pattern: RegExp }

const compile = (text: string): Term => ({ text, pattern: wordPattern(text) })

/** Splits the query into words, also at the separators of names; ignores case, accents and width. */
function termsOf(query: string): Term[] {
  const words = fold(query).split(/[\s_\-./,;:!?"'`()[\]{}、。，；：！？]+/u)
  const pieces = words.flatMap((word) => [
    ...word.split(UNSPACED),
    ...[...word.matchAll(UNSPACED)].flatMap(pairs),
  ])
  return [...new Set(pieces.filter((piece) => piece !== ''))].map(compile)
}

function pairs([run]: RegExpMatchArray): string[] {
  const characters = [...(run ?? '')]
  if (characters.length <= 2) return [characters.join('')]
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

function scoreOf(entry: PoolTool, terms: readonly Term[]): number {
  const { parts, full, hint, description } = searchText(entry)
  const isMcp = entry.server !== undefined
  let score = 0
  for (const { text, pattern } of terms) {
    if (parts.includes(text)) score += isMcp ? 12 : 10
    else if (parts.some((part) => part.includes(text))) score += isMcp ? 6 : 5
    else if (score === 0 && full.includes(text)) score += 3
    if (hint !== '' && pattern.test(hint)) score += 4
    if (pattern.test(description)) score += 2
  }
  return score
}

/** What a search needs besides the query. */
type Search = Pick<Settings, 'rank' | 'notify'> & Partial<Pick<Settings, 'pause'>>

/** The tools that a query found. */
export type QueryResult = {
  readonly tools: readonly PoolTool[]
  /** How many tools matched, including those beyond the limit. */
  readonly matched: number
  /** Names in a `select:` query that do not exist, with the closest existing ones. */
  readonly unknown: readonly { readonly name: string; readonly near: readonly string[] }[]
  /** How many tools the ranker has not indexed yet. */
  readonly unread?: number
  /** What found the tools: a form of query by names, or a ranker. */
  readonly ranker: string
  /** The ranker's scores. */
  readonly scores?: ReadonlyMap<PoolTool, number>
}

/** Characters of a query that are searched. */
export const MAX_QUERY_LENGTH = 2000
const MAX_SUGGESTIONS = 3
/** Tools to look at before other work may run. */
const BETWEEN_PAUSES = 500
/** Of the tools with the required terms, this many are ranked; the rest keep the pool's order. */
const MAX_RANKED = 500

/** Finds deferred tools by keywords and prefix; by exact name also the other tools of the pool (S10). */
export async function find(
  query: string,
  limit: number,
  partition: ToolPartition,
  search: Search,
): Promise<QueryResult> {
  const text = cleanQuery(query)
  const selected = selectedNames(text)
  if (selected) return select(selected, partition)
  const exact = byExactName(text, partition)
  if (exact) return { tools: [exact], matched: 1, unknown: [], ranker: 'name' }
  const prefixed = byPrefix(text, partition)
  if (prefixed.length > 0)
    return { tools: prefixed.slice(0, limit), matched: prefixed.length, unknown: [], ranker: 'prefix' }
  return byKeywords(text, limit, partition, search)
}

/** Removes control characters from a query and cuts it to the maximum length, not within a selected name (S12). */
export function cleanQuery(query: string): string {
  const text = query
    .slice(0, MAX_QUERY_LENGTH)
    .replace(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .trim()
  const isHalf = isTooLong(query) && /^select:/i.test(text) && text.includes(',')
  return isHalf ? text.slice(0, text.lastIndexOf(',')) : text
}

export function isTooLong(query: string): boolean {
  return query.length > MAX_QUERY_LENGTH
}

/** Returns the names in a `select:` query; undefined for any other query. */
export function selectedNames(text: string): string[] | undefined {
  if (!/^select:/i.test(text)) return undefined
  const names = text.slice('select:'.length).split(',')
  return names.map((name) => name.trim()).filter((name) => name !== '')
}

function select(names: readonly string[], partition: ToolPartition): QueryResult {
  const tools = new Set<PoolTool>()
  const unknown = new Set<string>()
  for (const name of names) {
    const tool = byExactName(name, partition)
    if (tool) tools.add(tool)
    else unknown.add(name)
  }
  return {
    tools: [...tools],
    matched: tools.size,
    ranker: 'select',
    unknown: [...unknown].map((name, index) => ({
      name,
      near: index < MAX_SUGGESTIONS ? closestNames(name, partition.pool.byName) : [],
    })),
  }
}

const lowerNames = oncePer(({ deferred, pool }: ToolPartition) => ({
  deferred: lowered(deferred),
  all: lowered(pool.tools),
}))

/** Finds a tool by name, ignoring case; prefers deferred tools (S2). */
export function byExactName(name: string, partition: ToolPartition): PoolTool | undefined {
  const { deferred, all } = lowerNames(partition)
  const lower = name.toLowerCase()
  return partition.pool.byName.get(name) ?? deferred.get(lower) ?? all.get(lower)
}

function lowered(tools: readonly PoolTool[]): Map<string, PoolTool> {
  const names = new Map<string, PoolTool>()
  for (const entry of tools) {
    const name = entry.name.toLowerCase()
    if (!names.has(name)) names.set(name, entry)
  }
  return names
}

/** Finds the deferred tools whose names start with an `mcp__` prefix (S3). */
function byPrefix(text: string, { deferred }: ToolPartition): PoolTool[] {
  const prefix = text.toLowerCase()
  return prefix.startsWith('mcp__')
    ? deferred.filter(({ name }) => name.toLowerCase().startsWith(prefix))
    : []
}

async function byKeywords(
  text: string,
  limit: number,
  partition: ToolPartition,
  search: Search,
): Promise<QueryResult> {
  const words = text.split(/\s+/u)
  const required = words
    .filter((word) => word.startsWith('+') && splitName(word.slice(1)).length > 0)
    .map((word) => word.slice(1))
  const rest = words.filter((word) => !word.startsWith('+'))
  const named = words.map((word) => byPastedName(word, partition)).filter((entry) => entry !== undefined)
  const query = (rest.length > 0 && rest[0] !== '' ? rest : required).join(' ')
  const maxRanked =
    required.length > 0 ? Math.min(partition.deferred.length, MAX_RANKED) : limit + named.length
  const ranking: Ranking =
    query === '' ? { hits: [], matched: 0 } : await rankSafely(partition, query, maxRanked, search)
  const ranked = ranking.hits.map(({ tool }) => tool)
  const scores = new Map(ranking.hits.map(({ tool, score }) => [tool, score]))
  const others = { unknown: [], unread: ranking.unread ?? 0, ranker: ranking.ranker ?? 'custom', scores }
  if (required.length === 0) {
    const tools = [...new Set([...named, ...ranked])]
    return { tools: tools.slice(0, limit), matched: Math.max(ranking.matched, tools.length), ...others }
  }
  const allowed = await allRequiring(required, partition.deferred, search)
  const tools = [...new Set([...named, ...ranked].filter((tool) => allowed.has(tool)).concat(...allowed))]
  return { tools: tools.slice(0, limit), matched: tools.length, ...others }
}

/** Ranks; falls back to the classic ranker if the ranker fails. */
async function rankSafely(
  { deferred }: ToolPartition,
  query: string,
  limit: number,
  { rank, notify }: Search,
): Promise<Ranking> {
  try {
    const { hits, matched, unread = 0, ranker = 'custom' } = await rank(deferred, query, limit)
    const known = new Set(deferred)
    const own = hits.filter(({ tool }) => known.has(tool))
    const matchedOwn = (Number(matched) || hits.length) - (hits.length - own.length)
    return { hits: own, matched: matchedOwn, unread, ranker }
  } catch (error) {
    notify(`the ranker failed, so the classic one is used: ${String(error)}`)
    return classicRank(deferred, query, limit)
  }
}

/** Finds a tool whose full name is one word of the query; names of a single part are too ambiguous. */
function byPastedName(word: string, partition: ToolPartition): PoolTool | undefined {
  const name = word.replace(/^[+"'`(<[]+|["'`)>\],.;:!?]+$/g, '')
  if (splitName(name).length < 2) return undefined
  const entry = byExactName(name, partition)
  return entry && partition.deferredNames.has(entry.name) ? entry : undefined
}

async function allRequiring(
  terms: readonly string[],
  tools: readonly PoolTool[],
  { pause = () => undefined }: Search,
): Promise<Set<PoolTool>> {
  const isWanted = requires(terms)
  const wanted = new Set<PoolTool>()
  for (const [index, tool] of tools.entries()) {
    if (index > 0 && index % BETWEEN_PAUSES === 0) await pause()
    if (isWanted(tool)) wanted.add(tool)
  }
  return wanted
}

/** Requires every term to occur in a part of the name, or as a word of the description or the hint (S4). */
function requires(terms: readonly string[]): (entry: PoolTool) => boolean {
  const needs = terms.map((term) =>
    [separated(term), splitName(term).map(fold)].map((words) => words.map(compile)),
  )
  return (entry) =>
    needs.every((spellings) => spellings.some((words) => words.every((word) => holds(entry, word))))
}

/** Splits at separators only, not at capitals, so that `+GitHub` also means the word github. */
function separated(term: string): string[] {
  return fold(term)
    .split(/[_\-./]+/u)
    .filter((word) => word !== '')
}

function holds(entry: PoolTool, { text, pattern }: Term): boolean {
  const { parts, hint, description } = searchText(entry)
  // Few texts contain a term at all, and only these need the pattern, which takes much longer.
  const has = (whole: string) => whole.includes(text) && pattern.test(whole)
  return parts.some((part) => part.includes(text)) || has(hint) || has(description)
}
