// Which configuration files the inspector may change.
import { resolve } from 'node:path'
import { configPlaces, type Machine, userConfigFiles } from '../mcp/config/index.ts'

/** The files that hints may be saved in: the user's own, or those of `--config`, but no file of another program. */
export function editableFiles(named: readonly string[] | undefined, machine: Machine): string[] {
  const ofClients = new Set(configPlaces(machine).map(({ file }) => file))
  const files = named?.map((file) => resolve(machine.folder, file)) ?? userConfigFiles(machine)
  return files.filter((file) => !ofClients.has(file))
}
