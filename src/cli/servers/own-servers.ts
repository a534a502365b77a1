// Edits the servers of our own configuration file, for `toolshelf add` and `toolshelf remove`.
import { mkdir, realpath } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type LocalMachine, ownConfigFile, writePrivately } from '../../mcp/config/index.ts'
import { lockFile } from '../../node/index.ts'
import { CommandError, type Input, type Option } from '../command.ts'
import { type ImportTarget, mendable, readTarget } from '../import/index.ts'

/** The option that names another file than the user's own. */
export const fileOption: { readonly config: Option } = {
  config: {
    type: 'string',
    value: 'file',
    about: 'your configuration (default: ~/.config/toolshelf/toolshelf.json)',
  },
}

/** Returns the file to edit. */
export function fileIn(input: Input, machine: LocalMachine): string {
  return resolve(machine.folder, input.text('config') ?? ownConfigFile(machine))
}

/** A lock that is older belongs to a process that was killed. */
const MAX_HOLD_MS = 10_000

/**
 * Replaces the text of a file by what `change` makes of it, one process at a time. `change` throws a `CommandError` to
 * leave it as it is.
 */
export async function editFile(file: string, change: (target: ImportTarget) => string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const real = await realpath(file).catch(() => file)
    const release = await lockFile(`${real}.lock`, MAX_HOLD_MS)
    try {
      const target = await readTarget(file, '--config')
      const changed = mendable(file, () => change(target), '--config')
      await writePrivately(file, changed)
    } finally {
      await release()
    }
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? error}).`)
  }
}
