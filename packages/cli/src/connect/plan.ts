// Plans what `connect` takes over: the servers of many files under names that are unique among them and in our own file; expands nothing
// and writes nothing.
import { win32 } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Fields, isFields } from '@toolshelf/core/internal'
import type { ServerConfig } from '@toolshelf/mcp'
import {
  bindWorkspace,
  type ConfigPlace,
  type ConfigProblem,
  type ConfigText,
  configProblems,
  expand,
  keepReferences,
  type LocalMachine,
  mapTexts,
  programOf,
  readEntries,
  readServer,
  type ServerEntry,
  serverNames,
  withReferences,
  withWorkspace,
} from '@toolshelf/mcp/internal'

/** A server to take over, under its new name. */
export type PlannedServer = {
  readonly name: string
  /** `kept`: it is already in our file. */
  readonly state: 'new' | 'kept'
  /** The server that it was renamed for; if it is kept, the one in our file, if the user has narrowed that. */
  readonly other: OtherServer | undefined
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

/** A server beside a planned one; without a `server`, its entry cannot be used. */
type OtherServer = {
  readonly name: string
  readonly server: ServerConfig | undefined
  readonly isOurs: boolean
}

/** Where a server was found. */
export type ServerSource = Pick<ServerEntry, 'name' | 'path' | 'inputs' | 'project'> & {
  readonly client: string
  readonly file: string
}

/** The servers of all files, and the problems found while reading them. */
export type ConnectPlan = {
  readonly servers: readonly PlannedServer[]
  readonly problems: readonly ConfigProblem[]
  /** The files that start Toolshelf already. */
  readonly setUp: readonly Pick<ConfigPlace, 'client' | 'file'>[]
}

/** A client's file; `text` if it was already read. */
export type ConnectPlace = Pick<ConfigPlace, 'client' | 'file'> & { readonly text?: ConfigText }

/** Our own file as it is now. */
type PlanTarget = { readonly file: string; readonly text: string }

/**
 * `move`: the servers leave their files, so whatever is found is new to us. `copy`: they stay, so the same entry is found
 * again after the user has narrowed its copy, which then stays as it is.
 */
type ConnectPurpose = 'move' | 'copy'

/**
 * Plans what becomes of all servers. A server that several files share is taken over once; different servers of the same
 * name get their client's name, too, whether the other is in one of the files or in ours.
 */
export async function planConnect(
  places: readonly ConnectPlace[],
  machine: LocalMachine,
  target: PlanTarget,
  purpose: ConnectPurpose,
): Promise<ConnectPlan> {
  const candidates: Candidate[] = []
  const problems: ConfigProblem[] = []
  const setUp: Pick<ConfigPlace, 'client' | 'file'>[] = []
  for (const { client, file, text } of places) {
    const read = await readEntries(text ?? file, machine)
    const ownNames = new Set<string>()
    const found: ConfigProblem[] = []
    for (const unbound of read.entries) {
      const entry = bindToProject(unbound)
      const boundTo = entry === unbound ? undefined : entry.project
      const { unset: _, ...result } = readServer(entry, file, machine, keepReferences)
      const entryProblems = configProblems(result, file, entry.name)
      if (entryProblems.some(({ kind }) => kind === 'own-entry')) ownNames.add(entry.name)
      else found.push(...entryProblems)
      const { server } = result
      if (!server) continue
      const fields = fieldsOf(server, entry)
      const settings = settingsOf({ ...entry, fields }, server)
      candidates.push({ client, file, server, entry, boundTo, fields, settings })
    }
    const isOther = ({ server }: ConfigProblem) => server === undefined || !ownNames.has(server)
    problems.push(...read.problems.filter(isOther), ...found)
    if (ownNames.size > 0) setUp.push({ client, file })
  }
  const ours = await serversOf(target, machine)
  const names = new Set(serverNames(target.text))
  return { servers: nameApart(groupsOf(candidates), ours, names, purpose, machine), problems, setUp }
}

type OurServer = { readonly name: string; readonly server: ServerConfig; readonly settings: EntrySettings }

async function serversOf({ file, text }: PlanTarget, machine: LocalMachine): Promise<readonly OurServer[]> {
  const { entries } = await readEntries({ file, text }, machine)
  return entries.flatMap((entry) => {
    const { server } = readServer(entry, file, machine, keepReferences)
    return server ? [{ name: entry.name, server, settings: settingsOf(entry, server) }] : []
  })
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
export const isReportable = ({ kind }: ConfigProblem) => kind !== 'no-servers'

type Candidate = {
  readonly client: string
  readonly file: string
  readonly server: ServerConfig
  readonly entry: ServerEntry
  readonly boundTo: string | undefined
  readonly fields: Fields
  readonly settings: EntrySettings
}

/** Entries of the same server. */
type Twins = readonly [Candidate, ...Candidate[]]

/** Only servers of the same name are compared, since duplicates share it. */
function groupsOf(candidates: readonly Candidate[]): readonly Twins[] {
  const groups: [Candidate, ...Candidate[]][] = []
  const byName = new Map<string, [Candidate, ...Candidate[]][]>()
  for (const candidate of candidates) {
    const { name } = candidate.server
    const named = byName.get(name) ?? []
    const twins = named.find(([first]) => isSame(first.settings, candidate.settings))
    if (twins) twins.push(candidate)
    else {
      const group: [Candidate] = [candidate]
      groups.push(group)
      byName.set(name, [...named, group])
    }
  }
  return groups
}

function nameApart(
  groups: readonly Twins[],
  ours: readonly OurServer[],
  ourNames: ReadonlySet<string>,
  purpose: ConnectPurpose,
  machine: LocalMachine,
): PlannedServer[] {
  const taken = new Set(ourNames)
  const planned = new Map<string, ServerConfig>()
  return groups.map((twins) => {
    const [{ client, file, server, entry, boundTo, fields }] = twins
    const kept = keptIn(ours, twins, purpose)
    const name = kept?.name ?? freeName(server.name, client, taken)
    const other = kept
      ? kept.isNarrowed
        ? { name, server: kept.server, isOurs: true }
        : undefined
      : name === server.name
        ? undefined
        : holderOf(server.name, ours, ourNames, planned)
    taken.add(name)
    if (!kept) planned.set(name, server)
    return {
      name,
      state: kept ? 'kept' : 'new',
      other,
      clients: [...new Set(twins.map((twin) => twin.client))],
      file,
      sources: twins.map(sourceOf),
      server,
      fields,
      unset: unsetIn(fields, entry, machine),
      boundTo,
    }
  })
}

/** Finds the server in our file. One that was renamed may be there under any client's name, or under its own. */
function keptIn(
  ours: readonly OurServer[],
  [{ server, settings }]: Twins,
  purpose: ConnectPurpose,
): (OurServer & { readonly isNarrowed: boolean }) | undefined {
  const named = ours.filter(({ name }) => name === server.name || name.startsWith(`${server.name}-`))
  const inOrder = [...named].sort((one, other) => one.name.length - other.name.length)
  const same = inOrder.find((one) => isSameInOurs(one.settings, settings))
  if (same) return { ...same, isNarrowed: false }
  if (purpose === 'move') return undefined
  const narrowed = inOrder.find((one) => isNarrowedInOurs(one.settings, settings))
  return narrowed && { ...narrowed, isNarrowed: true }
}

function holderOf(
  name: string,
  ours: readonly OurServer[],
  ourNames: ReadonlySet<string>,
  planned: ReadonlyMap<string, ServerConfig>,
): OtherServer {
  const isOurs = ourNames.has(name)
  const server = isOurs ? ours.find((one) => one.name === name)?.server : planned.get(name)
  return { name, server, isOurs }
}

function sourceOf({ client, file, entry: { name, path, inputs, project } }: Candidate): ServerSource {
  return { client, file, name, path, inputs, project }
}

function freeName(name: string, client: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  const words =
    wordsOf(client)
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  const suffixed = [name, ...words].join('-')
  let free = suffixed
  for (let count = 2; taken.has(free); count++) free = `${suffixed}-${count}`
  return free
}

/** Returns a client's name; for a file of an unknown client, the name of the file. */
function wordsOf(client: string): string {
  return win32.basename(client).replace(/\.(?:jsonc?|toml)$/, '')
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

type EntrySettings = ReturnType<typeof settingsOf>

/** The settings of an entry, compared as they would be written: paths are absolute, references unexpanded. */
function settingsOf(entry: ServerEntry, server: ServerConfig) {
  const { name: _name, source: _source, variables: _variables, blocked: _blocked, ...settings } = server
  const { transport: _transport, disabled, allow, deny, connectTimeoutMs, callTimeoutMs, ...own } = settings
  const timeouts = (['connectTimeout', 'callTimeout'] as const)
    .filter((key) => entry.fields[key] != null)
    .map((key) => `${key}Ms` as const)
  return {
    /** What every client can set. */
    common: {
      transport: programOf(entry, server),
      disabled,
      /** Sorted; without patterns, all tools are allowed. */
      allow: allow.includes('*') ? [] : sorted(allow),
      deny: sorted(deny),
      connectTimeoutMs,
      callTimeoutMs,
    },
    /** Timeouts that the entry itself sets. */
    timeouts,
    /** What only Toolshelf's own file sets, such as `lazy`; without those that are not set. */
    own: Object.fromEntries(Object.entries(own).filter(([, value]) => isSet(value))),
  }
}

const sorted = (texts: readonly string[]) => [...new Set(texts)].sort()

const isSet = (value: unknown) =>
  value !== undefined && value !== false && !(isFields(value) && Object.keys(value).length === 0)

const isSame = (one: EntrySettings, other: EntrySettings) =>
  isDeepStrictEqual(one.common, other.common) && isDeepStrictEqual(one.own, other.own)

/** Returns whether a server of our file is the one of a client's entry; what only our file can set may be added to it. */
function isSameInOurs(ours: EntrySettings, theirs: EntrySettings): boolean {
  return isDeepStrictEqual(ours.common, theirs.common) && hasOwn(ours, theirs)
}

/**
 * Returns whether a server of our file is the one of a client's entry, perhaps narrowed by the user: fewer tools, disabled,
 * other timeouts. Nothing that the entry sets may be missing.
 */
function isNarrowedInOurs(ours: EntrySettings, theirs: EntrySettings): boolean {
  const [mine, given] = [ours.common, theirs.common]
  return (
    isDeepStrictEqual(mine.transport, given.transport) &&
    (mine.disabled || !given.disabled) &&
    (given.allow.length === 0 || isDeepStrictEqual(mine.allow, given.allow)) &&
    given.deny.every((pattern) => mine.deny.includes(pattern)) &&
    theirs.timeouts.every((key) => mine[key] === given[key]) &&
    hasOwn(ours, theirs)
  )
}

function hasOwn(ours: EntrySettings, theirs: EntrySettings): boolean {
  return Object.entries(theirs.own).every(([key, value]) => isDeepStrictEqual(ours.own[key], value))
}
