// Determines which configuration files the inspector may change.
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { configPlaces, type LocalMachine, userConfigFiles } from '../../mcp/config/index.ts'

/**
 * Returns the files that hints may be saved in: the user's own, or those of `--config`, but no file of another
 * program.
 */
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
