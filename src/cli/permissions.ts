// `toolshelf permissions`: shows and changes which calls of the agent run without asking, and which are denied.
import { resolve } from 'node:path'
import type { PermissionRule, RuleEffect, RuleScope } from '../agent/index.ts'
import { parseRule } from '../agent/permissions/index.ts'
import { type LocalMachine, thisMachine } from '../mcp/config/index.ts'
import { printable } from '../terminal/index.ts'
import {
  type Command,
  CommandError,
  type ExitCode,
  type Input,
  type Terminal,
  UsageError,
} from './command.ts'
import { isTrusted, readProject, trustStore } from './trust/index.ts'
import { openUserRules, PROJECT_RULES, type UserRules } from './user-files/index.ts'

const EFFECTS = ['allow', 'ask', 'deny'] as const

export const permissionsCommand: Command = createPermissionsCommand(thisMachine)

function createPermissionsCommand(machine: () => LocalMachine): Command {
  return {
    name: 'permissions',
    summary: 'Rules for what the agent may run without asking, and what it may never run.',
    words: '[allow|ask|deny|remove "<rule>"] [--here]',
    options: {
      here: { type: 'boolean', about: 'make a rule for this folder only (default: everywhere)' },
      directory: { type: 'string', value: 'folder', about: 'folder (default: the current one)' },
      json: { type: 'boolean', about: 'print {"rules": [{"effect", "rule", "scope", "source", "counts"}]}' },
    },
    examples: [
      'toolshelf permissions',
      'toolshelf permissions allow "Bash(git status*)"',
      'toolshelf permissions deny "Read(.env)"',
      'toolshelf permissions allow "Edit(src/**)" --here',
      'toolshelf permissions remove "Bash(git status*)"',
    ],
    async run(input, terminal) {
      const here = machine()
      const place = { ...here, folder: resolve(here.folder, input.text('directory') ?? '.') }
      const [verb = 'list', ...words] = input.words
      const call: Call = { input, terminal, machine: place, rules: openUserRules(place) }
      if (verb === 'list' && words.length === 0) return list(call)
      const effect = EFFECTS.find((one) => one === verb)
      const rule = words.join(' ').trim()
      if (rule === '' || (!effect && verb !== 'remove'))
        throw new UsageError(
          'unknown arguments; use allow, ask, deny or remove with a rule, or no argument to list the rules.',
        )
      return effect ? add(call, effect, rule) : remove(call, rule)
    },
  }
}

type Call = {
  readonly input: Input
  readonly terminal: Terminal
  readonly machine: LocalMachine
  readonly rules: UserRules
}

type ListedRule = PermissionRule & {
  readonly source: string
  /** False for an allow rule of the folder's own file while the folder is not trusted. */
  readonly counts: boolean
}

async function list({ input, terminal, machine, rules }: Call): Promise<ExitCode> {
  const notify = (message: string) => terminal.report(printable(`toolshelf permissions: ${message}`))
  const project = await readProject(machine)
  const isKnown = await isTrusted(project, trustStore(machine, notify))
  const own = await rules.read().catch(asCommandError)
  const all: ListedRule[] = [
    ...own.map((rule) => ({ ...rule, source: rules.file, counts: true })),
    ...project.rules.map((rule) => ({
      ...rule,
      source: resolve(machine.folder, PROJECT_RULES),
      counts: rule.effect !== 'allow' || isKnown,
    })),
  ]
  if (input.isSet('json')) terminal.print(JSON.stringify({ rules: all }))
  else if (all.length === 0)
    terminal.print('No rules: reading inside the working folder runs, everything else asks.')
  else for (const line of ruleLines(all)) terminal.print(printable(line))
  return 0
}

function ruleLines(rules: readonly ListedRule[]): string[] {
  const where = {
    session: 'this session',
    project: 'this folder',
    user: 'everywhere',
    folder: 'of this folder',
  }
  return rules.map(
    ({ effect, rule, scope, source, counts }) =>
      `${effect.padEnd(5)}  ${rule}  (${where[scope]}, ${source}${counts ? '' : '; applies once you trust the folder'})`,
  )
}

async function add(call: Call, effect: RuleEffect, rule: string): Promise<ExitCode> {
  const scope: RuleScope = call.input.isSet('here') ? 'project' : 'user'
  const wanted = checked({ effect, rule, scope })
  await call.rules.read().catch(asCommandError)
  await call.rules.add([wanted]).catch(asCommandError)
  call.terminal.print(printable(`Saved in ${call.rules.file}: ${effect} ${wanted.rule}`))
  return 0
}

async function remove({ input, terminal, rules }: Call, rule: string): Promise<ExitCode> {
  const scope: RuleScope = input.isSet('here') ? 'project' : 'user'
  const removed: string[] = []
  for (const effect of EFFECTS)
    if (await rules.remove({ effect, rule, scope }).catch(asCommandError)) removed.push(effect)
  if (removed.length === 0) {
    const other = scope === 'user' ? ' for everywhere; add --here for one of this folder' : ' for this folder'
    throw new CommandError(`no such rule: "${rule}"${other}. "toolshelf permissions" lists them.`)
  }
  terminal.print(printable(`Removed: ${removed.map((effect) => `${effect} ${rule}`).join(', ')}`))
  return 0
}

function checked(rule: PermissionRule): PermissionRule {
  try {
    return { ...rule, rule: parseRule(rule).rule }
  } catch (error) {
    throw new UsageError(`${(error as Error).message}.`)
  }
}

function asCommandError(error: Error): never {
  throw new CommandError(error.message)
}
