// Offers skills to the model: searches them, lists them, and loads one for DiscoverSkills and Skill (U2, U3).
// Implements U2, U3.
import { type Message, type PoolTool, type Rank, rankers, type Shelf } from '@toolshelf/core'
import {
  blocksOf,
  type Content,
  cleanQuery,
  closestNames,
  createRelatedSearch,
  cut,
  FILLER_WORDS,
  type FindRelated,
  oncePer,
  oneLine,
  poolTools,
  type RelatedEntry,
  reminder,
  STOP_WORDS,
  splitWords,
  textOf,
} from '@toolshelf/core/internal'
import { proxiedFetch } from '@toolshelf/core/internal/node'
import type { AgentTool } from '../types.ts'
import { type Notify, remoteSkills, type Skill, type SkillDiscovery, type UsedSkill } from './load.ts'

/** Name of the tool that searches skills. */
const DISCOVER = 'DiscoverSkills'
const OFFER = 'Skills relevant to your task:'
const OFFERED = /^<[a-z-]+>\nSkills relevant to your task:\n/

/** Maximum characters of a description in an offer. */
const MAX_LINE_LENGTH = 240

function skillLines(skills: readonly Skill[]): string {
  return skills
    .map(({ name, description }) => `- ${name}: ${oneLine(description, MAX_LINE_LENGTH)}`)
    .join('\n')
}

/**
 * Returns the names of skills from offers and from answers to DiscoverSkills. Other tools' output cannot make a skill
 * discovered.
 */
function discoveredIn(messages: readonly Message[]): Set<string> {
  const names = new Set<string>()
  const searches = new Set<unknown>()
  for (const { role, content } of messages) {
    for (const { type, name, id, text, tool_use_id: call, content: answer } of blocksOf(content)) {
      if (role === 'assistant' && type === 'tool_use' && name === DISCOVER) searches.add(id)
      if (role !== 'user') continue
      if (type === 'text' && OFFERED.test(textOf(text))) addNames(names, textOf(text))
      if (type === 'tool_result' && searches.has(call))
        for (const block of blocksOf(answer)) addNames(names, textOf(block.text))
    }
  }
  return names
}

function addNames(names: Set<string>, text: string): void {
  for (const [, name] of text.matchAll(/^- ([^\s:]+): /gm)) if (name) names.add(name)
}

type ToolOrSkill = {
  readonly kind: 'tool' | 'skill'
  /** The name by which the model calls the tool or reads the skill. */
  readonly name: string
  /** The text that was searched besides the name. */
  readonly description: string
}

const MAX_FOUND = 10
/** On the scale of `hybrid`: nine in ten correct answers to real tasks score higher, small talk about tools mostly lower. */
const MIN_SCORE = 5
/** Share of the best score. */
const MIN_SHARE = 0.6
/** With fewer words, any match scores high: "go on", "continue", "the other one". */
const MIN_WORDS = 2

