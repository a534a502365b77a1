// Reads configuration files of any client into servers that can be started. Reports what is invalid and skips it; the
// rest is used.
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Environment, type Fields, fieldsOf, isFields, quote, slugOf } from '@toolshelf/core/internal'
import { readNamedText } from '@toolshelf/core/internal/node'
import { parse as parseToml, TomlError } from 'smol-toml'
import type { ConfigProblem, FolderSource, ServerConfig } from '../types.ts'
import { type EntryProblem, findServers, isOwnFile, type ServerEntry } from './formats.ts'
import { lineAt, type Parsed, parseJson } from './json.ts'
import { type GatewaySettings, gatewayDefaults, readGateway } from './keys.ts'
import { type LocalMachine, thisMachine } from './places.ts'
import { configProblems, readServer } from './server.ts'
import { nameServers } from './slugs.ts'

/** The result of `readConfig`: the servers, the gateway's settings, and problems. */
export type LoadedConfig = {
  /** The usable servers, in the order of the files. */
  readonly servers: readonly ServerConfig[]
  /** The settings of the section `gateway`, with defaults. */
  readonly settings: GatewaySettings
  /** What was skipped or repaired. */
  readonly problems: readonly ConfigProblem[]
}

/** A configuration file that was already read, so that the content in use is the content that was checked. */
export type ConfigText = {
  /** The path, which messages name. */
  readonly file: string
  readonly text: string
  /** The real path of the folder that the file came with: settings that only the user may decide are ignored in it. */
  readonly folder?: string
}

/**
 * Reads configuration files of any client and expands the environment references in them. If several files configure
 * the same server or setting, the first file wins; a folder's server of the same name as the user's gets another name. Never rejects.
 *
 * @example
 * const { servers, problems } = await readConfig(['.mcp.json'])
 */
export async function readConfig(
  files: string | readonly (string | ConfigText)[],
  environment: Environment = process.env,
  where: Partial<LocalMachine> = {},
): Promise<LoadedConfig> {
  const machine = { ...thisMachine(), ...where, environment }
  const read = await Promise.all([files].flat().map((file) => readEntries(file, machine)))
  const problems = read.flatMap((file) => file.problems)
  const chosen = chooseServers(read, machine, (problem) => problems.push(problem))
  const settings = Object.assign({}, gatewayDefaults, ...read.map((file) => file.settings).reverse())
  return { servers: chosen, settings, problems }
}

/** Each server takes memory, and most of them a process. */
const MAX_SERVERS = 1000

export type FileEntries = {
  readonly file: string
  /** Undefined for the user's own files. */
  readonly folder?: FolderSource
  readonly entries: readonly ServerEntry[]
  readonly settings: Partial<GatewaySettings>
  /** The section `gateway` as the file has it. */
  readonly gateway: Fields
  readonly problems: readonly ConfigProblem[]
}

/** Reads a file without expanding references. */
export async function readEntries(source: string | ConfigText, machine: LocalMachine): Promise<FileEntries> {
  const path = resolve(machine.folder, typeof source === 'string' ? source : source.file)
  const document = typeof source === 'string' ? await readDocument(path) : documentIn(source.text, path)
  if (document.problem !== undefined)
    return {
      file: path,
      entries: [],
      settings: {},
      gateway: {},
      problems: [{ file: path, message: document.problem }],
    }
  const folder = typeof source === 'string' ? undefined : folderSource(source)
  const found = findServers(document.value, path, machine)
  if (found.entries.length > MAX_SERVERS) {
    const message = `it has ${found.entries.length} servers; at most ${MAX_SERVERS} are allowed. Run several gateways with fewer servers each.`
    return { file: path, entries: [], settings: {}, gateway: {}, problems: [{ file: path, message }] }
  }
  const gateway = readGateway(isFields(document.value) ? document.value.gateway : undefined)
  const { onChange, ...others } = gateway.settings
  // How changes are held is a matter of trust, about which a folder says nothing.
  const isForeign = folder !== undefined && onChange !== undefined
  const root = fieldsOf(document.value)
  const isOwn = isOwnFile(root, path)
  const { json } = document
  const repeated = json ? repeatedNames(json.text, json.parsed, found.entries, isOwn) : []
  const foreign = isForeign ? ['"onChange" counts only in your own configuration; it is ignored here.'] : []
  const messages = [...gateway.problems, ...foreign]
  const problems = [...found.problems, ...repeated, ...messages.map((message) => ({ message }))]
  return {
    file: path,
    ...(folder ? { folder } : {}),
    entries: found.entries.map((entry) => withInherited(entry, gateway.inheritEnv)),
    settings: isForeign ? others : gateway.settings,
    gateway: fieldsOf(root.gateway),
    problems: problems.map((problem) => ({ file: path, ...problem })),
  }
}

