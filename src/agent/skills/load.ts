// Skills from folders: one folder a skill, with its SKILL.md. What cannot be read is told; the others load.
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { bodyOf, readSkillText, type SkillText } from './front-matter.ts'
import type { Notify, Skill } from './types.ts'

const FILE = 'SKILL.md'
const MOST_SKILLS = 1000
const MOST_BYTES = 1_000_000

/** Of the project first: a skill there wins over one of the same name at home. */
export function skillFolders(directory: string, home = homedir()): string[] {
  const project = ['.agents', '.claude', '.toolshelf'].map((name) => join(directory, name, 'skills'))
  const own = ['.agents', '.claude', join('.config', 'toolshelf')].map((name) => join(home, name, 'skills'))
  return [...new Set([...project, ...own])]
}

export async function loadSkills(folders: readonly string[], notify: Notify): Promise<Skill[]> {
  const found = (await Promise.all(folders.map((folder) => foldersIn(folder, notify)))).flat()
  if (found.length > MOST_SKILLS)
    notify(`${found.length} skills were found; the first ${MOST_SKILLS} are used. Remove some folders.`)
  const read = await Promise.all(found.slice(0, MOST_SKILLS).map(readSkill))
  const skills = new Map<string, Found>()
  const files = new Set<string>()
  for (const { folder, file, text, error } of read) {
    if (error !== undefined) notify(`the skill in ${folder} is left out: ${error}.`)
    if (file === undefined || text === undefined || text.isForUserOnly || files.has(file)) continue
    files.add(file)
    const other = skills.get(text.name)
    if (other) {
      notify(`the skill "${text.name}" in ${folder} is left out: ${other.folder} has one of that name.`)
      continue
    }
    if (text.name !== basename(folder))
      notify(`the skill in ${folder} is called "${text.name}" in its ${FILE}; name the folder so too.`)
    skills.set(text.name, { folder, file, text })
  }
  return [...skills.values()].map(toSkill)
}

type Found = { readonly folder: string; readonly file: string; readonly text: SkillText }
type Read = { readonly folder: string } & Partial<Found> & { readonly error?: string }

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

/** A folder without SKILL.md is no skill; a link to one counts where it leads. */
async function readSkill(folder: string): Promise<Read> {
  try {
    const file = await realpath(join(folder, FILE))
    return { folder, file, text: readSkillText(await readBounded(file)) }
  } catch (error) {
    return isMissing(error) ? { folder } : { folder, error: (error as Error).message }
  }
}

function toSkill({ folder, file, text: { isForUserOnly: _, ...text } }: Found): Skill {
  return { ...text, place: folder, isRemote: false, read: async () => bodyOf(await readBounded(file)) }
}

/** Only a plain file ends for sure. */
async function readBounded(file: string): Promise<string> {
  const found = await stat(file)
  if (!found.isFile()) throw new Error(`${FILE} is not a plain file`)
  if (found.size > MOST_BYTES)
    throw new Error(
      `${FILE} has ${found.size} bytes; shorten it to ${MOST_BYTES}, other files can hold the rest`,
    )
  return readFile(file, 'utf8')
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
}
