// Plans how clients' files change when their servers move behind the gateway: which servers leave which file, and the
// text that remains, with the gateway's entry in the client's own format. Writes nothing.
import { isUtf8 } from 'node:buffer'
import { realpath } from 'node:fs/promises'
import type { Fields } from '@toolshelf/core/internal'
import { type FileRights, readBoundedFile } from '@toolshelf/core/internal/node'
import {
  type ConfigProblem,
  type MovedPart,
  moveServers,
  type NewEntry,
  onOneLine,
  variablesIn,
  withReferences,
} from '@toolshelf/mcp/internal'
import { rightsOf } from './journal.ts'
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
type UnmovedServer = { readonly name: string; readonly file: string; readonly reason: string }

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
  return { file, bytes, rights: await rightsOf(file) }
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

/** A variable that servers behind the gateway refer to, with VS Code's input if it comes from one. */
type HandedVariable = { readonly variable: string; readonly input: string | undefined }

/** Returns the entry in each format, with the clients that use this format. */
export function clientEntries(
  clients: readonly string[],
  words: readonly string[],
): readonly { readonly clients: readonly string[]; readonly text: string }[] {
  const byText = new Map<string, string[]>()
  for (const client of clients) {
    const form = formOf(client)
    const text = (form.key === 'mcp_servers' ? asToml : asJson)(form.key, gatewayEntry(client, words, []))
    byText.set(text, [...(byText.get(text) ?? []), client])
  }
  return [...byText].map(([text, clients]) => ({ clients, text }))
}

/**
 * Returns the gateway's entry for a client. The entry passes on the variables that the servers behind the gateway refer to,
 * in the client's syntax, because many clients start servers without their own environment.
 */
function gatewayEntry(
  client: string,
  words: readonly string[],
  variables: readonly HandedVariable[],
): Fields {
  const { entry, hand } = formOf(client)
  return { ...entry(words), ...(variables.length > 0 ? hand(variables) : {}) }
}

type Form = {
  /** The key that holds the servers. */
  readonly key: string
  readonly entry: (words: readonly string[]) => Fields
  readonly hand: (variables: readonly HandedVariable[]) => Fields
}

const split = ([command, ...args]: readonly string[]) => ({ command, args })
const nothing = () => ({})

const common: Form = { key: 'mcpServers', entry: split, hand: nothing }
const vsCode: Form = {
  key: 'servers',
  entry: split,
  // VS Code keeps asking for its inputs, and stores the answers. Its other variables reach every server anyway.
  hand: (variables) =>
    inEnv(
      variables.filter(({ input }) => input !== undefined),
      ({ input }) => `\${input:${input}}`,
    ),
}

const forms: ReadonlyMap<string, Form> = new Map([
  ['VS Code', vsCode],
  ['VS Code Insiders', vsCode],
  ['Cursor', { ...common, hand: asReferences(({ variable }) => `\${env:${variable}}`) }],
  ['Windsurf', { ...common, hand: asReferences(({ variable }) => `\${env:${variable}}`) }],
  ['Gemini CLI', { ...common, hand: asReferences(({ variable }) => `$${variable}`) }],
  ['Zed', { ...common, key: 'context_servers' }],
  ['opencode', { key: 'mcp', entry: (command) => ({ type: 'local', command }), hand: nothing }],
  [
    'Codex',
    {
      key: 'mcp_servers',
      entry: split,
      hand: (variables) => ({ env_vars: variables.map(({ variable }) => variable) }),
    },
  ],
  [
    'Qwen Code',
    {
      key: 'mcpServers',
      // It defers the tools of every server, including the gateway's, unless configured otherwise.
      entry: (words) => ({ ...split(words), alwaysLoadTools: true }),
      hand: asReferences(({ variable }) => `$${variable}`),
    },
  ],
])

function formOf(client: string): Form {
  return forms.get(client) ?? common
}

function asReferences(spell: (variable: HandedVariable) => string): Form['hand'] {
  return (variables) => inEnv(variables, spell)
}

function inEnv(
  variables: readonly HandedVariable[],
  spell: (variable: HandedVariable) => string,
): { readonly env?: Fields } {
  const pairs = variables.map((one) => [one.variable, spell(one)] as const)
  return pairs.length === 0 ? {} : { env: Object.fromEntries(pairs) }
}

function asJson(key: string, entry: Fields): string {
  return `{ "${key}": {\n  "toolshelf": ${onOneLine(entry)}\n} }`
}

function asToml(key: string, entry: Fields): string {
  const pairs = Object.entries(entry).map(([name, value]) => `${name} = ${onOneLine(value)}`)
  return [`[${key}.toolshelf]`, ...pairs].join('\n')
}
