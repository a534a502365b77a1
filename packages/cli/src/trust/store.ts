// Remembers which content of which folder the user trusted: a private file per folder, replaced atomically.
// Implements H7.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PermissionRule } from '@toolshelf/agent'
import { isWithin, parseRule, READ_ONLY, readSkillText, type SkillFile } from '@toolshelf/agent/internal'
import {
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  matchesServer,
  slugOf,
  textOf,
} from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'
import {
  describeTransport,
  type FileEntries,
  keepReferences,
  type LocalMachine,
  readServer,
} from '@toolshelf/mcp/internal'
import type { Project } from './project.ts'

/** The user's decision about a folder. */
export type TrustRecord = {
  /** Real path of the folder. */
  readonly folder: string
  readonly trusted?: Decided
  readonly refused?: Decided
}

/** A decision and the content that it is about. */
export type Decided = {
  /** ISO 8601. */
  readonly at: string
  readonly files: { readonly [path: string]: string }
  /** What was shown, to describe later changes. */
  readonly items: readonly KnownItem[]
}

/** An item as it was shown when the user decided. */
export type KnownItem = {
  readonly kind: string
  readonly title: string
  readonly file: string
  /** The hash of each line. */
  readonly lines: readonly string[]
}

/** Stores decisions by folder. */
export type TrustStore = ReturnType<typeof openTrustStore>

const VERSION = 1
const MAX_BYTES = 4_000_000
/** Lines kept to mark later changes; beyond it, changed content is shown as new. */
const MAX_LINES = 20_000

export function openTrustStore(place: string, notify: (message: string) => void) {
  const open = (name: string) => new JsonFile(join(place, name), { maxBytes: MAX_BYTES })
  const fileOf = (folder: string) => open(fileName(folder))
  const recordIn = async (file: JsonFile): Promise<TrustRecord | undefined> => {
    try {
      const text = await file.read()
      return text === undefined ? undefined : parse(text)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'ENOTDIR')
        notify(`${file.path} cannot be used, so its folder counts as not trusted: ${message}.`)
      return undefined
    }
  }
  return {
    /** Undefined if nothing was decided yet, or the record cannot be read. Never rejects. */
    async read(folder: string) {
      const record = await recordIn(fileOf(folder))
      return record?.folder === folder ? record : undefined
    },
    /** Rejects if it cannot be stored. */
    async write(record: TrustRecord) {
      await fileOf(record.folder).write(`${JSON.stringify({ version: VERSION, ...record })}\n`)
    },
    /** Returns false if there was none. */
    remove: (folder: string) => fileOf(folder).remove(),
    async list() {
      const names = await readdir(place).catch(() => [])
      const files = names.filter((name) => name.endsWith('.json')).sort()
      const records = await Promise.all(files.map((name) => recordIn(open(name))))
      return records.filter((record) => record !== undefined)
    },
  }
}

/** Makes the record of a decision about a project in its current state. Files decided about earlier stay decided. */
export function decidedNow(project: Project, before: Decided | undefined, at: Date): Decided {
  const items = project.items.map(knownItem)
  const others = (before?.items ?? []).filter(({ file }) => !project.files.has(file))
  let kept = 0
  return {
    at: at.toISOString(),
    files: { ...before?.files, ...Object.fromEntries(project.files) },
    items: [...items, ...others].filter((item) => {
      kept += item.lines.length
      return kept <= MAX_LINES
    }),
  }
}

export function knownItem({ kind, title, file, text }: TrustItem): KnownItem {
  return { kind, title, file, lines: text.split('\n').map(hashOf) }
}

/** Returns whether every file of the project was decided about in its current state. */
export function isProjectDecided(decided: Decided | undefined, { files }: Project): boolean {
  return decided !== undefined && [...files].every(([path, hash]) => hashIn(decided, path) === hash)
}

function hashIn({ files }: Decided, path: string): string | undefined {
  return Object.hasOwn(files, path) ? files[path] : undefined
}

function fileName(folder: string): string {
  const readable = folder
    .replace(/[^A-Za-z0-9-]+/g, '_')
    .slice(-40)
    .replace(/^_/, '')
  return `${readable}-${createHash('sha256').update(folder).digest('hex').slice(0, 24)}.json`
}

