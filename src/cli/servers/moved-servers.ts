// Says where the servers of a client's file are, after "toolshelf import --apply" moved them behind the gateway.
import {
  keepReferences,
  type Machine,
  ownConfigFile,
  ownEntry,
  readEntries,
  readServer,
} from '../../mcp/config/index.ts'
import type { ConfigProblem } from '../../mcp/index.ts'

/** For problems of files that were named by `--config`; undefined if none of them starts Toolshelf. */
export async function movedServersAdvice(
  problems: readonly ConfigProblem[],
  machine: Machine,
): Promise<string | undefined> {
  const file = problems.find(({ message }) => message === ownEntry)?.file
  if (file === undefined) return undefined
  const own = ownConfigFile(machine)
  const target = (await gatewayFileOf(file, machine)) ?? own
  const remedy = target === own ? 'Leave out --config.' : `Pass --config ${target} instead.`
  return `${file} starts Toolshelf; its servers are in ${target}. ${remedy}`
}

/** The file that the gateway's entry names. */
async function gatewayFileOf(file: string, machine: Machine): Promise<string | undefined> {
  const { entries } = await readEntries(file, machine)
  const entry = entries.find((one) =>
    readServer(one, file, machine, keepReferences).problems.includes(ownEntry),
  )
  const args = Array.isArray(entry?.fields.args) ? entry.fields.args.map(String) : []
  const at = args.indexOf('--config')
  return at >= 0 ? args[at + 1] : args.find((word) => word.startsWith('--config='))?.slice('--config='.length)
}
