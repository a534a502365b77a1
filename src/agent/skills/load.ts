// Loads skills from folders, one folder with a SKILL.md per skill. Reports unreadable skills and loads the others.
import { readdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { readBoundedFile } from '../../node/index.ts'
import { bodyOf, readSkillText, type SkillText } from './front-matter.ts'
import type { Notify, Skill } from './types.ts'

const FILE = 'SKILL.md'
const MAX_SKILLS = 1000
const MAX_BYTES = 1_000_000

/** Returns all skill folders, the project's first: its skills win over the user's with the same name. */
export function skillFolders(directory: string, home = homedir()): string[] {
  return [...projectSkillFolders(directory, home), ...userSkillFolders(home)]
}

/**
 * Returns the skill folders of the project. Their texts enter the prompt, so use them only after a person has trusted
 * them.
 */
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
