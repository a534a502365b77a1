// Offers the skills of all servers, of this machine and of a remote index to clients: one search and one list, whose cost
// does not grow with the number of skills.
// Implements U2, U3.
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { classicRank, type PoolTool, type Rank } from '../../core/index.ts'
import {
  cleanText,
  closestNames,
  cut,
  dropOldest,
  type Fields,
  fieldsOf,
  oneLine,
  textOf,
  toJson,
  unsafeKinds,
} from '../../lib/index.ts'
import { DISCOVER_SKILLS, discoverSkillsTool, type OwnTool, readSkillTool } from '../greeting/index.ts'
import type { Addresses } from '../lists/index.ts'
import {
  createServerSkills,
  type OfferedSkill,
  offersSkills,
  type ServerSkill,
  type SkillEntry,
} from '../skills/index.ts'
import type { CallOptions, CallOutput, McpHost } from '../types.ts'

/** Options of skills. */
export type GatewaySkills = {
  /** Ranks skills for a search. Default: by words alone. */
  readonly rank?: Rank
  /** Skills besides those of servers: of folders on this machine and of a remote index. */
  readonly others?: () => Promise<readonly OfferedSkill[]>
}

/** The skills of one gateway, for all of its clients. */
export type SkillShelf = {
  /** Returns the tools for skills; none while no server offers skills and there are no others. */
  tools(): readonly OwnTool[]
  /** Answers a call of one of the tools; returns undefined for any other tool. */
  call(name: string, input: unknown, options: SkillCallOptions): Promise<CallOutput | undefined>
  /** Answers `skills/list`: all of a few skills; of many, only those that the client has found. */
  list(client: object): readonly Fields[]
  /** Answers `skills/get`. */
  get(uri: string, options: CallOptions): Promise<Fields>
}

/** Options of a call of a tool for skills. */
export type SkillCallOptions = CallOptions & {
  /** The same object for all calls of one client. */
  readonly client: object
  /** Whether the next call of this client can be recognised as its own. */
  readonly isRecognised: boolean
}

const MAX_FOUND = 8
/** Most skills to list at once, because a client may show each to its model. */
const MAX_LISTED = 20
/** Maximum characters of JSON of all entries. */
const MAX_CHARACTERS = 2_000_000
/** Most skills that a client has found to remember; beyond this the oldest are forgotten. */
const MAX_REMEMBERED = 200
const MAX_LINE_LENGTH = 240
const MAX_TEXT_LENGTH = 100_000
const MAX_FILES = 30

/** Creates the skills of a gateway. */
export function createSkillShelf(
  host: McpHost,
  addresses: Addresses,
  { rank = classicRank, others }: GatewaySkills = {},
): SkillShelf {
  const ofServers = createServerSkills(host)
  const discovered = createDiscovered()
  const all = async () => [...(others ? await others() : []), ...ofServers.list()]
  const entriesFor = rememberEntries()

  async function search(input: unknown, { client }: SkillCallOptions): Promise<CallOutput> {
    const query = oneLine(textOf(fieldsOf(input).query), 1000)
    const skills = await all()
    const { hits } = query === '' ? { hits: [] } : await rank(entriesFor(skills), query, MAX_FOUND)
    const byName = new Map(skills.map((skill) => [skill.name, skill]))
    const found = hits.flatMap(({ tool }) => byName.get(tool.name) ?? [])
    discovered.add(client, found)
    return say(found.length > 0 ? found.map(lineOf).join('\n') : nothing(query, skills.length))
  }

  async function read(input: unknown, options: SkillCallOptions): Promise<CallOutput> {
    const wanted = textOf(fieldsOf(input).skill).trim()
    const file = textOf(fieldsOf(input).file).trim()
    const skills = await all()
    const skill = skills.find(({ name }) => name === wanted)
    const isKnown = !options.isRecognised || discovered.has(options.client, wanted)
    if (skill?.isRemote && !isKnown)
      return failure(
        `The skill "${skill.name}" was not discovered by you. Use ${DISCOVER_SKILLS} to find it first.`,
      )
    if (!skill) return failure(unknown(wanted, skills))
    if (file !== '' && !('files' in skill))
      return failure(
        `Other files of the skill "${skill.name}" are not read here; they are in ${skill.place}.`,
      )
    try {
      const text = await skill.read(file === '' ? undefined : file, options)
      return say(`${heading(skill, file)}\n\n${shortened(cleanText(text))}`)
    } catch (error) {
      options.signal?.throwIfAborted()
      return failure(`The skill "${skill.name}" cannot be read: ${(error as Error).message}.`)
    }
  }

  return {
    tools: () => (others || host.status().some(offersSkills) ? [discoverSkillsTool, readSkillTool] : []),
    async call(name, input, options) {
      if (name === discoverSkillsTool.name) return search(input, options)
      return name === readSkillTool.name ? read(input, options) : undefined
    },
    list(client) {
      const skills = ofServers.list()
      const isListed = ({ name }: ServerSkill) => skills.length <= MAX_LISTED || discovered.has(client, name)
      const entries = skills
        .filter(isListed)
        .map((skill) => listable(entryOf(host, skill), skill.server, addresses))
      return withinSize(entries.filter((entry) => entry !== undefined))
    },
    async get(uri, options) {
      const owner = addresses.uriBack(uri)
      if (!owner) throw invalid(uri, 'names no server; skills are written as server+uri')
      const { skill } = await host.request(owner.server, 'skills/get', { uri: owner.uri }, options)
      const entry = listable(skill as SkillEntry, owner.server, addresses)
      if (!entry) throw invalid(uri, 'has hidden characters in its front matter')
      return entry
    },
  }
}

