// Opens a folder's files for every command that would act on them: reads them once, and uses them only if the user
// trusts them.
// Implements H7.
import { join, resolve } from 'node:path'
import { type LocalMachine, thisMachine } from '@toolshelf/mcp/internal'
import { directoryIn, filesIn, type Input, type Option, type Terminal } from '../command.ts'
import { dataFolder } from '../user-files/session-files.ts'
import { decideTrust } from './decide.ts'
import { type Project, type ProjectParts, readProject, troublesOf } from './project.ts'
import type { ScreenSize } from './question.ts'
import { openTrustStore, type TrustStore } from './store.ts'

/** The option of commands that use a folder's files. */
export const trustOption: Option = {
  type: 'boolean',
  about: 'use this folder’s servers, skills and rules in this run without asking',
}

type OpenProjectOptions = ProjectParts & {
  readonly isTrusting: boolean
  readonly terminal: Terminal
  readonly notify: (message: string) => void
}

/** Opens the project in `machine.folder`, without untrusted parts. */
export async function openProject(machine: LocalMachine, options: OpenProjectOptions): Promise<Project> {
  const { terminal, notify, isTrusting, ...parts } = options
  const project = await readProject(machine, parts)
  for (const trouble of troublesOf(project)) notify(trouble)
  return decideTrust(project, {
    store: trustStore(machine, notify),
    isTrusting,
    ask: terminal.ask,
    show: terminal.report,
    screen: screenSize(),
    notify,
  })
}

/** Returns what fits on the terminal that the question is shown on. */
export function screenSize({ rows, columns }: Partial<ScreenSize> = process.stderr): ScreenSize {
  return { rows: rows || Number.POSITIVE_INFINITY, columns: columns || Number.POSITIVE_INFINITY }
}

/** Opens the project of an agent's session. `--config` replaces its servers. */
export function projectOf(
  input: Input,
  terminal: Terminal,
  notify: (message: string) => void,
): Promise<Project> {
  const machine = machineAt(directoryIn(input))
  const isTrusting = input.isSet('trust-project')
  return openProject(machine, { ...(filesIn(input) ? { configs: [] } : {}), isTrusting, terminal, notify })
}

/** Returns this machine, with the agent's working folder. */
export function machineAt(directory: string): LocalMachine {
  return { ...thisMachine(), folder: resolve(directory) }
}

/** Opens the store of trust decisions, next to the sessions. */
export function trustStore(machine: LocalMachine, notify: (message: string) => void): TrustStore {
  return openTrustStore(join(dataFolder(machine.environment, machine.home), 'trust'), notify)
}
