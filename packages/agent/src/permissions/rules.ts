// Parses permission rules such as `Bash(git status*)`, `Read(~/notes/**)`, `mcp__github__get_*` and `Edit`.
// Implements H3, H7.
import {
  closestNames,
  errorMessage,
  MCP_PREFIX,
  matchesAny,
  matchesServer,
  readServerPattern,
  readToolPattern,
  type ToolPattern,
} from '@toolshelf/core/internal'

/** What a rule does with a call that it matches. */
export type RuleEffect = 'allow' | 'ask' | 'deny'

/**
 * Where a rule applies, and who made it: the user for this session, for this working folder or everywhere, or the folder
 * itself, in a file of its own.
 */
export type RuleScope = 'session' | 'project' | 'user' | 'folder'

/** A rule, and what it does. Deny overrides ask, ask overrides allow, whatever their scopes. */
export type PermissionRule = {
  /** Whether matching calls run, need an answer, or never run. */
  readonly effect: RuleEffect
  /**
   * A tool's name, in which `*` matches anything: `<server>__<tool>`, with or without `mcp__`, or one of the agent's own, for
   * some with a pattern in parentheses. `*` alone is every tool. What allows tools of servers is about the user's own servers;
   * with `folder:` in front, and in the scope `folder`, about those that came with the working folder. `readonly:<server>`
   * allows what a server of the user says only reads.
   */
  readonly rule: string
  /** Where the rule applies; `session` is not stored. */
  readonly scope: RuleScope
}

/** A rule, split into its tool and its pattern. */
export type ParsedRule = PermissionRule & {
  /** What it says in front of the parentheses. */
  readonly tool: string
  /** The tools of servers that it names; undefined if it names none. */
  readonly tools: ToolPattern | undefined
  /** These are tools of the folder's servers, not of the user's own. */
  readonly isOfFolder: boolean
  /** The text in the parentheses. */
  readonly pattern: string | undefined
}

/** The tools of an agent that have no server. */
export const OWN_TOOLS: readonly string[] = [
  ...['Bash', 'Read', 'Glob', 'Grep', 'Edit', 'Write', 'Move', 'Remove', 'Fetch', 'Agent', 'Skill'],
  ...['DiscoverSkills', 'CallTools', 'RunScript', 'ReadResult', 'ToolSearch'],
]

/** Tools whose rules may have a pattern, and what the pattern is matched against. */
const PATTERN_OF: { readonly [tool: string]: 'command' | 'path' | 'url' } = {
  Bash: 'command',
  Read: 'path',
  Glob: 'path',
  Grep: 'path',
  Edit: 'path',
  Write: 'path',
  Move: 'path',
  Remove: 'path',
  Fetch: 'url',
}

const MAX_RULE_LENGTH = 1000

/** Begins the rules about what servers say of their own tools. */
export const READ_ONLY = 'readonly:'

/** Returns whether the rules trust a server to say which of its tools only read. */
export function trustsAnnotations(rules: readonly PermissionRule[], server: string): boolean {
  return rules.some(
    ({ rule }) => rule.startsWith(READ_ONLY) && matchesServer(rule.slice(READ_ONLY.length), server),
  )
}

/**
 * Parses a rule. Throws an error that says what is wrong with it.
 *
 * @param ownTools - The names of the tools that have no server.
 */
export function parseRule(source: PermissionRule, ownTools: Iterable<string> = OWN_TOOLS): ParsedRule {
  const rule = source.rule.trim()
  if (rule === '') throw new Error('the rule is empty; write a tool such as Bash, or Bash(git status*)')
  if (rule.length > MAX_RULE_LENGTH)
    throw new Error(`the rule ${short(rule)} has more than ${MAX_RULE_LENGTH} characters`)
  if (rule.startsWith(READ_ONLY)) {
    if (source.effect !== 'allow' || rule === READ_ONLY)
      throw new Error(
        `the rule ${short(rule)} can only allow, and names a server, such as ${READ_ONLY}github`,
      )
    read(readServerPattern, rule.slice(READ_ONLY.length))
    return { ...source, rule, tool: rule, tools: undefined, isOfFolder: false, pattern: undefined }
  }
  const [, tool = '', pattern] = /^([^()\s]+)(?:\((.*)\))?$/s.exec(rule) ?? []
  if (tool === '')
    throw new Error(
      `the rule ${short(rule)} is not a tool, or a tool with a pattern such as Bash(git status*)`,
    )
  const isOfFolder = source.scope === 'folder' || tool.startsWith(OF_FOLDER)
  if (pattern === undefined)
    return { ...source, rule, tool, tools: toolsIn(source, tool, [...ownTools]), isOfFolder, pattern }
  const kind = Object.hasOwn(PATTERN_OF, tool) ? PATTERN_OF[tool] : undefined
  if (kind === undefined)
    throw new Error(
      `the rule ${short(rule)} has a pattern, but only ${Object.keys(PATTERN_OF).join(', ')} take one`,
    )
  if (pattern.trim() === '')
    throw new Error(`the rule ${short(rule)} has an empty pattern; write ${tool} alone`)
  if (kind === 'url' && source.effect === 'allow' && !/^https?:\/\/[^/*]+\//.test(pattern))
    throw new Error(`the rule ${short(rule)} must name a whole host, such as Fetch(https://example.com/*)`)
  return { ...source, rule, tool, tools: undefined, isOfFolder, pattern }
}

/** What stands in front of tools of servers that came with the working folder. */
export const OF_FOLDER = 'folder:'

/** Returns the tools of servers that a rule names; undefined if it names own tools. Throws if it names neither. */
function toolsIn(
  { effect, scope }: PermissionRule,
  rule: string,
  ownTools: readonly string[],
): ToolPattern | undefined {
  if (rule.startsWith(OF_FOLDER) && scope === 'user')
    throw new Error(`the rule ${short(rule)} is about servers of one folder; make it a rule for that folder`)
  if (rule.startsWith(OF_FOLDER)) return read(readToolPattern, rule.slice(OF_FOLDER.length))
  const fold = (text: string) => (effect === 'allow' ? text : text.toLowerCase())
  // A pattern such as `*edit*` could mean the own tool Edit, or tools of servers.
  const isClear = !rule.includes('*') || !MCP_PREFIX.startsWith(rule.toLowerCase().split('*')[0] ?? '')
  if (isClear && ownTools.some((name) => matchesAny([fold(rule)], fold(name)))) return undefined
  const [near] = closestNames(rule, ownTools, 1)
  return read(readToolPattern, rule, near && `; the nearest tool of the agent's own is ${near}`)
}

function read<Pattern>(reader: (text: string) => Pattern, text: string, hint = ''): Pattern {
  try {
    return reader(text)
  } catch (error) {
    throw new Error(`the rule ${errorMessage(error)}${hint}`)
  }
}

function short(rule: string): string {
  return JSON.stringify(rule.length > 80 ? `${rule.slice(0, 79)}…` : rule)
}
