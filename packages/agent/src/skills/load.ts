// Loads skills: SKILL.md files of folders, with their front matter, and those that a remote index lists (U2, U3).
// Implements U3.
import { readdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { cut, type Fields, fieldsOf, isFields, oneLine, parseJson, textOf } from '@toolshelf/core/internal'
import { readBoundedBody, readBoundedFile } from '@toolshelf/core/internal/node'
import { parse } from 'yaml'

/** Instructions for a kind of task. */
export type Skill = {
  /** The name by which the model reads it. */
  readonly name: string
  /** Says when to use it, on one line. */
  readonly description: string
  /** The license, as its front matter states it. */
  readonly license?: string
  /** Tools that it is written for. */
  readonly allowedTools?: readonly string[]
  /** Further fields of its front matter. */
  readonly metadata?: { readonly [key: string]: unknown }
  /** Its folder or its URL. */
  readonly place: string
  /** It comes from a remote index; the model must discover it before it can read it. */
  readonly isRemote: boolean
  /** Reads its current instructions. */
  readonly read: () => Promise<string>
}

/** Skills that the model learned about, by an offer or a search (U3). */
export type SkillDiscovery = {
  /** Marks the record, so that hosts can store it beside messages. */
  readonly type: 'skill_discovery'
  /** The skills, as the offer described them. */
  readonly skills: readonly { readonly name: string; readonly description: string }[]
}

/** A skill that the model read, and whether it had been offered or found before. */
export type UsedSkill = { readonly name: string; readonly was_discovered: boolean }

/** Receives a message for the user. */
export type Notify = (message: string) => void

/** The fields and the body of a SKILL.md file. */
type SkillText = Omit<Skill, 'place' | 'isRemote' | 'read'> & {
  /** Only the user may start it, never the model. */
  readonly isForUserOnly: boolean
}

/** In characters; the limit of the skill format. */
const MAX_DESCRIPTION_LENGTH = 1024
/** In characters, because parsing YAML takes time quadratic in its keys. */
const MAX_FRONT_MATTER_LENGTH = 16_000

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/
const NAME = /^[\p{L}\p{N}_.-]{1,64}$/u

/** Parses a SKILL.md file. Throws an error that says what is wrong. */
export function readSkillText(text: string): SkillText {
  const fields = frontMatter(text)
  const { license, metadata } = fields
  const allowed = fields['allowed-tools']
  return {
    name: checkedName(required(fields, 'name')),
    description: checkedDescription(required(fields, 'description')),
    ...(typeof license === 'string' ? { license } : {}),
    ...(allowed === undefined ? {} : { allowedTools: toolNames(allowed) }),
    ...(isFields(metadata) ? { metadata } : {}),
    isForUserOnly: fields['disable-model-invocation'] === true,
  }
}

/** Returns a skill's text without its front matter. */
function bodyOf(text: string): string {
  return text.replace(FRONT_MATTER, '').trim()
}

/** Returns a valid skill name unchanged; throws for any other. */
function checkedName(name: string): string {
  if (NAME.test(name)) return name
  const shown = oneLine(name, 80)
  throw new Error(`the name "${shown}" is invalid; use up to 64 letters, digits, "-", "_" and "."`)
}

/** Returns a description on one line and within the limit. */
function checkedDescription(description: string): string {
  return cut(description.replace(/\s+/gu, ' ').trim(), MAX_DESCRIPTION_LENGTH)
}

function frontMatter(text: string): Fields {
  const found = FRONT_MATTER.exec(text)
  if (!found)
    throw new Error('it has no front matter; begin it with a line "---", name, description and a line "---"')
  const yaml = found[1] ?? ''
  if (yaml.length > MAX_FRONT_MATTER_LENGTH)
    throw new Error(
      `its front matter has ${yaml.length} characters; shorten it to ${MAX_FRONT_MATTER_LENGTH} and move the rest into the text below it`,
    )
  return fieldsOf(parsed(yaml))
}

function parsed(yaml: string): unknown {
  try {
    return parse(yaml, { logLevel: 'error' })
  } catch (error) {
    const reason = oneLine((error as Error).message.split('\n')[0], 200).replace(/:$/, '')
    throw new Error(`its front matter is not valid YAML (${reason}); quote values that contain ": " or "#"`)
  }
}

function required(fields: Fields, field: string): string {
  const value = fields[field]
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  if (text === '') throw new Error(`its front matter has no ${field}; add a line "${field}: …"`)
  return text
}

/** Reads a list, or names separated by spaces or commas; `Bash(git *)` is one name. */
function toolNames(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String)
  return typeof value === 'string' ? (value.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? []) : []
}

