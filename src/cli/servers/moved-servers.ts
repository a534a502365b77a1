// Finds out which clients start Toolshelf, after "toolshelf connect --apply" moved their servers behind the gateway.
import {
  configPlaces,
  existingFiles,
  keepReferences,
  type LocalMachine,
  ownConfigFile,
  readEntries,
  readServer,
  type ServerEntry,
} from '../../mcp/config/index.ts'
import type { ConfigProblem } from '../../mcp/index.ts'

/** For problems of files that were named by `--config`; undefined if none of them starts Toolshelf. */
export async function movedServersAdvice(
  problems: readonly ConfigProblem[],
  machine: LocalMachine,
): Promise<string | undefined> {
  const file = problems.find(({ kind }) => kind === 'own-entry')?.file
  if (file === undefined) return undefined
  const own = ownConfigFile(machine)
  const entry = await gatewayEntryIn(file, machine)
  const target = (entry && configNamedBy(entry)) ?? own
  const remedy = target === own ? 'Leave out --config.' : `Pass --config ${target} instead.`
  return `${file} starts Toolshelf; its servers are in ${target}. ${remedy}`
}

/** Returns the user's clients whose own configuration starts Toolshelf with the servers of `file`. */
export async function clientsStarting(file: string, machine: LocalMachine): Promise<string[]> {
  const places = configPlaces(machine).filter(({ isProject }) => !isProject)
  const existing = await existingFiles(places.map((place) => place.file))
  const clients = new Set<string>()
  for (const place of places.filter((one) => existing.includes(one.file))) {
    const entry = await gatewayEntryIn(place.file, machine)
    if (entry && (configNamedBy(entry) ?? ownConfigFile(machine)) === file) clients.add(place.client)
  }
  return [...clients]
}

/** Returns the entry that starts Toolshelf. */
async function gatewayEntryIn(file: string, machine: LocalMachine): Promise<ServerEntry | undefined> {
  const { entries } = await readEntries(file, machine)
  return entries.find((one) => readServer(one, file, machine, keepReferences).isOwnEntry === true)
}

/** Returns the file that the gateway's entry names. */
function configNamedBy({ fields }: ServerEntry): string | undefined {
  const args = Array.isArray(fields.args) ? fields.args.map(String) : []
  const at = args.indexOf('--config')
  return at >= 0 ? args[at + 1] : args.find((word) => word.startsWith('--config='))?.slice('--config='.length)
}
