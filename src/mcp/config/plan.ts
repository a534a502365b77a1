// What an import would take: the servers of many files under names of their own, nothing expanded, nothing written.
import { isDeepStrictEqual } from 'node:util'
import type { ConfigProblem, ServerConfig } from '../types.ts'
import { definitionOf, readEntries } from './config.ts'
import type { Fields } from './fields.ts'
import { noServers, type ServerEntry } from './formats.ts'
import type { ConfigPlace, Machine } from './places.ts'
import { expand } from './references.ts'
import { keepReferences, readServer } from './server.ts'

export type PlannedServer = {
  readonly name: string
  /** The clients that have it. */
  readonly clients: readonly string[]
  readonly file: string
  readonly server: ServerConfig
  /** What is written: references to the environment are kept. */
  readonly fields: Fields
  /** Variables that it needs and that are not set; what VS Code calls them where it asks for them. */
  readonly unset: readonly { readonly variable: string; readonly input: string | undefined }[]
}

export type ImportPlan = {
  readonly servers: readonly PlannedServer[]
  readonly problems: readonly ConfigProblem[]
}

/** The same server in several files is taken once; others of its name get the name of their client too. */
export async function planImport(places: readonly ConfigPlace[], machine: Machine): Promise<ImportPlan> {
  const candidates: Candidate[] = []
  const problems: ConfigProblem[] = []
  for (const { client, file } of places) {
    const read = await readEntries(file, machine)
    problems.push(...read.problems)
    for (const entry of read.entries) {
      const { server, problems: reasons } = readServer(entry, file, machine, keepReferences)
      problems.push(...reasons.map((message) => ({ file, server: entry.name, message })))
      if (server) candidates.push({ client, file, server, entry, definition: definitionOf(entry, server) })
    }
  }
  return { servers: nameApart(candidates, machine), problems }
}

/** Many clients keep other settings in the same file: that one has no servers is no news unless it was asked for. */
export const isNews = ({ message }: ConfigProblem) => message !== noServers

type Candidate = {
  readonly client: string
  readonly file: string
  readonly server: ServerConfig
  readonly entry: ServerEntry
  readonly definition: object
}

function nameApart(candidates: readonly Candidate[], machine: Machine): PlannedServer[] {
  const groups: Candidate[][] = []
  for (const candidate of candidates) {
    const twins = groups.find(([first]) => isDeepStrictEqual(first?.definition, candidate.definition))
    if (twins) twins.push(candidate)
    else groups.push([candidate])
  }
  const names = new Set<string>()
  return groups.flatMap((twins) => {
    const [first] = twins
    if (!first) return []
    const { file, server, entry } = first
    const name = freeName(server.name, first.client, names)
    names.add(name)
    const clients = [...new Set(twins.map(({ client }) => client))]
    const fields = fieldsOf(server, entry)
    return [{ name, clients, file, server, fields, unset: unsetIn(fields, entry, machine) }]
  })
}

function freeName(name: string, client: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  const words = client.toLowerCase().match(/[a-z0-9]+/g) ?? []
  const suffixed = [name, ...words].join('-')
  let free = suffixed
  for (let count = 2; taken.has(free); count++) free = `${suffixed}-${count}`
  return free
}

/** Paths become absolute, because the file that is written stands elsewhere. */
function fieldsOf({ transport }: ServerConfig, { fields }: ServerEntry): Fields {
  if (transport.kind !== 'stdio') return fields
  const { command, cwd } = transport
  return { ...fields, command, ...(cwd === undefined ? {} : { cwd }) }
}

function unsetIn(fields: Fields, { inputs }: ServerEntry, { environment }: Machine): PlannedServer['unset'] {
  const missing = textsIn(fields).flatMap((text) => expand(text, environment).missing)
  return [...new Set(missing)].map((variable) => ({ variable, input: inputs[variable] }))
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
