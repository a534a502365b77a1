// Searches skills with the tool search engine: each skill is indexed like a tool, so that one search covers both.
// Implements U2.
import { cleanQuery } from '../../core/calls/index.ts'
import type { PoolTool, Rank, Shelf } from '../../core/index.ts'
import { rankers } from '../../rankers/index.ts'
import { FILLER_WORDS, poolTools, type RelatedEntry, STOP_WORDS, splitWords } from '../../search/index.ts'
import type { Skill } from './types.ts'

/** A deferred tool or a skill. */
export type ToolOrSkill = {
  /** Which of the two it is. */
  readonly kind: 'tool' | 'skill'
  /** The name by which the model calls the tool or reads the skill. */
  readonly name: string
  /** The text that was searched besides the name. */
  readonly description: string
}

/** What a search of tools and skills found. */
export type FoundToolsAndSkills = {
  /** Tools and skills ranked together, best first. */
  readonly found: readonly ToolOrSkill[]
  /** How many matched in total. */
  readonly matched: number
}

const MAX_FOUND = 10
/** On the scale of `hybrid`: nine in ten correct answers to real tasks score higher, small talk about tools mostly lower. */
const MIN_SCORE = 5
/** Share of the best score. */
const MIN_SHARE = 0.6
/** With fewer words, any match scores high: "go on", "continue", "the other one". */
const MIN_WORDS = 2

/** Ranks deferred tools and skills together. */
export async function searchToolsAndSkills(
  shelf: Shelf | undefined,
  skills: readonly Skill[],
  query: string,
  { limit = MAX_FOUND, rank = rankers.hybrid }: { readonly limit?: number; readonly rank?: Rank } = {},
): Promise<FoundToolsAndSkills> {
  const own = skillEntries(skills)
  const entries = shelf ? together(shelf.partition().deferred, own) : own
  const text = cleanQuery(query)
  const { hits, matched } = text === '' ? { hits: [], matched: 0 } : await rank(entries, text, limit)
  const isSkill = new Set(own)
  const found = hits.map(({ tool }) => ({
    kind: isSkill.has(tool) ? ('skill' as const) : ('tool' as const),
    name: tool.name,
    description: tool.tool.description ?? '',
  }))
  return { found, matched }
}

/** Returns the names of the skills that fit a user message, best first; none if it is too short or nothing matches well. */
export async function relevantSkills(
  skills: readonly Skill[],
  message: string,
  limit: number,
  rank: Rank = rankers.hybrid,
): Promise<readonly string[]> {
  const query = cleanQuery(message)
  if (skills.length === 0 || tellingWords(query) < MIN_WORDS) return []
  const { hits } = await rank(skillEntries(skills), query, limit)
  const minScore = Math.max(MIN_SCORE, (hits[0]?.score ?? 0) * MIN_SHARE)
  return hits.filter(({ score }) => score >= minScore).map(({ tool }) => tool.name)
}

function tellingWords(text: string): number {
  const words = splitWords(text).filter((word) => /\p{L}/u.test(word))
  return new Set(words.filter((word) => !STOP_WORDS.has(word) && !FILLER_WORDS.has(word))).size
}

const entriesOf = new WeakMap<readonly Skill[], readonly PoolTool[]>()

/**
 * Returns skills in the form of tools, for rankers; the same entries for the same list, so that rankers can reuse
 * their index.
 */
function skillEntries(skills: readonly Skill[]): readonly PoolTool[] {
  let entries = entriesOf.get(skills)
  if (!entries) {
    entries = poolTools(skills.map(({ name, description }) => ({ name, description })))
    entriesOf.set(skills, entries)
  }
  return entries
}

const relatedOf = new WeakMap<readonly Skill[], readonly RelatedEntry[]>()

/** Returns skills in the form in which a search for tools names them. */
export function relatedEntries(skills: readonly Skill[]): readonly RelatedEntry[] {
  let entries = relatedOf.get(skills)
  if (!entries) {
    entries = skills.map(({ name, description }) => ({
      item: { kind: 'skill', name, description, advice: 'read it with Skill' },
      tool: { name, description },
    }))
    relatedOf.set(skills, entries)
  }
  return entries
}

const joined = new WeakMap<readonly PoolTool[], { own: readonly PoolTool[]; all: readonly PoolTool[] }>()

function together(tools: readonly PoolTool[], own: readonly PoolTool[]): readonly PoolTool[] {
  const known = joined.get(tools)
  if (known?.own === own) return known.all
  const all = [...tools, ...own]
  joined.set(tools, { own, all })
  return all
}
