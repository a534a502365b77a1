// The model's two tools for skills: DiscoverSkills finds them, Skill reads one.
// Implements U2.

import type { Content, Rank, Shelf } from '../../core/index.ts'
import { closestNames, cut, oneLine, textOf } from '../../lib/index.ts'
import type { AgentTool } from '../types.ts'
import { DISCOVER, skillLines } from './offers.ts'
import { searchToolsAndSkills, type ToolOrSkill } from './search.ts'
import type { Skill } from './types.ts'

/** What the tools need of the conversation's skills. */
export type SkillSource = {
  /** The skills known now. */
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

/** Creates the tool DiscoverSkills. */
export function discoverTool({ complete, shelf, rank, discover }: SkillSource): AgentTool {
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
      const byName = new Map(skills.map((skill) => [skill.name, skill]))
      const fits = found.flatMap(({ name }) => byName.get(name) ?? [])
      discover(fits)
      const about = fits.length > 0 ? skillLines(fits) : nothing(queryText, skills)
      if (!shelf) return about
      const both = await searchToolsAndSkills(shelf, skills, queryText, { ...options, limit: MAX_WITH_TOOLS })
      return [about, ...aboutTools(both.found, shelf.searchTool)].join('\n\n')
    },
  }
}

/** Creates the tool Skill. */
export function skillTool(source: SkillSource, local: readonly Skill[]): AgentTool {
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