const FILE = 'SKILL.md'
const MAX_SKILLS = 1000
const MAX_BYTES = 1_000_000

/** Returns the skill folders of the project. Their texts enter the prompt, so use them only after a person has trusted them. */
export function projectSkillFolders(directory: string, home = homedir()): string[] {
  const own = userSkillFolders(home)
  const folders = ['.agents', '.claude', '.toolshelf'].map((name) => join(directory, name, 'skills'))
  return folders.filter((folder) => !own.includes(folder))
}

/** Returns the user's own skill folders. */
export function userSkillFolders(home = homedir()): string[] {
  return ['.agents', '.claude', join('.config', 'toolshelf')].map((name) => join(home, name, 'skills'))
}

/** The content of a SKILL.md file. */
export type SkillFile = {
  /** The skill's folder. */
  readonly folder: string
  /** The file's real path. */
  readonly file: string
  /** The whole text, with its front matter. */
  readonly text: string
  /** The skill keeps this text even if the file changes. */
  readonly isFixed: boolean
}

/**
 * Reads the skills in folders; reports what cannot be used and loads the rest.
 *
 * @example
 * const skills = createSkills(await loadSkills(['.agents/skills'], console.warn), { shelf })
 */
export async function loadSkills(folders: readonly string[], notify: Notify): Promise<Skill[]> {
  return parseSkillFiles(await readSkillFiles(folders, notify), notify)
}

/** Reads every SKILL.md in folders. With `isFixed`, the skills made from them never read the disk again. */
export async function readSkillFiles(
  folders: readonly string[],
  notify: Notify,
  { isFixed = false }: { readonly isFixed?: boolean } = {},
): Promise<SkillFile[]> {
  const found = (await Promise.all(folders.map((folder) => foldersIn(folder, notify)))).flat()
  if (found.length > MAX_SKILLS)
    notify(`${found.length} skills were found; the first ${MAX_SKILLS} are used. Remove some folders.`)
  const files: SkillFile[] = []
  for (const folder of found.slice(0, MAX_SKILLS)) {
    try {
      const file = await realpath(join(folder, FILE))
      files.push({ folder, file, text: await readText(file), isFixed })
    } catch (error) {
      // A folder without SKILL.md is not a skill.
      if (!isMissing(error)) notify(`the skill in ${folder} is left out: ${(error as Error).message}.`)
    }
  }
  return files
}

/** Builds skills from files; for duplicate names or files, the first one wins. */
export function parseSkillFiles(files: readonly SkillFile[], notify: Notify): Skill[] {
  const skills = new Map<string, Found>()
  const seen = new Set<string>()
  for (const one of files) {
    const text = skillTextIn(one, notify)
    if (text === undefined || text.isForUserOnly || seen.has(one.file)) continue
    seen.add(one.file)
    const other = skills.get(text.name)
    if (other) {
      notify(`the skill "${text.name}" in ${one.folder} is left out: ${other.folder} has one of that name.`)
      continue
    }
    if (text.name !== basename(one.folder))
      notify(
        `the skill in ${one.folder} is called "${text.name}" in its ${FILE}; rename the folder to match.`,
      )
    skills.set(text.name, { ...one, fields: text })
  }
  return [...skills.values()].map(toSkill)
}

function skillTextIn({ folder, text }: SkillFile, notify: Notify): SkillText | undefined {
  try {
    return readSkillText(text)
  } catch (error) {
    notify(`the skill in ${folder} is left out: ${(error as Error).message}.`)
    return undefined
  }
}

type Found = SkillFile & { readonly fields: SkillText }