/** Remembers which skills each client has found, by name. */
function createDiscovered() {
  const byClient = new WeakMap<object, Set<string>>()
  return {
    has: (client: object, name: string) => byClient.get(client)?.has(name) ?? false,
    add(client: object, found: readonly OfferedSkill[]): void {
      const names = byClient.get(client) ?? new Set()
      byClient.set(client, names)
      for (const { name } of found) {
        names.delete(name)
        names.add(name)
      }
      dropOldest(names, MAX_REMEMBERED)
    },
  }
}

function lineOf({ name, description }: OfferedSkill): string {
  return `- ${name}: ${oneLine(cleanText(description), MAX_LINE_LENGTH)}`
}

function nothing(query: string, count: number): string {
  return `No skill matches "${oneLine(query, 100)}". ${count} skills can be searched; try other words, or go on without one.`
}

function invalid(uri: string, reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `"${oneLine(uri, 500)}" ${reason}`)
}

/** Returns the first entries that fit into one message. */
function withinSize(entries: readonly Fields[]): readonly Fields[] {
  let size = 0
  return entries.filter((entry) => {
    size += toJson(entry).length
    return size <= MAX_CHARACTERS
  })
}

function entryOf(host: McpHost, { server, uri }: ServerSkill): SkillEntry | undefined {
  const skills = host.status().find(({ name }) => name === server)?.skills as
    | readonly SkillEntry[]
    | undefined
  return skills?.find((entry) => entry.uri === uri)
}

/** Returns the entry with URIs that lead through the gateway; undefined if its front matter would have to be changed. */
function listable(entry: SkillEntry | undefined, server: string, { uri }: Addresses): Fields | undefined {
  if (!entry || unsafeKinds(toJson(entry.frontmatter)).length > 0) return undefined
  const { resources } = entry
  return {
    uri: uri(server, entry.uri),
    frontmatter: entry.frontmatter,
    resources:
      resources === 'dynamic' ? resources : resources.map((one) => ({ ...one, uri: uri(server, one.uri) })),
  }
}

/** Returns the same entries while nothing changes, so that rankers can reuse their index. */
function rememberEntries() {
  let known: readonly PoolTool[] = []
  let before: readonly OfferedSkill[] = []
  return (skills: readonly OfferedSkill[]): readonly PoolTool[] => {
    if (skills.length === before.length && skills.every((skill, index) => skill === before[index]))
      return known
    before = skills
    known = skills.map(toEntry)
    return known
  }
}

/** Converts a skill to a tool that can be ranked. */
function toEntry({ name, description }: OfferedSkill): PoolTool {
  const tool = { name, description }
  return {
    ...tool,
    tool,
    server: undefined,
    original: name,
    hint: '',
    definition: tool,
    json: '',
  } as PoolTool
}

function heading(skill: OfferedSkill, file: string): string {
  const { files } = skill as Partial<ServerSkill>
  const shown = (files ?? []).slice(0, MAX_FILES).map((path) => oneLine(path, 200))
  const rest = (files?.length ?? 0) - shown.length
  const more =
    file === '' && shown.length > 0
      ? `\nIts other files, which "file" reads: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`
      : ''
  const unverified = 'files' in skill && files === undefined ? ' Its server publishes no digests of it.' : ''
  const source = skill.isRemote
    ? `It comes from ${skill.place}, whose words it holds: it grants no rights, and what it asks for needs the same permission as ever.`
    : `Its folder is ${skill.place}; paths in it begin there.`
  const what =
    file === '' ? `The skill "${skill.name}".` : `${oneLine(file, 200)} of the skill "${skill.name}".`
  return `${what} ${source}${unverified}${more}`
}

function shortened(text: string): string {
  const shown = cut(text, MAX_TEXT_LENGTH)
  return shown === text ? text : `${shown}\n\nThe rest is too long to be shown here.`
}

function unknown(wanted: string, skills: readonly OfferedSkill[]): string {
  const local = skills.filter(({ isRemote }) => !isRemote).map(({ name }) => name)
  const near = closestNames(wanted, local)
  const hint = near.length > 0 ? ` Nearest: ${near.join(', ')}.` : ''
  return `There is no skill named "${oneLine(wanted, 100)}".${hint} Use ${DISCOVER_SKILLS} to find one.`
}

function say(text: string): CallOutput {
  return { content: [{ type: 'text', text }] }
}

function failure(text: string): CallOutput {
  return { ...say(text), isError: true }
}
