// `toolshelf trust --rules`: prints which calls of the agent run without asking, and which are denied.
import { resolve } from 'node:path'
import type { PermissionRule } from '@toolshelf/agent'
import { toJson } from '@toolshelf/core/internal'
import type { LocalMachine } from '@toolshelf/mcp/internal'
import { CommandError, type ExitCode, type Input, type Terminal } from './command.ts'
import { printable } from './terminal/pen.ts'
import { isTrusted } from './trust/open.ts'
import { readProject } from './trust/project.ts'
import type { TrustStore } from './trust/store.ts'
import { openUserRules, PROJECT_RULES } from './user-files/permission-file.ts'

type ListedRule = PermissionRule & {
  readonly source: string
  /** False for an allow rule of the folder's own file while the folder is not trusted. */
  readonly counts: boolean
}

/** Prints the user's rules, and those of the folder. */
export async function printRules({
  input,
  terminal,
  machine,
  store,
}: {
  readonly input: Input
  readonly terminal: Terminal
  readonly machine: LocalMachine
  readonly store: TrustStore
}): Promise<ExitCode> {
  const project = await readProject(machine)
  const isKnown = await isTrusted(project, store)
  const rules = openUserRules(machine)
  const own = await rules.read().catch((error: Error) => {
    throw new CommandError(error.message)
  })
  const all: ListedRule[] = [
    ...own.map((rule) => ({ ...rule, source: rules.file, counts: true })),
    ...project.rules.map((rule) => ({
      ...rule,
      source: resolve(machine.folder, PROJECT_RULES),
      counts: rule.effect !== 'allow' || isKnown,
    })),
  ]
  if (input.isSet('json')) terminal.print(toJson({ rules: all }))
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