async function foldersIn(folder: string, notify: Notify): Promise<string[]> {
  try {
    return (await readdir(folder))
      .filter((name) => !name.startsWith('.'))
      .sort()
      .map((name) => join(folder, name))
  } catch (error) {
    if (!isMissing(error)) notify(`no skills of ${folder} are used: ${(error as Error).message}.`)
    return []
  }
}

function toSkill({ folder, file, text, isFixed, fields: { isForUserOnly: _, ...fields } }: Found): Skill {
  const read = async () => bodyOf(isFixed ? text : await readText(file))
  return { ...fields, place: folder, isRemote: false, read }
}

async function readText(file: string): Promise<string> {
  try {
    return (await readBoundedFile(file, MAX_BYTES)).toString('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw error
    throw new Error(`${FILE} ${(error as Error).message}`)
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
}

const MAX_REMOTE_BYTES = 1_000_000
const MAX_REMOTE_SKILLS = 5000
const TIMEOUT_MS = 10_000

/** Fetches a skill index once. Reports a failure, which affects only these skills, and retries on the next use. */
export function remoteSkills(
  index: URL | string,
  fetchUrl: typeof fetch,
  notify: Notify,
): () => Promise<readonly Skill[]> {
  let running: Promise<readonly Skill[]> | undefined
  const fetched = async () => {
    try {
      return await fetchIndex(new URL(index), fetchUrl, notify)
    } catch (error) {
      running = undefined
      notify(`cannot use the skill index ${index}: ${reasonOf(error)}. Local skills still work.`)
      return []
    }
  }
  return () => {
    running ??= fetched()
    return running
  }
}

/** Fetches the index; reports and skips invalid entries. */
async function fetchIndex(index: URL, fetchUrl: typeof fetch, notify: Notify): Promise<Skill[]> {
  const parsed = parseJson(await fetchText(index, fetchUrl))
  if (parsed === undefined) throw new Error('it is not valid JSON')
  const { skills } = fieldsOf(parsed)
  if (!Array.isArray(skills)) throw new Error('it has no list "skills"')
  if (skills.length > MAX_REMOTE_SKILLS)
    notify(`${index} lists ${skills.length} skills; the first ${MAX_REMOTE_SKILLS} are used.`)
  return skills.slice(0, MAX_REMOTE_SKILLS).flatMap((entry, position) => {
    try {
      return [toRemoteSkill(entry, index, fetchUrl)]
    } catch (error) {
      notify(`skill ${position + 1} of ${index} is left out: ${(error as Error).message}.`)
      return []
    }
  })
}

function toRemoteSkill(entry: unknown, index: URL, fetchUrl: typeof fetch): Skill {
  if (!isFields(entry)) throw new Error('it is not an object')
  const description = checkedDescription(textOf(entry.description))
  if (description === '') throw new Error('it has no description')
  const url = addressOf(textOf(entry.url), index)
  return {
    name: checkedName(textOf(entry.name)),
    description,
    place: url.href,
    isRemote: true,
    read: async () => bodyOf(await fetchText(url, fetchUrl)),
  }
}

function addressOf(address: string, index: URL): URL {
  if (address === '' || !URL.canParse(address, index.href))
    throw new Error(
      `its url "${address}" is not a URL; include the scheme, e.g. https://example.com/skill.md`,
    )
  const url = new URL(address, index)
  if (url.origin !== index.origin) throw new Error(`its url ${url.href} is not on ${index.origin}`)
  return url
}

/** Follows no redirects, because they could lead to another origin. */
async function fetchText(url: URL, fetchUrl: typeof fetch): Promise<string> {
  const response = await fetchUrl(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`it answered with status ${response.status}`)
  }
  const { bytes, isCut } = await readBoundedBody(response, MAX_REMOTE_BYTES)
  if (isCut) throw new Error(`it has more than ${MAX_REMOTE_BYTES} bytes`)
  return bytes.toString('utf8')
}

/** The reason of a `fetch` error, which is in its `cause`. */
function reasonOf(error: unknown): string {
  const { message, cause } = fieldsOf(error)
  return [message ?? error, fieldsOf(cause).message].filter((part) => part !== undefined).join(', ')
}
