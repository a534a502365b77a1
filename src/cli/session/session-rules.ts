// Combines the permission rules of an agent's session: from the command line, the folder and the user's own file.
import {
  createPermissions,
  type PermissionQuestion,
  type PermissionRule,
  type Permissions,
  type PermissionsOptions,
  type RuleEffect,
} from '../../agent/index.ts'
import { parseRule, READ_ONLY } from '../../agent/permissions/index.ts'
import type { Shelf } from '../../core/index.ts'
import { MCP_PREFIX, matchesAny, matchesServer, matchesTool, splitToolName } from '../../lib/index.ts'
import type { LocalMachine } from '../../mcp/config/index.ts'
import type { McpHost } from '../../mcp/index.ts'
import { CommandError, didYouMean, type Input, type Option, UsageError } from '../command.ts'
import type { Project } from '../trust/index.ts'
import { openUserRules } from '../user-files/index.ts'

/** Options of commands with an agent. */
export const ruleOptions: { readonly [name: string]: Option } = {
  allow: {
    type: 'string',
    value: 'rule',
    isMultiple: true,
    about: 'what may run without asking: Bash(git status*), mcp__github__*; * matches anything',
  },
  deny: {
    type: 'string',
    value: 'rule',
    isMultiple: true,
    about: 'what may not run, whatever else allows it; same form as --allow',
  },
}

/** The permissions of a session, with changes that are stored beyond it. */
export type SessionPermissions = Permissions & {
  /** Adds a rule; a rule with a scope beyond the session is stored on disk. */
  readonly keep: (rule: PermissionRule) => Promise<void>
  /** Removes a rule, on disk too. Returns false if there is no such rule. */
  readonly forget: (rule: PermissionRule) => Promise<boolean>
}

/** Returns the rules of `--allow` and `--deny`. */
export function rulesFromFlags(input: Input): PermissionRule[] {
  const rulesOf = (effect: RuleEffect) =>
    input.texts(effect).map((rule) => ({ effect, rule, scope: 'session' }) as const)
  const rules = [...rulesOf('allow'), ...rulesOf('deny')]
  for (const rule of rules) {
    try {
      parseRule(rule)
    } catch (error) {
      throw new UsageError(`--${rule.effect}: ${(error as Error).message}.`)
    }
  }
  return rules
}

/** Options of `openPermissions`. */
export type OpenPermissionsOptions = Pick<PermissionsOptions, 'ask' | 'refusal'> & {
  /** `folder` is the agent's working folder. */
  readonly machine: LocalMachine
  readonly project: Project
  /** The rules of `--allow` and `--deny`. */
  readonly fromFlags: readonly PermissionRule[]
}

/**
 * Opens the permissions. Rejects if the user's own rules cannot be read, because there may be a deny rule among them.
 */
export async function openPermissions(options: OpenPermissionsOptions): Promise<SessionPermissions> {
  const { machine, project, fromFlags, ask, refusal } = options
  const own = openUserRules(machine)
  const kept = await own.read().catch((error: Error) => {
    throw new CommandError(error.message)
  })
  const permissions = createPermissions({
    directory: machine.folder,
    home: machine.home,
    rules: [...fromFlags, ...project.rules, ...kept],
    save: own.add,
    ...(ask ? { ask } : {}),
    ...(refusal ? { refusal } : {}),
  })
  return {
    ...permissions,
    async keep(rule) {
      permissions.add(rule)
      if (isStored(rule)) await own.add([rule])
    },
    async forget(rule) {
      const wasKept = isStored(rule) && (await own.remove(rule))
      return permissions.remove(rule) || wasKept
    },
  }
}

/** Whether a rule belongs to the user's own file. */
const isStored = ({ scope }: PermissionRule) => scope === 'project' || scope === 'user'

/**
 * Returns the refusal for sessions in which nobody can be asked; reports once per tool which rule would have allowed
 * it.
 */
export function refuseUnasked(notify: (message: string) => void): (question: PermissionQuestion) => string {
  const refused = new Set<string>()
  return ({ call: { name }, suggested }) => {
    const rules = suggested.length > 0 ? suggested : [name]
    const option = rules.map((rule) => `--allow ${quoted(rule)}`).join(' ')
    if (!refused.has(name)) notify(`${name} was not run, because no rule allows it: ${option}`)
    refused.add(name)
    return `${name} was not run: this session has no rule that allows it, and nobody to ask. The user has been told which rule would.`
  }
}

/** Quoted for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/**
 * Describes the rules that match no tool, one sentence each. Rules for servers that are not connected are skipped:
 * their tools are unknown.
 */
export function idlePermissionRules(
  rules: readonly PermissionRule[],
  { shelf, host }: { readonly shelf: Shelf; readonly host: McpHost },
): string[] {
  const names = shelf.tools().map(({ name }) => name)
  const servers = host.status().map(({ name, state, tools }) => ({
    name,
    isKnown: state === 'connected' || tools.length > 0,
  }))
  const isIdle = ({ tool, tools }: ReturnType<typeof parseRule>) => {
    if (names.some((name) => matchesAny([tool], name))) return false
    if (!tools) return true
    const parts = names.flatMap((name) => splitToolName(name) ?? [])
    const isExpected = servers.some(({ name, isKnown }) => !isKnown && matchesServer(tools.server, name))
    return !isExpected && !parts.some((name) => matchesTool(tools, name))
  }
  return rules.flatMap((one) => {
    const parsed = parseRule(one)
    if (parsed.rule.startsWith(READ_ONLY) || !isIdle(parsed)) return []
    const { effect, rule, tool } = parsed
    const others = tool.includes('*') ? servers.map(({ name }) => `${MCP_PREFIX}${name}__*`) : []
    return [
      `--${effect} "${rule}" matches none of the tools${didYouMean(tool, [...others, ...names]) || '.'}`,
    ]
  })
}