function parse(text: string): TrustRecord {
  const { version, folder, trusted, refused } = fieldsOf(JSON.parse(text))
  if (version !== VERSION || typeof folder !== 'string') throw new Error('it is not a record of this version')
  return {
    folder,
    ...(isFields(trusted) ? { trusted: toDecided(trusted) } : {}),
    ...(isFields(refused) ? { refused: toDecided(refused) } : {}),
  }
}

function toDecided({ at, files, items }: Fields): Decided {
  const hashes = Object.entries(fieldsOf(files)).filter(([, hash]) => typeof hash === 'string')
  return {
    at: textOf(at),
    files: Object.fromEntries(hashes) as Decided['files'],
    items: listOf(items).map((one) => toItem(fieldsOf(one))),
  }
}

function toItem({ kind, title, file, lines }: Fields): KnownItem {
  return { kind: textOf(kind), title: textOf(title), file: textOf(file), lines: listOf(lines).map(textOf) }
}

/** One effect of a file of the folder. */
export type TrustItem = {
  readonly kind: 'server' | 'settings' | 'skill' | 'rule'
  readonly title: string
  /** Path relative to the folder. */
  readonly file: string
  /** What Toolshelf would do with it, without anything that could be secret. */
  readonly effect: string
  /** What else the folder says, whole and as it is: nothing of it is left out, guessed or expanded. */
  readonly text: string
}

/** Describes the enabled servers of a file and its settings. */
export function configItems(
  read: FileEntries,
  file: string,
  machine: LocalMachine,
  userRules: readonly PermissionRule[],
): TrustItem[] {
  const servers = read.entries.flatMap((entry): TrustItem[] => {
    const { server } = readServer(entry, read.file, machine, keepReferences)
    if (!server || server.disabled) return []
    const verb = server.transport.kind === 'stdio' ? 'runs' : 'connects to'
    const effect = `${verb} ${describeTransport(server.transport)}${aboutRules(server.name, userRules)}`
    return [{ kind: 'server', title: server.name, file, effect, text: keysOf(entry.source) }]
  })
  const text = keysOf(read.gateway)
  const settings = { kind: 'settings', title: 'gateway', file, effect: 'changes settings', text } as const
  return text === '' ? servers : [...servers, settings]
}

/** Writes a JSON object with a line for each key. */
function keysOf(fields: object): string {
  const lines = Object.entries(fields).map(
    ([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`,
  )
  return lines.join('\n')
}

/** Describes a skill, which the model reads. Empty if the model never sees it. */
export function skillItems(
  skill: SkillFile,
  file: string,
  folder: string,
  notify: (problem: string) => void,
): TrustItem[] {
  try {
    const { name, isForUserOnly } = readSkillText(skill.text)
    if (isForUserOnly) return []
    const link = isWithin(skill.file, folder) ? '' : `is a link to ${skill.file}, and `
    return [{ kind: 'skill', title: name, file, effect: `${link}tells the model`, text: skill.text }]
  } catch (error) {
    notify(`the skill in ${dirname(file)} is left out: ${(error as Error).message}.`)
    return []
  }
}

/** Describes the rules that let calls run without asking. */
export function ruleItems(rules: readonly PermissionRule[], file: string): TrustItem[] {
  const allowing = rules.filter(({ effect }) => effect === 'allow')
  return allowing.map(({ rule }) => ({
    kind: 'rule',
    title: rule,
    file,
    effect: 'runs such calls without asking you',
    text: '',
  }))
}

export function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Says which rules of the user do not cover a server of the folder, though they name it. */
function aboutRules(server: string, userRules: readonly PermissionRule[]): string {
  const named = userRules
    .map((rule) => parseRule(rule))
    .filter(({ effect, rule, tools, isOfFolder }) => {
      const pattern = rule.startsWith(READ_ONLY) ? rule.slice(READ_ONLY.length) : (tools?.server ?? '*')
      return effect === 'allow' && !isOfFolder && pattern !== '*' && matchesServer(pattern, slugOf(server))
    })
  const rules = named.map(({ rule }) => `allow ${rule}`).join(', ')
  return rules === '' ? '' : `; your rules for your own server of this name do not cover it: ${rules}`
}
