// `/permissions`: shows and changes the rules of this session.
import type { PermissionRule } from '@toolshelf/agent'
import { parseRule, type RuleEffect, type RuleScope } from '@toolshelf/agent/internal'
import type { AgentSession } from '../session.ts'
import { type OutputLine, withLabel } from './output-line.ts'

const USAGE =
  'To change: /permissions allow Bash(git status*) · deny Read(.env) · ask mcp__github__* · remove <rule>; add "project" or "user" in front of the rule to save it.'
const EFFECTS: readonly RuleEffect[] = ['allow', 'ask', 'deny']
const SCOPES: readonly RuleScope[] = ['session', 'project', 'user']
const WHERE = {
  session: 'in this session',
  project: 'in this folder',
  user: 'everywhere',
  folder: 'from a file of this folder',
}

/** Runs the command and returns its output. */
export async function permissionLines(words: string, { permissions }: AgentSession): Promise<OutputLine[]> {
  const [, verb = '', rest = ''] = /^(\S*)\s*(.*)$/s.exec(words) ?? []
  if (verb === '') return shown(permissions.rules())
  const effect = EFFECTS.find((one) => one === verb)
  if (effect && rest !== '') {
    const wanted = ruleIn(effect, rest)
    await permissions.keep(wanted)
    return [`${wanted.effect} ${wanted.rule} holds ${WHERE[wanted.scope]}.`]
  }
  return verb === 'remove' && rest !== '' ? removed(rest.trim(), permissions) : [USAGE]
}

function shown(rules: readonly PermissionRule[]): OutputLine[] {
  const lines = rules.map(({ effect, rule, scope }) => withLabel(effect, `${rule}  (${WHERE[scope]})`, 6))
  const none = 'No rules: reading inside the working folder runs, everything else asks.'
  return [...(lines.length === 0 ? [none] : lines), USAGE]
}

/** Throws an error that says what is wrong with the rule. */
function ruleIn(effect: RuleEffect, words: string): PermissionRule {
  const [, first = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(words) ?? []
  const scope = SCOPES.find((one) => one === first)
  const newRule: PermissionRule = { effect, rule: scope ? rest : words, scope: scope ?? 'session' }
  return { ...newRule, rule: parseRule(newRule).rule }
}

async function removed(rule: string, { forget }: AgentSession['permissions']): Promise<OutputLine[]> {
  const gone: string[] = []
  for (const effect of EFFECTS)
    for (const scope of [...SCOPES, 'folder'] as const)
      if (await forget({ effect, rule, scope })) gone.push(`${effect} ${rule} ${WHERE[scope]}`)
  if (gone.length === 0) return [`No such rule: ${rule}. /permissions lists all rules.`]
  return gone.map((one) => `Removed: ${one}.`)
}