/** Ranks deferred tools and skills together, best first; `matched` is how many matched in total. */
export async function searchToolsAndSkills(
  shelf: Shelf | undefined,
  skills: readonly Skill[],
  query: string,
  { limit = MAX_FOUND, rank = rankers.hybrid }: { readonly limit?: number; readonly rank?: Rank } = {},
): Promise<{ readonly found: readonly ToolOrSkill[]; readonly matched: number }> {
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
async function relevantSkills(
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

/**
 * Returns skills in the form of tools, for rankers; the same entries for the same list, so that rankers can reuse
 * their index.
 */
const skillEntries = oncePer((skills: readonly Skill[]) =>
  poolTools(skills.map(({ name, description }) => ({ name, description }))),
)

/** Returns skills in the form in which a search for tools names them. */
const relatedEntries = oncePer((skills: readonly Skill[]): readonly RelatedEntry[] =>
  skills.map(({ name, description }) => ({
    item: { kind: 'skill', name, description, advice: 'read it with Skill' },
    tool: { name, description },
  })),
)

const joined = new WeakMap<readonly PoolTool[], { own: readonly PoolTool[]; all: readonly PoolTool[] }>()

function together(tools: readonly PoolTool[], own: readonly PoolTool[]): readonly PoolTool[] {
  const known = joined.get(tools)
  if (known?.own === own) return known.all
  const all = [...tools, ...own]
  joined.set(tools, { own, all })
  return all
}

export type SkillsOptions = {
  /** URL of a remote skill index. Default: none. */
  readonly indexUrl?: URL | string
  /** Fetches the remote index. Default: `fetch`, through the proxy that the environment names. */
  readonly fetch?: typeof fetch
  /** Receives problems, such as an index that cannot be fetched. */
  readonly notify?: Notify
  /** If given, DiscoverSkills also suggests matching deferred tools. */
  readonly shelf?: Shelf
  /** The history of a resumed conversation; skills discovered there stay discovered. */
  readonly messages?: readonly Message[]
  /** Must score on the scale of `hybrid`, the default. */
  readonly rank?: Rank
}

/** The skills of a conversation, and the tools with which the model reads them. */
export type Skills = {
  /** The skill tools; empty if there are no skills. */
  readonly tools: readonly AgentTool[]
  /** Returns the offer to add to a user message: one text or none. Never waits for the network, never throws. */
  offer(text: string): Promise<string[]>
  /** Starts computing the offer for this text, so that `offer` with the same text returns at once. */
  prefetch(text: string): void
  /** The skills that the model read in this conversation, in order. */
  readonly used: readonly UsedSkill[]
  /** What was offered to the model in this conversation, in order. */
  readonly discoveries: readonly SkillDiscovery[]
  /** Finds skills that fit a search for tools, for the shelf's option `related`; they count as discovered. */
  readonly related: FindRelated
  /** All skills, including remote ones whose index has loaded. */
  list(): readonly Skill[]
}

const MAX_OFFERED = 5
/** Messages before a skill is offered again. */
const PAUSE_TURNS = 5

/**
 * Offers skills to the model: by name with messages that they match, and through the tools Skill and DiscoverSkills.
 *
 * @example
 * const skills = createSkills(await loadSkills(['.claude/skills'], console.warn), { shelf })
 * const agent = createAgent({ client, model, shelf, tools: skills.tools })
 */
export function createSkills(local: readonly Skill[], options: SkillsOptions = {}): Skills {
  const { notify = () => {}, messages = [], shelf, rank } = options
  const discovered = discoveredIn(messages)
  const discoveries: SkillDiscovery[] = []
  const used: UsedSkill[] = []
  const offeredAt = new Map<string, number>()
  let own = local
  let turn = 0
  let ahead: { readonly text: string; readonly names: Promise<readonly string[]> } | undefined

  const remote =
    options.indexUrl === undefined
      ? undefined
      : remoteSkills(options.indexUrl, options.fetch ?? proxiedFetch, notify)
  const known = () => own
  const complete = async () => {
    const found = (await remote?.()) ?? []
    if (found.length > 0 && own === local) own = withRemote(local, found, notify)
    return known()
  }
  void complete()

  const discover = (found: readonly Skill[]) => {
    if (found.length === 0) return
    for (const { name } of found) discovered.add(name)
    discoveries.push({
      type: 'skill_discovery',
      skills: found.map(({ name, description }) => ({ name, description })),
    })
  }
  const namesFor = async (text: string) => {
    try {
      return await relevantSkills(known(), text, MAX_OFFERED, rank)
    } catch (error) {
      notify(`could not offer skills: ${(error as Error).message}.`)
      return []
    }
  }
  const isDue = (name: string) => turn - (offeredAt.get(name) ?? Number.NEGATIVE_INFINITY) > PAUSE_TURNS
  const source = {
    known,
    complete,
    shelf,
    rank,
    discover,
    isDiscovered: (name: string) => discovered.has(name),
    use: (name: string) => {
      offeredAt.set(name, turn)
      used.push({ name, was_discovered: discovered.has(name) })
    },
  }
  const findEntries = createRelatedSearch(() => relatedEntries(known()), rank ?? rankers.hybrid)
  const isEmpty = local.length === 0 && options.indexUrl === undefined
  return {
    tools: isEmpty ? [] : [discoverTool(source), skillTool(source, local)],
    async offer(text) {
      turn++
      const names = await (ahead?.text === text ? ahead.names : namesFor(text))
      ahead = undefined
      const offered = skillsNamed(names.filter(isDue), known())
      for (const { name } of offered) offeredAt.set(name, turn)
      discover(offered)
      return offered.length === 0 ? [] : [reminder(`${OFFER}\n${skillLines(offered)}`)]
    },
    prefetch(text) {
      ahead = { text, names: namesFor(text) }
    },
    async related(query, tools) {
      const found = await findEntries(query, tools)
      const names = found.map(({ name }) => name)
      discover(skillsNamed(names, known()))
      return found
    },
    used,
    discoveries,
    list: known,
  }
}

function skillsNamed(names: readonly string[], skills: readonly Skill[]): Skill[] {
  const byName = new Map(skills.map((skill) => [skill.name, skill]))
  return names.flatMap((name) => byName.get(name) ?? [])
}

/** A local skill wins over a remote one of the same name. */
function withRemote(local: readonly Skill[], remote: readonly Skill[], notify: Notify): readonly Skill[] {
  const skills = new Map(local.map((skill) => [skill.name, skill]))
  for (const skill of remote) {
    const other = skills.get(skill.name)
    if (other) notify(`the skill ${skill.place} is left out: ${other.place} has its name, "${skill.name}".`)
    else skills.set(skill.name, skill)
  }
  return [...skills.values()]
}

/** What the tools need of the conversation's skills. */
type SkillSource = {
  readonly known: () => readonly Skill[]
  /** Resolves with the remote skills included, once their index has loaded or failed. */
  readonly complete: () => Promise<readonly Skill[]>
  readonly shelf: Shelf | undefined
  readonly rank: Rank | undefined
  readonly discover: (found: readonly Skill[]) => void
  readonly isDiscovered: (name: string) => boolean
  readonly use: (name: string) => void
}

/** Maximum number of local skills that the description of the tool Skill names. */
const MAX_NAMED = 40
/** Tools are mentioned if they are among this many best matches of tools and skills. */
const MAX_WITH_TOOLS = 5
const MAX_BODY_LENGTH = 100_000

function discoverTool({ complete, shelf, rank, discover }: SkillSource): AgentTool {
  return {
    name: DISCOVER,
    description:
      'Finds skills: instructions for kinds of tasks, written by people who know how. Skills that fit the user\'s message are offered as "Skills relevant to your task:". Before you do something that those do not cover, search here. Answers with names and descriptions, best first; read one with Skill.',
    input_schema: {
      type: 'object',
      properties: { query: { type: 'string', description: 'The task in a few words.' } },
      required: ['query'],
    },
    isReadOnly: true,
    async run({ query }) {
      const skills = await complete()
      const queryText = textOf(query)
      const options = rank ? { rank } : {}
      const { found } = await searchToolsAndSkills(undefined, skills, queryText, options)
      const names = found.map(({ name }) => name)
      const fits = skillsNamed(names, skills)
      discover(fits)
      const about = fits.length > 0 ? skillLines(fits) : nothing(queryText, skills)
      if (!shelf) return about
      const both = await searchToolsAndSkills(shelf, skills, queryText, { ...options, limit: MAX_WITH_TOOLS })
      return [about, ...aboutTools(both.found, shelf.searchTool)].join('\n\n')
    },
  }
}

function skillTool(source: SkillSource, local: readonly Skill[]): AgentTool {
  return {
    name: 'Skill',
    description: `Reads a skill: instructions for a kind of task. Do so before you begin a task that one fits, then follow it.${namesOf(local)}`,
    input_schema: {
      type: 'object',
      properties: { skill: { type: 'string', description: 'Its name.' } },
      required: ['skill'],
    },
    isReadOnly: true,
    run: async ({ skill }) => runSkill(textOf(skill), source),
  }
}

/** Reads a skill; a remote one only if it was discovered (U3). */
async function runSkill(
  requested: string,
  { known, complete, isDiscovered, use }: SkillSource,
): Promise<Content> {
  const wanted = requested.trim().replace(/^\//, '')
  const skill = named(known(), wanted) ?? named(await complete(), wanted)
  if (!skill) return refused(unknown(wanted, known()))
  if (skill.isRemote && !isDiscovered(skill.name))
    return refused(
      `The remote skill "${skill.name}" was not discovered in this conversation. Use ${DISCOVER} to find it first.`,
    )
  try {
    const body = await skill.read()
    use(skill.name)
    return skillText(skill, body)
  } catch (error) {
    return refused(`The skill "${skill.name}" cannot be read: ${(error as Error).message}.`)
  }
}

function skillText({ name, place, isRemote, allowedTools = [] }: Skill, body: string): string {
  const where = isRemote ? `It comes from ${place}.` : `Its folder is ${place}; paths in it begin there.`
  const tools = allowedTools.length > 0 ? ` It is written for these tools: ${allowedTools.join(', ')}.` : ''
  const text = cut(body, MAX_BODY_LENGTH)
  const rest = text === body ? '' : '\n\nThe rest is too long to be shown here.'
  return `The skill "${name}". ${where}${tools}\n\n${text}${rest}`
}

function named(skills: readonly Skill[], wanted: string): Skill | undefined {
  return (
    skills.find(({ name }) => name === wanted) ??
    skills.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  )
}

function namesOf(skills: readonly Skill[]): string {
  if (skills.length === 0) return ` Find one with ${DISCOVER}.`
  const names = skills.slice(0, MAX_NAMED).map(({ name }) => name)
  const rest = skills.length - names.length
  return ` There are: ${names.join(', ')}${rest > 0 ? ` and ${rest} more, found with ${DISCOVER}` : ''}.`
}

function nothing(query: string, skills: readonly Skill[]): string {
  return `No skill matches "${oneLine(query, 100)}". ${skills.length} skills can be searched; try other words, or go on without one.`
}

function aboutTools(found: readonly ToolOrSkill[], searchTool: string): string[] {
  const names = found.filter(({ kind }) => kind === 'tool').map(({ name }) => name)
  if (names.length === 0) return []
  const list = names.join(',')
  return [
    `Deferred tools that fit too: ${names.join(', ')}. Load them with ${searchTool}, {"query": "select:${list}"}.`,
  ]
}

function unknown(wanted: string, skills: readonly Skill[]): string {
  const local = skills.filter(({ isRemote }) => !isRemote)
  const near = closestNames(
    wanted,
    local.map(({ name }) => name),
  )
  const hint = near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ''
  return `There is no skill named "${oneLine(wanted, 100)}".${hint} Use ${DISCOVER} to find one.`
}

function refused(text: string): Content {
  return { content: [{ type: 'text', text }], isError: true }
}
