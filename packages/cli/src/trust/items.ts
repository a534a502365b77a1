// Lists what a folder's files would make Toolshelf run, send or tell the model: the folder's own text, in full and
// unexpanded, for the user who decides about it.
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import type { PermissionRule } from '@toolshelf/agent'
import { isWithin, parseRule, READ_ONLY, readSkillText, type SkillFile } from '@toolshelf/agent/internal'
import { matchesServer, slugOf } from '@toolshelf/core/internal'
import {
  describeTransport,
  type FileEntries,
  keepReferences,
  type LocalMachine,
  readServer,
} from '@toolshelf/mcp/internal'

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
