// Offers the skills of all servers of a host under unique names, and reads their files, checked against their digests.
import { cleanText, cut, oneLine } from '../../lib/index.ts'
import type { CallOptions, McpHost } from '../types.ts'
import { filesOf, folderOf, MANIFEST, readSkillEntries, type SkillEntry } from './entry.ts'

/** Instructions for a kind of task, which the model reads when needed. */
export type OfferedSkill = {
  /** The unique name by which clients read it. */
  readonly name: string
  /** Says when to use it, on one line. */
  readonly description: string
  /** Its folder, its URL, or its server. */
  readonly place: string
  /** Whether it comes from elsewhere than this machine; the model must discover it before it can read it. */
  readonly isRemote: boolean
  /** Reads its instructions, or another of its files. */
  readonly read: (path?: string, options?: CallOptions) => Promise<string>
}

/** A skill of an MCP server. Its texts come from the server and grant no rights. */
export type ServerSkill = OfferedSkill & {
  /** The server's configured name. */
  readonly server: string
  /** URI of its SKILL.md, as the server knows it. */
  readonly uri: string
  /** Paths of its other files; undefined if the server does not list them. */
  readonly files: readonly string[] | undefined
}

/** The skills of all servers of a host. */
export type ServerSkills = {
  /** Returns the skills known now; the same list while nothing changes. */
  list(): readonly ServerSkill[]
}

/** Longest description, in characters. */
const MAX_DESCRIPTION_LENGTH = 1024

/**
 * Returns the skills that the servers of a host offer. Names begin with the server's: `github/refunds`.
 *
 * @example
 * const skills = createServerSkills(host)
 * const text = await skills.list()[0]?.read()
 */
export function createServerSkills(host: Pick<McpHost, 'status' | 'request' | 'watchLists'>): ServerSkills {
  host.watchLists()
  let known: readonly ServerSkill[] = []
  let sources: readonly unknown[] = []
  return {
    list() {
      const servers = host.status().filter(({ state }) => state !== 'disabled')
      const now = servers.flatMap(({ name, skills = [] }) => (skills.length > 0 ? [name, skills] : []))
      if (now.length === sources.length && now.every((one, index) => one === sources[index])) return known
      sources = now
      known = named(
        servers.flatMap(({ name: server, skills = [] }) =>
          (skills as readonly SkillEntry[]).map((entry) => ({ server, entry })),
        ),
        host,
      )
      return known
    },
  }
}

type Source = { readonly server: string; readonly entry: SkillEntry }

/** Names the skills; those of one server with the same name get their whole path. */
function named(sources: readonly Source[], host: Pick<McpHost, 'request'>): ServerSkill[] {
  const shortName = ({ server, entry }: Source) => `${labelOf(server)}/${entry.frontmatter.name}`
  const counts = new Map<string, number>()
  for (const source of sources) {
    const name = shortName(source)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const taken = new Set<string>()
  return sources.map((source) => {
    const short = shortName(source)
    const path = folderOf(source.entry.uri)?.segments.map(labelOf).join('/')
    const plain = counts.get(short) === 1 ? short : `${labelOf(source.server)}/${path}`
    let name = plain
    for (let count = 2; taken.has(name); count++) name = `${plain}-${count}`
    taken.add(name)
    return toSkill(name, source, host)
  })
}

function labelOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}_.-]+/gu, '-')
}

function toSkill(name: string, { server, entry }: Source, host: Pick<McpHost, 'request'>): ServerSkill {
  const { uri, frontmatter, resources } = entry
  const files = [...filesOf(entry).keys()].filter((path) => path !== MANIFEST)
  return {
    name,
    description: cut(
      oneLine(cleanText(frontmatter.description), 4 * MAX_DESCRIPTION_LENGTH),
      MAX_DESCRIPTION_LENGTH,
    ),
    place: `the MCP server "${oneLine(server, 60)}"`,
    isRemote: true,
    server,
    uri,
    files: resources === 'dynamic' ? undefined : files,
    read: (path = MANIFEST, options = {}) => readFile(host, { server, entry }, path, options),
  }
}

/** Reads a file; if it is not as listed, tries once more with the server's current entry, which pins may hold back. */
async function readFile(
  host: Pick<McpHost, 'request'>,
  source: Source,
  path: string,
  options: CallOptions,
): Promise<string> {
  // Imported here, because parsing front matter is rarely needed.
  const { SkillMismatch, verifiedText } = await import('./verify.ts')
  const { server, entry } = source
  const attempt = async (current: SkillEntry) => {
    const listed = filesOf(current).get(path)
    const uri = listed?.uri ?? dynamicUri(current, path)
    if (uri === undefined) throw new SkillMismatch(`${oneLine(path, 200)} is not a file of this skill`)
    const result = await host.request(server, 'resources/read', { uri }, options)
    return cleanText(verifiedText(current, { path, listed }, result))
  }
  try {
    return await attempt(entry)
  } catch (error) {
    if (!(error instanceof SkillMismatch)) throw error
    const { skill } = await host.request(server, 'skills/get', { uri: entry.uri }, options)
    const [current] = readSkillEntries([skill]).entries
    if (current?.uri !== entry.uri) throw error
    return attempt(current)
  }
}

/** Returns the URI of a file that the server does not list; undefined if the path leads out of the skill. */
function dynamicUri({ uri, resources }: SkillEntry, path: string): string | undefined {
  if (resources !== 'dynamic') return undefined
  if (path === MANIFEST) return uri
  const segments = path.split('/')
  const isPlain = segments.every((segment) => segment !== '' && !/^\.{1,2}$|[\\%?#]/.test(segment))
  return isPlain ? uri.slice(0, -MANIFEST.length) + segments.map(encodeURIComponent).join('/') : undefined
}