/** What a file says about all servers is for its own: a folder's file gives the user's servers nothing. */
function withInherited(entry: ServerEntry, inheritEnv: boolean | readonly string[] | undefined): ServerEntry {
  return inheritEnv === undefined ? entry : { ...entry, fields: { inheritEnv, ...entry.fields } }
}

function folderSource({ folder, text }: ConfigText): FolderSource | undefined {
  return folder === undefined
    ? undefined
    : { path: folder, hash: createHash('sha256').update(text).digest('hex') }
}

function chooseServers(
  files: readonly FileEntries[],
  machine: LocalMachine,
  report: (problem: ConfigProblem) => void,
): readonly ServerConfig[] {
  /** By what brought them and their name: a folder's server is another one than the user's of the same name. */
  const chosen = new Map<string, { readonly server: ServerConfig; readonly definition: object }>()
  for (const { file, folder, entries } of files) {
    for (const entry of entries) {
      const read = readServer(entry, file, machine)
      const server = read.server && { ...read.server, ...(folder ? { folder } : {}) }
      const key = JSON.stringify([folder?.path ?? null, entry.name])
      const first = chosen.get(key)
      const own = chosen.get(JSON.stringify([null, entry.name]))
      const definition = server && definitionOf(entry, server)
      if (definition && [first, own].some((one) => isDeepStrictEqual(one?.definition, definition))) continue
      for (const problem of configProblems(read, file, entry.name)) report(problem)
      if (server && first) report({ file, server: entry.name, message: secondOf(first.server.source, file) })
      else if (server && definition) chosen.set(key, { server, definition })
    }
  }
  const named = nameServers([...chosen.values()].map(({ server }) => server))
  for (const { name, original, source } of named)
    if (original !== undefined && name !== slugOf(original))
      report({ file: source, server: original, message: clashOf(original, name) })
  return named
}

/**
 * Identifies a server among others of the same name. The project's working directory and the SSE fallback do not count
 * as differences.
 */
function definitionOf(entry: ServerEntry, server: ServerConfig): object {
  const { variables: _, folder: _brought, ...own } = server
  return { ...own, source: '', transport: programOf(entry, server) }
}

/** Returns the transport without the differences that do not count. */
export function programOf(entry: ServerEntry, { transport }: ServerConfig): object {
  const kind = transport.kind === 'http' ? 'auto' : transport.kind
  const cwd = transport.kind === 'stdio' && entry.fields.cwd ? transport.cwd : undefined
  return { ...transport, kind, cwd }
}

function secondOf(first: string, file: string): string {
  const where = first === file ? 'earlier in this file' : `in ${first}`
  return `another server has this name ${where} and is used instead. Rename one to have both.`
}

function clashOf(original: string, name: string): string {
  const plain = quote(slugOf(original))
  return `another server's tools are named with ${plain} too, so this one's are named with ${quote(name)}. Rename one to choose its name.`
}

type Document = {
  readonly value?: unknown
  readonly problem?: string
  /** Where things are in a JSON text. */
  readonly json?: { readonly text: string; readonly parsed: Parsed }
}

async function readDocument(file: string): Promise<Document> {
  try {
    return documentIn(await readNamedText(file, MAX_BYTES), file)
  } catch (error) {
    return { problem: unreadable(error) }
  }
}

/** Clients that store their history in the same file reach some megabytes. */
const MAX_BYTES = 64_000_000

function documentIn(text: string, file: string): Document {
  return file.endsWith('.toml') ? tomlIn(text) : jsonIn(text)
}

function unreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return `it ${message}.`
  return code === 'ENOENT' ? 'no such file.' : `it cannot be read (${code}).`
}

function jsonIn(text: string): Document {
  try {
    const parsed = parseJson(text)
    return { value: parsed.value, json: { text, parsed } }
  } catch (error) {
    const toml = tomlIn(text)
    if (isFields(toml.value) && toml.value.mcp_servers !== undefined) return toml
    return { problem: `it is not valid JSON: ${(error as Error).message}.` }
  }
}

/** Does not use the parser's own message: it quotes the text, which may contain secrets. */
function tomlIn(text: string): Document {
  try {
    return { value: parseToml(text) }
  } catch (error) {
    const place = error instanceof TomlError ? `: line ${error.line}, column ${error.column}` : ''
    return { problem: `it is not valid TOML${place}.` }
  }
}

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
function repeatedNames(
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
