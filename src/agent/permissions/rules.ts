// Parses permission rules such as `Bash(git status*)`, `Read(~/notes/**)`, `mcp__github__get_*` and `Edit`.

import { matchesAny } from '../../lib/index.ts'

/** What a rule does with a call that it matches. */
export type RuleEffect = 'allow' | 'ask' | 'deny'

/** Where a rule applies: in this session, in this working folder, or for this user everywhere. */
export type RuleScope = 'session' | 'project' | 'user'

/** A rule, and what it does. Deny overrides ask, ask overrides allow, whatever their scopes. */
export type PermissionRule = {
  /** Whether matching calls run, need an answer, or never run. */
  readonly effect: RuleEffect
  /**
   * A tool's name, in which `*` matches anything; for some tools, with a pattern in parentheses. `readonly:<server>` allows
   * what a server of the user says only reads.
   */
  readonly rule: string
  /** Where the rule applies; `session` is not stored. */
  readonly scope: RuleScope
}

/** A rule, split into its tool and its pattern. */
export type ParsedRule = PermissionRule & {
  readonly tool: string
  /** The text in the parentheses. */
  readonly pattern: string | undefined
}

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
  const patterns = rules.flatMap(({ rule }) =>
    rule.startsWith(READ_ONLY) ? [rule.slice(READ_ONLY.length)] : [],
  )
  return matchesAny(patterns, server)
}

/** Parses a rule. Throws an error that says what is wrong with it. */
export function parseRule(source: PermissionRule): ParsedRule {
  const rule = source.rule.trim()
  if (rule === '') throw new Error('the rule is empty; write a tool such as Bash, or Bash(git status*)')
  if (rule.length > MAX_RULE_LENGTH)
    throw new Error(`the rule ${short(rule)} has more than ${MAX_RULE_LENGTH} characters`)
  if (rule.startsWith(READ_ONLY)) {
    if (source.effect === 'allow' && rule !== READ_ONLY)
      return { ...source, rule, tool: rule, pattern: undefined }
    throw new Error(`the rule ${short(rule)} can only allow, and names a server, such as ${READ_ONLY}github`)
  }
  const [, tool = '', pattern] = /^([^()\s]+)(?:\((.*)\))?$/s.exec(rule) ?? []
  if (tool === '')
    throw new Error(
      `the rule ${short(rule)} is not a tool, or a tool with a pattern such as Bash(git status*)`,
    )
  if (pattern === undefined) return { ...source, rule, tool, pattern }
  const kind = Object.hasOwn(PATTERN_OF, tool) ? PATTERN_OF[tool] : undefined
  if (kind === undefined)
    throw new Error(
      `the rule ${short(rule)} has a pattern, but only ${Object.keys(PATTERN_OF).join(', ')} take one`,
    )
  if (pattern.trim() === '')
    throw new Error(`the rule ${short(rule)} has an empty pattern; write ${tool} alone`)
  if (kind === 'url' && source.effect === 'allow' && !/^https?:\/\/[^/*]+\//.test(pattern))
    throw new Error(`the rule ${short(rule)} must name a whole host, such as Fetch(https://example.com/*)`)
  return { ...source, rule, tool, pattern }
}

function short(rule: string): string {
  return JSON.stringify(rule.length > 80 ? `${rule.slice(0, 79)}…` : rule)
}
