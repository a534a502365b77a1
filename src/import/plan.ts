// Plans an import: the servers of many files under unique names; expands nothing and writes nothing.

import { isDeepStrictEqual } from 'node:util'
import type { Fields } from '../lib/index.ts'
import type { ConfigPlace, LocalMachine } from '../mcp/config/index.ts'
import {
  bindWorkspace,
  type ConfigText,
  definitionOf,
  expand,
  keepReferences,
  mapTexts,
  noServers,
  programOf,
  readEntries,
  readServer,
  type ServerEntry,
  withReferences,
  withWorkspace,
} from '../mcp/config/index.ts'
import type { ConfigProblem, ServerConfig } from '../mcp/index.ts'

/** A server to import, under its new name. */
export type PlannedServer = {
  readonly name: string
  /** The clients that have this server. */
  readonly clients: readonly string[]
  readonly file: string
  /** Every place that it was found in. */
  readonly sources: readonly ServerSource[]
  readonly server: ServerConfig
  /** The entry to write, with environment references unexpanded. */
  readonly fields: Fields
  /** Variables that it needs and that are not set, with VS Code's prompt for each if there is one. */
  readonly unset: readonly { readonly variable: string; readonly input: string | undefined }[]
  /** The folder that replaced `${workspaceFolder}`, because its file belongs to that project alone. */
  readonly boundTo: string | undefined
}

/** Where a server was found. */
export type ServerSource = Pick<ServerEntry, 'name' | 'path' | 'inputs' | 'project'> & {
  readonly client: string
  readonly file: string
}

/** The servers of all files, and the problems found while reading them. */
export type ImportPlan = {
  readonly servers: readonly PlannedServer[]
  readonly problems: readonly ConfigProblem[]
}

/** A file to import from; `text` if it was already read. */
export type ImportPlace = Pick<ConfigPlace, 'client' | 'file'> & { readonly text?: ConfigText }

/**
 * Plans the import of all servers. A server that several files share is imported once; different servers of the same
 * name get their client's name, too.
 */
export async function planImport(places: readonly ImportPlace[], machine: LocalMachine): Promise<ImportPlan> {
  const candidates: Candidate[] = []
  const problems: ConfigProblem[] = []
  for (const { client, file, text } of places) {
    const read = await readEntries(text ?? file, machine)
    problems.push(...read.problems)
    for (const found of read.entries) {
      const entry = bindToProject(found)
      const boundTo = entry === found ? undefined : entry.project
      const { server, problems: reasons } = readServer(entry, file, machine, keepReferences)
      problems.push(...reasons.map((message) => ({ file, server: entry.name, message })))
      if (server) candidates.push({ client, file, server, entry, boundTo, definition: coreOf(entry, server) })
    }
  }
  return { servers: nameApart(candidates, machine), problems }
}

/**
 * State of a planned server in the target file. `kept`: it is already there. `differs`: the existing server of this
 * name runs something else, and stays.
 */
export type ImportState = 'new' | 'kept' | 'differs'

/** Compares planned servers with the target file; `names` are all names already used there. */
export async function compareWith(
  file: string,
  names: readonly string[],
  machine: LocalMachine,
): Promise<(planned: PlannedServer) => ImportState> {
  const { entries } = await readEntries(file, machine)
  const programIn = (entry: ServerEntry) => {
    const { server } = readServer(entry, file, machine, keepReferences)
    return server && programOf(entry, server)
  }
  const byName = new Map<string, ServerEntry[]>()
  for (const entry of entries) byName.set(entry.name, [...(byName.get(entry.name) ?? []), entry])
  const taken = new Set(names)
  const has = (name: string, { fields }: PlannedServer) =>
    byName
      .get(name)
      ?.some((entry) => isDeepStrictEqual(programIn(entry), programIn({ ...entry, fields }))) === true
  return (planned) => {
    // A server that was renamed may have been imported earlier under its own name.
    if (has(planned.name, planned) || has(planned.server.name, planned)) return 'kept'
    return taken.has(planned.name) ? 'differs' : 'new'
  }
}

/** Returns what identifies a server among others of its name; timeouts do not count as differences. */
function coreOf(entry: ServerEntry, server: ServerConfig): object {
  return { ...definitionOf(entry, server), connectTimeoutMs: 0, callTimeoutMs: 0 }
}

/** Returns the same entry if there is nothing to replace, or no project that it belongs to. */
function bindToProject(entry: ServerEntry): ServerEntry {
  const { project, fields } = entry
  if (project === undefined) return entry
  const bind = (text: string) => bindWorkspace(text, project)
  const bound = Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      withReferences.includes(key) ? mapTexts(value, bind) : value,
    ]),
  )
  return isDeepStrictEqual(bound, fields) ? entry : { ...entry, fields: bound }
}

/**
 * Returns whether to report a problem. Many clients keep other settings in the same file, so a file without servers is
 * reported only if the user named it.
 */
export const isReportable = ({ message }: ConfigProblem) => message !== noServers

type Candidate = {
  readonly client: string
  readonly file: string
  readonly server: ServerConfig
  readonly entry: ServerEntry
  readonly boundTo: string | undefined
  readonly definition: object
}

function nameApart(candidates: readonly Candidate[], machine: LocalMachine): PlannedServer[] {
  const groups: Candidate[][] = []
  /** Only servers of the same name are compared, since duplicates share it. */
  const byName = new Map<string, Candidate[][]>()
  for (const candidate of candidates) {
    const { name } = candidate.server
    const named = byName.get(name) ?? []
    const twins = named.find(([first]) => isDeepStrictEqual(first?.definition, candidate.definition))
    if (twins) twins.push(candidate)
    else {
      const group = [candidate]
      groups.push(group)
      byName.set(name, [...named, group])
    }
  }
  const names = new Set<string>()
  return groups.flatMap((twins) => {
    const [first] = twins
    if (!first) return []
    const { file, server, entry, boundTo } = first
    const name = freeName(server.name, first.client, names)
    names.add(name)
    const clients = [...new Set(twins.map(({ client }) => client))]
    const fields = fieldsOf(server, entry)
    const sources = twins.map(sourceOf)
    const unset = unsetIn(fields, entry, machine)
    return [{ name, clients, file, sources, server, fields, unset, boundTo }]
  })
}

function sourceOf({ client, file, entry: { name, path, inputs, project } }: Candidate): ServerSource {
  return { client, file, name, path, inputs, project }
}

function freeName(name: string, client: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  const words = client.toLowerCase().match(/[a-z0-9]+/g) ?? []
  const suffixed = [name, ...words].join('-')
  let free = suffixed
  for (let count = 2; taken.has(free); count++) free = `${suffixed}-${count}`
  return free
}

/** Makes paths absolute, because the written file is in another folder. */
function fieldsOf({ transport }: ServerConfig, { fields }: ServerEntry): Fields {
  if (transport.kind !== 'stdio') return fields
  const { command, cwd } = transport
  return { ...fields, command, ...(cwd === undefined ? {} : { cwd }) }
}

function unsetIn(
  fields: Fields,
  { inputs }: ServerEntry,
  { environment, folder }: LocalMachine,
): PlannedServer['unset'] {
  const known = withWorkspace(environment, folder)
  const missing = textsIn(fields).flatMap((text) => expand(text, known).missing)
  return [...new Set(missing)].map((variable) => ({ variable, input: inputs[variable] }))
}

/** Returns every string in plain data. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
