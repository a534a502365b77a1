// Every rule with its id, which never changes, its level and one sentence. docs/guides/doctor-ci.md explains each.
import type { LintLevel } from '../mcp/index.ts'

/** A rule as shown to the user. */
export type LintRule = {
  readonly level: Exclude<LintLevel, 'off'>
  /** What is wrong, as a short title. */
  readonly title: string
  /** What to do. */
  readonly remedy: string
}

/** All rules by id. */
export const lintRules = {
  'server-failed': {
    level: 'error',
    title: 'The server could not be listed',
    remedy: 'Start it by hand and read what it prints; toolshelf doctor shows its last lines.',
  },
  configuration: {
    level: 'error',
    title: 'The configuration has a mistake',
    remedy: 'Correct the named key; docs/toolshelf.schema.json describes all of them.',
  },
  'description-missing': {
    level: 'error',
    title: 'A tool has no description',
    remedy:
      'Say in a sentence what it does and when to use it: searches rank by it, and models choose by it.',
  },
  'description-one-word': {
    level: 'warning',
    title: 'A description says no more than the name',
    remedy: 'Say what it does, to what, and what it returns.',
  },
  'description-no-verb': {
    level: 'warning',
    title: 'Neither name nor description says what the tool does',
    remedy: 'Begin the description with a verb: "Lists …", "Creates …".',
  },
  'description-too-long': {
    level: 'warning',
    title: 'A description is longer than models read',
    remedy: 'Move examples and rare cases out of it; what comes after the limit is cut off.',
  },
  'parameter-undescribed': {
    level: 'warning',
    title: 'Parameters have no description',
    remedy: 'Describe each parameter: its meaning, its format, an example.',
  },
  'not-found-by-name': {
    level: 'warning',
    title: 'A search with the words of its name does not find the tool',
    remedy: 'Give it a name of words that only it has, or a hint in the configuration.',
  },
  'not-found-by-description': {
    level: 'warning',
    title: 'A search with its own description does not find the tool',
    remedy: 'Say in its first sentence what sets it apart from the tools that are found instead.',
  },
  twins: {
    level: 'error',
    title: 'Tools cannot be told apart',
    remedy: 'Give each a description of its own, or remove all but one.',
  },
  'budget-tokens': {
    level: 'error',
    title: 'The definitions of a server exceed its budget of tokens',
    remedy: 'Shorten its largest definitions, hide tools with "deny", or raise the budget.',
  },
  'budget-tools': {
    level: 'error',
    title: 'A server has more tools than its budget',
    remedy: 'Hide tools with "allow" or "deny", or raise the budget.',
  },
  'suspicious-text': {
    level: 'error',
    title: 'A text looks like instructions to the model, or hides something',
    remedy: 'Remove it, or do not use the server.',
  },
  'steering-text': {
    level: 'warning',
    title: 'A text steers the model mildly, as some honest servers do',
    remedy: 'Describe the tool instead of telling the model to prefer it.',
  },
  'changed-since-pinned': {
    level: 'error',
    title: 'A tool changed since it was pinned',
    remedy: 'Look at the change with toolshelf pins, then accept it or remove the server.',
  },
} as const satisfies { readonly [id: string]: LintRule }

/** The id of a rule. */
export type RuleId = keyof typeof lintRules

/** The ids of all rules. */
export const ruleIds = Object.keys(lintRules) as readonly RuleId[]

/** Returns the URL of a rule's explanation. */
export function ruleUrl(id: RuleId): string {
  return `https://github.com/toolshelf/toolshelf/blob/main/docs/guides/doctor-ci.md#${id}`
}
