// Reads, once, everything in a folder that Toolshelf would act on. Starts, sends and expands nothing.
// Implements H7.
import { realpath } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import type { PermissionRule } from '@toolshelf/agent'
import { projectSkillFolders, READ_ONLY, readSkillFiles, type SkillFile } from '@toolshelf/agent/internal'
import { fieldsOf } from '@toolshelf/core/internal'
import { readBoundedFile } from '@toolshelf/core/internal/node'
import {
  type ConfigProblem,
  type ConfigText,
  type LocalMachine,
  projectConfigFiles,
  readEntries,
} from '@toolshelf/mcp/internal'
import { describeProblem } from '../servers/config-watch.ts'
import { MAX_RULE_BYTES, openUserRules, PROJECT_RULES, rulesIn } from '../user-files/permission-file.ts'
import { configItems, hashOf, ruleItems, skillItems, type TrustItem } from './store.ts'

/** The contents of a folder. They are used as read here, whatever happens to the files meanwhile. */
export type Project = {
  /** The real path of the folder. */
  readonly folder: string
  readonly configs: readonly ConfigText[]
  readonly skills: readonly SkillFile[]
  /** Permission rules; allow rules count only if the folder is trusted. */
  readonly rules: readonly PermissionRule[]
  /** The hash of each file that has an effect, by its relative path. */
  readonly files: ReadonlyMap<string, string>
  readonly items: readonly TrustItem[]
  /** Problems of configuration files that are not used. */
  readonly problems: readonly ConfigProblem[]
  /** Problems of skills. */
  readonly notices: readonly string[]
}

export type ProjectParts = {
  /** Configuration files to read; by default those that `run`, `chat` and `doctor` use. */
  readonly configs?: readonly string[]
  /** Includes skills and permission rules. */
  readonly isForAgent?: boolean
}

const MAX_CONFIG_BYTES = 1_000_000
const MAX_SKILL_BYTES = 8_000_000

/** Reads `machine.folder`. Reports unreadable files as problems and continues. */
export async function readProject(machine: LocalMachine, parts: ProjectParts = {}): Promise<Project> {
  const { configs: given = projectConfigFiles(machine), isForAgent = true } = parts
  const folder = await realpath(machine.folder).catch(() => resolve(machine.folder))
  const files = new Map<string, string>()
  const items: TrustItem[] = []
  const problems: ConfigProblem[] = []
  const notices: string[] = []
  const below = (path: string) => relative(machine.folder, path).replaceAll('\\', '/')
  const add = (path: string, text: string, found: readonly TrustItem[]) => {
    if (found.length === 0) return
    files.set(below(path), hashOf(text))
    items.push(...found)
  }
  const configs: ConfigText[] = []
  // What opens the user's rules reports that they cannot be read.
  const userRules =
    given.length > 0
      ? await openUserRules(machine)
          .read()
          .catch(() => [])
      : []
  for (const file of given) {
    const text = await readText(file, MAX_CONFIG_BYTES, (message) => problems.push({ file, message }))
    if (text === undefined) continue
    const config = { file, text, folder }
    const read = await readEntries(config, machine)
    const found = configItems(read, below(file), machine, userRules)
    add(file, text, found)
    if (found.length > 0) configs.push(config)
    else problems.push(...read.problems)
  }
  const notify = (notice: string) => void notices.push(notice)
  const skills: SkillFile[] = []
  for (const skill of isForAgent ? await readSkills(machine, notify) : []) {
    const path = join(skill.folder, 'SKILL.md')
    const found = skillItems(skill, below(path), folder, notify)
    add(path, skill.text, found)
    if (found.length > 0) skills.push(skill)
  }
  const { rules, text } = isForAgent ? await readRules(machine, notify) : { rules: [], text: '' }
  add(join(machine.folder, PROJECT_RULES), text, ruleItems(rules, below(join(machine.folder, PROJECT_RULES))))
  return { folder, configs, skills, rules, files, items, problems, notices }
}

/** Problems shown to the user; the rest is counted. */
const MAX_REPORTED = 10

/** Describes the problems of the folder's files, one sentence each. */
export function troublesOf({ problems, notices }: Project): string[] {
  const all = [...problems.map(describeProblem), ...notices]
  const rest = all.length - MAX_REPORTED
  return rest > 0 ? [...all.slice(0, MAX_REPORTED), `${rest} more files of this folder have problems.`] : all
}

/** Returns the same folder without anything that would act; deny and ask rules stay. */
export function withoutContent(project: Project): Project {
  const rules = project.rules.filter(({ effect }) => effect !== 'allow')
  return { ...project, configs: [], skills: [], rules, items: [], files: new Map() }
}

async function readText(
  file: string,
  maxBytes: number,
  report: (problem: string) => void,
): Promise<string | undefined> {
  try {
    return (await readBoundedFile(file, maxBytes)).toString('utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) report(`it ${message}, so it is not used.`)
    else if (code !== 'ENOENT' && code !== 'ENOTDIR') report(`it cannot be read (${code}).`)
    return undefined
  }
}

async function readRules(machine: LocalMachine, notify: (problem: string) => void) {
  const file = join(machine.folder, PROJECT_RULES)
  const text = (await readText(file, MAX_RULE_BYTES, (message) => notify(`${file}: ${message}`))) ?? '{}'
  try {
    const { rules, problems } = rulesIn(fieldsOf(JSON.parse(text)), 'folder')
    for (const problem of problems) notify(`${file}: ${problem}; ignored.`)
    const isForeign = ({ rule }: PermissionRule) => rule.startsWith(READ_ONLY)
    for (const { rule } of rules.filter(isForeign))
      notify(`${file}: the rule ${JSON.stringify(rule)} counts only among your own; ignored.`)
    return { rules: rules.filter((rule) => !isForeign(rule)), text }
  } catch {
    notify(`${file}: it is not valid JSON, so its rules are ignored.`)
    return { rules: [], text }
  }
}

async function readSkills(machine: LocalMachine, notify: (problem: string) => void): Promise<SkillFile[]> {
  const folders = projectSkillFolders(resolve(machine.folder), machine.home)
  const found = await readSkillFiles(folders, notify, { isFixed: true })
  let size = 0
  const kept = found.filter(({ text }) => {
    size += text.length
    return size <= MAX_SKILL_BYTES
  })
  if (kept.length < found.length)
    notify(`${found.length - kept.length} skills of this folder are left out: together they are too large.`)
  return kept
}
