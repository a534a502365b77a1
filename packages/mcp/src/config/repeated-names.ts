// Finds names that occur twice in one object of a configuration. JSON allows that and the last one counts, so servers are
// lost when a file is merged by hand. In files of other programs only the parts with servers are checked.
import { fieldsOf, isFields } from '@toolshelf/core/internal'
import type { EntryProblem, ServerEntry } from './formats.ts'
import { lineAt, type Parsed } from './json.ts'

/** Keys of a file that contain servers, directly or further inside. */
const SECTIONS: ReadonlySet<string> = new Set([
  'mcpServers',
  'servers',
  'mcp.servers',
  'mcp',
  'mcp_servers',
  'context_servers',
  'projects',
])

/**
 * Returns a problem for each name that occurs more than once.
 *
 * @param isOwn - Whether the file is Toolshelf's own, whose other sections count too.
 */
export function repeatedNames(
  text: string,
  { value: root, spans }: Parsed,
  entries: readonly Pick<ServerEntry, 'name' | 'path'>[],
  isOwn: boolean,
): EntryProblem[] {
  const seen = new Set<unknown>()

  function repeatedIn(value: unknown, isChecked: (name: string) => boolean = () => true): Repeated[] {
    const members = (isFields(value) && !seen.has(value) && spans.get(value)?.members) || []
    seen.add(value)
    const offsets = new Map<string, number[]>()
    for (const { name, start } of members) offsets.set(name, [...(offsets.get(name) ?? []), start])
    return [...offsets]
      .filter(([name, starts]) => starts.length > 1 && isChecked(name))
      .map(([name, starts]) => ({ name, lines: starts.map((start) => lineAt(text, start)) }))
  }

  /** Returns what is repeated in a server, such as in its `env`. */
  const inServer = (server: unknown): Repeated[] => [
    ...repeatedIn(server),
    ...(isFields(server) ? Object.values(server).flatMap((value) => repeatedIn(value)) : []),
  ]

  const problems: EntryProblem[] = repeatedIn(root, (name) => isOwn || SECTIONS.has(name)).map(messageOf)
  for (const { name: server, path } of entries) {
    let value: unknown = root
    for (const [depth, key] of path.entries()) {
      const isHolder = depth === path.length - 1
      problems.push(...repeatedIn(value, (name) => isHolder || name === key).map(messageOf))
      value = isFields(value) ? value[key] : undefined
    }
    problems.push(...inServer(value).map((repeated) => ({ server, ...messageOf(repeated) })))
  }
  // The last one may be without servers, so that no entry leads to it.
  problems.push(...repeatedIn(fieldsOf(root).mcp, (name) => name === 'servers').map(messageOf))
  return problems
}

type Repeated = { readonly name: string; readonly lines: readonly number[] }

function messageOf({ name, lines }: Repeated): { readonly message: string } {
  const places = [...new Set(lines)]
  const where = `${places.length > 1 ? 'lines' : 'line'} ${places.join(' and ')}`
  const count = lines.length === 2 ? 'twice' : `${lines.length} times`
  return {
    message: `"${name}" occurs ${count} (${where}); only the last one counts. Merge them, or rename or remove one.`,
  }
}
