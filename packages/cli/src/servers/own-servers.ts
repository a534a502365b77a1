// The configuration files that commands and the inspector may edit.
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { JsonFile } from '@toolshelf/core/internal/node'
import { userConfigFiles } from '@toolshelf/mcp'
import { configPlaces, type LocalMachine, ownConfigFile } from '@toolshelf/mcp/internal'
import { CommandError, type Input, type Option } from '../command.ts'
import { type ConnectTarget, mendable, readTarget } from '../connect/prints/plan.ts'

/** The option that names another file than the user's own. */
export const fileOption: { readonly config: Option } = {
  config: { value: 'file', about: 'your configuration (default: ~/.config/toolshelf/toolshelf.json)' },
}

export function fileIn(input: Input, machine: LocalMachine): string {
  return resolve(machine.folder, input.text('config') ?? ownConfigFile(machine))
}

/**
 * Replaces the text of a file by what `change` makes of it, one process at a time. `change` throws a `CommandError` to
 * leave it as it is.
 */
export async function editFile(file: string, change: (target: ConnectTarget) => string): Promise<void> {
  try {
    const stored = new JsonFile(file)
    await stored.alone(async () => {
      const target = await readTarget(file, '--config')
      await stored.write(mendable(file, () => change(target), '--config'))
    })
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? error}).`)
  }
}

/** Returns the files that hints may be saved in: the user's own, or those of `--config`, but no file of another program. */
export function editableFiles(named: readonly string[] | undefined, machine: LocalMachine): string[] {
  const ofClients = new Set(configPlaces(machine).map(({ file }) => targetOf(file)))
  const files = named?.map((file) => resolve(machine.folder, file)) ?? userConfigFiles(machine)
  return files.filter((file) => !ofClients.has(targetOf(file)))
}

/** Where a link leads to; the path itself for a file that does not exist. */
function targetOf(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
