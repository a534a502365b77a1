// Manages the skills of one conversation: offers with each message, and the tools DiscoverSkills and Skill (U2, U3).
// Implements U2.
import type { FindRelated, Message, Rank, Shelf } from '../../core/index.ts'
import { proxiedFetch } from '../../node/index.ts'
import { rankers } from '../../rankers/index.ts'
import { createRelatedSearch } from '../../search/index.ts'
import type { AgentTool } from '../types.ts'
import { discoveredIn, offerText } from './offers.ts'
import { remoteSkills } from './remote.ts'
import { relatedEntries, relevantSkills } from './search.ts'
import { discoverTool, skillTool } from './tools.ts'
import type { Notify, Skill, SkillDiscovery, UsedSkill } from './types.ts'

/** Options of `createSkills`. */
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
      const byName = new Map(known().map((skill) => [skill.name, skill]))
      const offered = names.filter(isDue).flatMap((name) => byName.get(name) ?? [])
      for (const { name } of offered) offeredAt.set(name, turn)
      discover(offered)
      return offered.length === 0 ? [] : [offerText(offered)]
    },
    prefetch(text) {
      ahead = { text, names: namesFor(text) }
    },
    async related(query, tools) {
      const found = await findEntries(query, tools)
      const byName = new Map(known().map((skill) => [skill.name, skill]))
      discover(found.flatMap(({ name }) => byName.get(name) ?? []))
      return found
    },
    used,
    discoveries,
    list: known,
  }
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
