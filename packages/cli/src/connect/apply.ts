// Plans how clients' files change when their servers move behind the gateway: which servers leave which file, and the
// text that remains. Writes nothing.
import { isUtf8 } from 'node:buffer'
import { realpath, stat } from 'node:fs/promises'
import { type FileRights, readBoundedFile } from '@toolshelf/core/internal/node'
import {
  type ConfigProblem,
  type MovedPart,
  moveServers,
  type NewEntry,
  variablesIn,
  withReferences,
} from '@toolshelf/mcp/internal'
import { gatewayEntry, type HandedVariable } from './client-entry.ts'
import { type ConnectPlan, type PlannedServer, type ServerSource, textsIn } from './plan.ts'

export type Snapshot = {
  /** The path with symbolic links resolved. */
  readonly file: string
  readonly bytes: Buffer
  readonly rights: FileRights
}

export type ClientChange = {
  readonly clients: readonly string[]
  readonly before: Snapshot
  readonly after: string
  readonly parts: readonly MovedPart[]
  /** The servers that leave the file. */
  readonly servers: readonly PlannedServer[]
  /** The same without an entry, for a client that starts the gateway from another of its files. */
  readonly bare?: () => Pick<ClientChange, 'after' | 'parts'>
}

/** A server that stays in its client's file, and why. */
export type UnmovedServer = { readonly name: string; readonly file: string; readonly reason: string }

/** Planned changes of clients' files, and the servers that stay where they are. */
export type ApplyPlan = {
  readonly changes: readonly ClientChange[]
  readonly staying: readonly UnmovedServer[]
}

/** Some clients keep their history in the same file, which then has several megabytes. */
const MAX_BYTES = 64_000_000

/** Reads a file. Rejects if it is not a regular file or too large. */
export async function takeSnapshot(path: string): Promise<Snapshot> {
  const file = await realpath(path)
  const bytes = await readBoundedFile(file, MAX_BYTES)
  const { mode, uid, gid } = await stat(file)
  return { file, bytes, rights: { mode: mode & 0o7777, uid, gid } }
}

/**
 * Plans the changes of all files. `snapshots` are the files by the path that they were planned from, `words` the
 * command that starts the gateway.
 */
export function planApply(
  plan: ConnectPlan,
  snapshots: ReadonlyMap<string, Snapshot>,
  words: readonly string[],
): ApplyPlan {
  const staying: UnmovedServer[] = []
  const changes: ClientChange[] = []
  for (const found of sharedFiles(snapshots)) {
    const leaving = plan.servers.flatMap((server) =>
      sourcesIn(server, found.paths).flatMap((source) => {
        const reason = reasonToStay(source, plan.problems)
        if (reason !== undefined) staying.push({ name: source.name, file: source.file, reason })
        return reason === undefined ? [{ server, source }] : []
      }),
    )
    if (leaving.length === 0) continue
    try {
      changes.push(changeOf(found, leaving, plan.setUp, words))
    } catch (error) {
      const reason = `${(error as Error).message}; move it by hand`
      staying.push(...leaving.map(({ source: { name, file } }) => ({ name, file, reason })))
    }
  }
  return { changes, staying }
}

type SharedFile = { readonly snapshot: Snapshot; readonly paths: readonly string[] }

type Leaving = { readonly server: PlannedServer; readonly source: ServerSource }

/** Two clients may share a file through symbolic links. */
function sharedFiles(snapshots: ReadonlyMap<string, Snapshot>): SharedFile[] {
  const files = new Map<string, SharedFile>()
  for (const [path, snapshot] of snapshots) {
    const paths = [...(files.get(snapshot.file)?.paths ?? []), path]
    files.set(snapshot.file, { snapshot, paths })
  }
  return [...files.values()]
}

/** A server that two paths lead to is in the file once. */
function sourcesIn({ sources }: PlannedServer, paths: readonly string[]): ServerSource[] {
  const found = sources.filter(({ file }) => paths.includes(file))
  const key = ({ path }: ServerSource) => JSON.stringify(path)
  return found.filter((source, index) => found.findIndex((other) => key(other) === key(source)) === index)
}

function reasonToStay(source: ServerSource, problems: readonly ConfigProblem[]): string | undefined {
  if (source.path[0] === 'projects') return `it belongs to ${source.project} alone`
  const problem = problems.find(({ file, server }) => file === source.file && server === source.name)
  return problem?.message.replace(/\.$/, '')
}

function changeOf(
  { snapshot, paths }: SharedFile,
  leaving: readonly Leaving[],
  setUp: ConnectPlan['setUp'],
  words: readonly string[],
): ClientChange {
  const { bytes } = snapshot
  if (!isUtf8(bytes)) throw new Error('the file is not written in UTF-8')
  const clients = [...new Set(leaving.map(({ source }) => source.client))]
  const isThere = setUp.some(({ file }) => paths.includes(file))
  const servers = leaving.map(({ source }) => source.path)
  const variables = variablesOf(leaving)
  const fields = gatewayEntry(clients[0] ?? '', words, variables)
  const move = (entry?: NewEntry) => {
    const { text, parts } = moveServers(bytes.toString(), servers, entry)
    return { after: text, parts }
  }
  return {
    clients,
    before: snapshot,
    ...move(isThere ? undefined : { name: 'toolshelf', fields }),
    servers: leaving.map(({ server }) => server),
    ...(isThere || variables.length > 0 ? {} : { bare: () => move() }),
  }
}

function variablesOf(leaving: readonly Leaving[]): HandedVariable[] {
  const variables = new Map<string, string | undefined>()
  for (const { server, source } of leaving) {
    const texts = withReferences.flatMap((key) => textsIn(server.fields[key]))
    for (const variable of texts.flatMap(variablesIn))
      variables.set(variable, variables.get(variable) ?? source.inputs[variable])
  }
  return [...variables].map(([variable, input]) => ({ variable, input }))
}
