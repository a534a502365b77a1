// Reads the entries of `skills/list` and `skills/get` (SEP-2640): drops what is invalid or too large, and reports why.
import { type Fields, fieldsOf, isFields, oneLine, toJson } from '../../lib/index.ts'
import type { KnownServer } from '../types.ts'
import { type FileUri, pathBelow, readFileUri } from './uri.ts'

/** The extension with which a server offers skills. */
export const SKILLS = 'io.modelcontextprotocol/skills'

/** Returns whether a server offers skills, as far as known; false if it is disabled. */
export function offersSkills({ state, capabilities }: Pick<KnownServer, 'state' | 'capabilities'>): boolean {
  return state !== 'disabled' && fieldsOf(capabilities.extensions)[SKILLS] !== undefined
}

/** A skill as a server lists it, checked. */
export type SkillEntry = {
  /** URI of its SKILL.md. */
  readonly uri: string
  readonly frontmatter: Fields & { readonly name: string; readonly description: string }
  /** All of its files; `dynamic` if the server publishes no digests. */
  readonly resources: readonly SkillResource[] | 'dynamic'
}

/** A file of a skill. */
export type SkillResource = { readonly uri: string; readonly digest: string; readonly size: number }

/** The valid entries of a list, and why others were dropped. */
export type ReadSkills = {
  readonly entries: readonly SkillEntry[]
  /** Why entries were dropped; at most `MAX_PROBLEMS`. */
  readonly problems: readonly string[]
  /** How many entries were dropped. */
  readonly dropped: number
}

/** The name of a skill's main file. */
export const MANIFEST = 'SKILL.md'
/** Limits of the extension: hosts must accept skills up to these. */
const MAX_FILES = 512
const MAX_BYTES = 16_777_216
/** Most skills of one server. */
const MAX_SKILLS = 5000
const MAX_PROBLEMS = 20
/** Longest front matter, in characters of JSON. */
export const MAX_FRONT_MATTER_LENGTH = 16_000
const NAME = /^[\p{L}\p{N}_.-]{1,64}$/u
const DIGEST = /^sha256:[\da-f]{64}$/

/** Returns the usable entries; of two with the same URI neither is usable. */
export function readSkillEntries(listed: readonly unknown[]): ReadSkills {
  const problems: string[] = []
  let dropped = 0
  const drop = (entry: unknown, reason: string) => {
    dropped++
    if (problems.length < MAX_PROBLEMS)
      problems.push(`the skill ${oneLine(String(fieldsOf(entry).uri), 200)}: ${reason}`)
  }
  const byPath = new Map<string, SkillEntry | undefined>()
  for (const entry of listed) {
    if (byPath.size >= MAX_SKILLS) {
      drop(entry, `only the first ${MAX_SKILLS} skills of a server are used`)
      continue
    }
    const fault = faultOf(entry)
    if (fault !== undefined) {
      drop(entry, fault)
      continue
    }
    const { uri, frontmatter, resources } = entry as SkillEntry
    const key = toJson(readFileUri(uri))
    if (!byPath.has(key)) {
      byPath.set(key, { uri, frontmatter, resources })
      continue
    }
    drop(entry, 'it is listed twice, and neither is used')
    // The first entry was usable until now.
    if (byPath.get(key)) dropped++
    byPath.set(key, undefined)
  }
  return { entries: [...byPath.values()].filter((entry) => entry !== undefined), problems, dropped }
}

/** Returns the folder of a skill, whose last segment is the skill's name. */
export function folderOf(uri: string): FileUri | undefined {
  const file = readFileUri(uri)
  if (!file || file.segments.length < 2 || file.segments.at(-1) !== MANIFEST) return undefined
  return { scheme: file.scheme, segments: file.segments.slice(0, -1) }
}

/** Returns whether a URI is a file of the skill with this SKILL.md; an odd URI of the same scheme may be one, too. */
export function isFileOf(skill: string, uri: string): boolean {
  const folder = folderOf(skill)
  const file = readFileUri(uri)
  if (!folder) return false
  return file ? pathBelow(folder, file) !== undefined : uri.toLowerCase().startsWith(`${folder.scheme}:`)
}

/** Returns the skill's files by their paths within its folder. */
export function filesOf({ uri, resources }: SkillEntry): ReadonlyMap<string, SkillResource> {
  const folder = folderOf(uri)
  const files = new Map<string, SkillResource>()
  for (const resource of resources === 'dynamic' ? [] : resources) {
    const file = readFileUri(resource.uri)
    const path = folder && file && pathBelow(folder, file)
    if (path !== undefined) files.set(path, resource)
  }
  return files
}

/** Returns why an entry cannot be used; undefined if it can. */
function faultOf(entry: unknown): string | undefined {
  if (!isFields(entry)) return 'it is not an object'
  const { uri, frontmatter, resources } = entry
  const folder = typeof uri === 'string' ? folderOf(uri) : undefined
  if (!folder) return `its uri is not the address of a ${MANIFEST}`
  if (!isFields(frontmatter) || Object.hasOwn(frontmatter, '__proto__')) return 'it has no front matter'
  const { name, description } = frontmatter
  if (typeof name !== 'string' || !NAME.test(name)) return 'its name is missing or invalid'
  if (name !== folder.segments.at(-1)) return 'its name is not the last part of its path'
  if (typeof description !== 'string' || description.trim() === '') return 'it has no description'
  if (lengthOf(frontmatter) > MAX_FRONT_MATTER_LENGTH) return 'its front matter is too long'
  return resources === 'dynamic' ? undefined : faultOfFiles(entry as SkillEntry, resources)
}

function faultOfFiles(entry: SkillEntry, resources: unknown): string | undefined {
  if (!Array.isArray(resources)) return 'its files are neither listed nor "dynamic"'
  if (resources.length > MAX_FILES) return `it has more than ${MAX_FILES} files`
  if (!resources.every(isResource)) return 'a file has no valid uri, digest or size'
  if (resources.reduce((sum, { size }) => sum + size, 0) > MAX_BYTES)
    return 'its files are larger than 16 MiB together'
  const files = filesOf(entry)
  if (files.size < resources.length) return 'a file is listed twice or lies outside of its folder'
  return files.has(MANIFEST) ? undefined : `its files do not include its ${MANIFEST}`
}

function isResource(value: unknown): value is SkillResource {
  const { uri, digest, size } = fieldsOf(value)
  return (
    typeof uri === 'string' &&
    typeof digest === 'string' &&
    DIGEST.test(digest) &&
    Number.isSafeInteger(size) &&
    (size as number) >= 0
  )
}

function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
