// Finds the servers in a configuration file of any client, by its shape.
// Implements H1.
import { basename, dirname, resolve } from 'node:path'
import { type Fields, isFields } from '@toolshelf/core/internal'
import type { ConfigProblem } from '../types.ts'
import { recordOf, rootKeys, unknownKey } from './keys.ts'
import type { LocalMachine } from './places.ts'
import { inputVariable, respell, type Spelling } from './references.ts'

/** A server entry of a file, translated to the keys of Toolshelf's own file; references are not expanded yet. */
export type ServerEntry = {
  readonly name: string
  /** The keys that lead to it in its file. */
  readonly path: readonly string[]
  readonly fields: Fields
  /** The entry as the file has it. */
  readonly source: Fields
  /** The folder that relative paths start from. */
  readonly base: string
  /** The project that the server belongs to, and its working directory by default. */
  readonly project: string | undefined
  /** VS Code inputs, by the environment variable that replaces each. */
  readonly inputs: { readonly [variable: string]: string }
}

/** What is wrong with an entry, or with the whole file. */
export type EntryProblem = Pick<ConfigProblem, 'server' | 'message' | 'kind'>

/** The servers in a file, and what is wrong with it. */
type FoundServers = {
  readonly entries: readonly ServerEntry[]
  readonly problems: readonly EntryProblem[]
}

export function findServers(document: unknown, file: string, machine: LocalMachine): FoundServers {
  if (!isFields(document)) return { entries: [], problems: [{ message: 'it is not a JSON object.' }] }
  const groups = groupsIn(document, file, machine)
  const found = groups.map((group) => readGroup(group, file, machine))
  return {
    entries: found.flatMap(({ entries }) => entries),
    problems: [...rootProblems(document, file, groups.length), ...found.flatMap(({ problems }) => problems)],
  }
}

/** Servers by name from one place in a file. */
type Group = {
  readonly key: string
  /** The keys that lead to it, if not only `key`. */
  readonly path?: readonly string[]
  readonly servers: unknown
  readonly spelling: Spelling
  readonly project: string | undefined
}

function groupsIn(document: Fields, file: string, machine: LocalMachine): readonly Group[] {
  const own = projectOf(file, machine.home)
  const group = (key: string, servers: unknown, spelling: Spelling = 'common', project = own): Group[] =>
    servers === undefined ? [] : [{ key, servers, spelling, project }]
  const { mcpServers, mcp } = document
  return [
    ...projectsIn(document, machine.folder).flatMap(([path, servers]) =>
      group('mcpServers', servers, 'common', machine.folder).map((one) => ({
        ...one,
        path: ['projects', path, 'mcpServers'],
      })),
    ),
    ...group('mcpServers', mcpServers, isGemini(file, mcpServers) ? 'gemini' : 'common'),
    ...group('servers', document.servers),
    ...group('mcp.servers', document['mcp.servers']),
    ...(isFields(mcp) ? group('mcp.servers', mcp.servers, 'opencode') : []).map((one) => ({
      ...one,
      path: ['mcp', 'servers'],
    })),
    ...(isOpencode(mcp) ? group('mcp', mcp, 'opencode') : []),
    ...group('mcp_servers', document.mcp_servers),
    ...group('context_servers', document.context_servers),
  ]
}

/** Returns the servers that Claude Code stores for the current folder, with the folder as spelled in the file. */
function projectsIn({ projects }: Fields, folder: string): [string, unknown][] {
  if (!isFields(projects)) return []
  return Object.entries(projects).flatMap(([path, project]): [string, unknown][] =>
    resolve(path) === resolve(folder) && isFields(project) && project.mcpServers !== undefined
      ? [[path, project.mcpServers]]
      : [],
  )
}

/** Returns whether `mcp` contains servers by name, as in opencode's file; in other files it contains settings. */
function isOpencode(mcp: unknown): mcp is Fields {
  const isServer = (value: unknown) => isFields(value) && ['local', 'remote'].includes(String(value.type))
  return isFields(mcp) && mcp.servers === undefined && Object.values(mcp).some(isServer)
}

const geminiKeys = ['httpUrl', 'includeTools', 'excludeTools', 'trust']

function isGemini(file: string, servers: unknown): boolean {
  if (['.gemini', '.qwen'].includes(basename(dirname(file)))) return true
  const hasKey = (value: unknown) => isFields(value) && geminiKeys.some((key) => Object.hasOwn(value, key))
  return isFields(servers) && Object.values(servers).some(hasKey)
}

function readGroup(
  { key, path = [key], servers, spelling, project }: Group,
  file: string,
  machine: LocalMachine,
): FoundServers {
  if (!isFields(servers)) {
    const message = `"${key}" must be an object with a server for each name; it is ignored.`
    return { entries: [], problems: servers === null ? [] : [{ message }] }
  }
  const entries: ServerEntry[] = []
  const problems: EntryProblem[] = []
  for (const [given, server] of Object.entries(servers)) {
    const name = given.trim()
    if (name === '') problems.push({ message: 'a server has no name; it is left out.' })
    else if (!isFields(server))
      problems.push({ server: name, message: 'it must be an object; it is left out.' })
    else {
      const translated = translate(server)
      problems.push(...translated.problems.map((message) => ({ server: name, message })))
      const base = project ?? dirname(resolve(machine.folder, file))
      entries.push({
        name,
        path: [...path, given],
        source: server,
        ...respellFields(
          vsCodeKeys.includes(key) ? leavingHttpOpen(translated.fields) : translated.fields,
          spelling,
          machine.home,
          name,
        ),
        base,
        project,
      })
    }
  }
  return { entries, problems }
}

const vsCodeKeys = ['servers', 'mcp.servers']

/** Removes the type `http`, which in VS Code includes SSE. */
function leavingHttpOpen(fields: Fields): Fields {
  return fields.type === 'http' ? { ...fields, type: 'auto' } : fields
}

/** Keys whose values may contain references. */
export const withReferences: readonly string[] = ['command', 'args', 'env', 'cwd', 'url', 'headers']

function respellFields(
  fields: Fields,
  spelling: Spelling,
  home: string,
  server: string,
): { fields: Fields; inputs: ServerEntry['inputs'] } {
  const inputs: [string, string][] = []
  const onText = (text: string) =>
    respell(text, spelling, home, (input) => {
      const variable = inputVariable(input, server)
      inputs.push([variable, input])
      return variable
    })
  const respelled = Object.entries(fields).map(([key, value]) => [
    key,
    withReferences.includes(key) ? mapTexts(value, onText) : value,
  ])
  return { fields: Object.fromEntries(respelled), inputs: recordOf(inputs) }
}

/** Applies a function to a string, or to every string in a list or object. */
export function mapTexts<Value>(value: Value, change: (text: string) => string): Value {
  const changed = (item: unknown) => (typeof item === 'string' ? change(item) : item)
  if (Array.isArray(value)) return value.map(changed) as Value
  if (!isFields(value)) return changed(value) as Value
  return recordOf(Object.entries(value).map(([name, item]) => [name, changed(item)])) as Value
}

/** Returns whether a file is Toolshelf's own rather than another client's. */
export function isOwnFile({ gateway }: Fields, file: string): boolean {
  return basename(file) === 'toolshelf.json' || gateway !== undefined
}

const NO_SERVERS: EntryProblem = {
  message: 'it has no MCP servers; Toolshelf looks for "mcpServers".',
  kind: 'no-servers',
}

/** Reports unknown keys, only in Toolshelf's own file: other clients have other settings beside their servers. */
function rootProblems(document: Fields, file: string, groups: number): EntryProblem[] {
  const known = Object.keys(rootKeys)
  const unknown = isOwnFile(document, file) ? Object.keys(document).filter((key) => !known.includes(key)) : []
  const none = groups === 0 && document.gateway === undefined
  return [...unknown.map((key) => ({ message: unknownKey(key, known) })), ...(none ? [NO_SERVERS] : [])]
}

const clientFolders = [
  '.vscode',
  '.cursor',
  '.codex',
  '.gemini',
  '.qwen',
  '.zed',
  '.windsurf',
  '.devin',
  '.opencode',
]
const projectFiles = ['.mcp.json', 'opencode.json', 'opencode.jsonc']

/** Returns the project that a file belongs to; undefined for a file that applies to all of a user's projects. */
function projectOf(file: string, home: string): string | undefined {
  const folder = dirname(resolve(file))
  if (clientFolders.includes(basename(folder)))
    return dirname(folder) === resolve(home) ? undefined : dirname(folder)
  return projectFiles.includes(basename(file)) && basename(folder) !== 'opencode' ? folder : undefined
}

type Respell = (value: unknown) => Fields

const deny: Respell = (value) => ({ deny: value })
/** Converts a list of allowed tools; in other clients an empty one allows none. */
const allow: Respell = (value) =>
  Array.isArray(value) && value.length === 0 ? { deny: ['*'] } : { allow: value }
const url: Respell = (value) => ({ url: value })
const type: Respell = (value) => ({ type: typeName(value) })

/** Keys of other clients, and Toolshelf's own keys that other clients use differently. */
const spellings: { readonly [key: string]: Respell } = {
  type,
  transport: type,
  transportType: type,
  // Windsurf
  serverUrl: url,
  disabledTools: deny,
  // Gemini CLI
  httpUrl: (value) => ({ url: value, type: 'http' }),
  includeTools: allow,
  excludeTools: deny,
  timeout: timeouts,
  // Codex
  http_headers: (value) => ({ headers: value }),
  env_http_headers: (value) => ({ headers: isFields(value) ? referencesTo(value) : value }),
  bearer_token_env_var: (value) => ({ headers: { Authorization: `Bearer \${${String(value)}}` } }),
  env_vars: (value) => ({ env: Array.isArray(value) ? passedOn(value) : value }),
  startup_timeout_sec: (value) => ({ connectTimeout: inMilliseconds(value) }),
  startup_timeout_ms: (value) => ({ connectTimeout: value }),
  tool_timeout_sec: (value) => ({ callTimeout: inMilliseconds(value) }),
  enabled: (value) => ({ disabled: typeof value === 'boolean' ? !value : value }),
  enabled_tools: allow,
  disabled_tools: deny,
  // opencode has the command as a list, older Zed as an object, Copilot the tools as a list
  environment: (value) => ({ env: value }),
  command: commands,
  tools: (value) =>
    Array.isArray(value) ? allow(value) : isFields(value) ? withoutApprovals(value) : { tools: value },
}

/** Leaves out Codex's approvals of single tools, which only its own prompts read. */
function withoutApprovals(tools: Fields): Fields {
  const left = Object.entries(tools).flatMap(([name, settings]) => {
    if (!isFields(settings) || !('approval_mode' in settings)) return [[name, settings]]
    const { approval_mode: _, ...others } = settings
    return Object.keys(others).length > 0 ? [[name, others]] : []
  })
  return left.length > 0 ? { tools: Object.fromEntries(left) } : {}
}

/** Keys that mean something only inside their client: approvals, display, development. */
const ignored = new Set(
  `trust autoApprove alwaysAllow authProviderType targetAudience targetServiceAccount extension
  oauth_resource required supports_parallel_tool_calls omit_tools_from default_tools_approval_mode environment_id
  name dev gallery version sandbox source remote settings icon`.split(/\s+/),
)

/** Keys that change how a server runs in a way that is not supported here. */
const unsupported: { readonly [key: string]: string } = {
  envFile: 'the file is not read; put its variables into "env".',
  headersHelper: 'the helper is not run; put the headers into "headers".',
  http_headers_helper: 'the helper is not run; put the headers into "headers".',
  sandboxEnabled: 'the server runs without a sandbox.',
  oauth: 'these settings are not used; Toolshelf signs in with a registration of its own.',
  scopes: 'these scopes are not used; a login asks for those that the server names.',
  auth: 'these settings are not used; Toolshelf signs in with a registration of its own.',
  trustAnnotations:
    'an entry cannot say whom you trust. If you trust what this server says about its tools, add "readonly:<server>" to "allow" in your permissions.json.',
}

/** Keys that only other clients use. */
export const foreignKeys: readonly string[] = Object.keys(spellings)

/** Translates an entry; reports keys that are not supported. */
function translate(entry: Fields): { readonly fields: Fields; readonly problems: readonly string[] } {
  const fields = new Map<string, unknown>()
  const problems: string[] = []
  for (const [key, value] of Object.entries(entry)) {
    if (value === null || ignored.has(key)) continue
    if (Object.hasOwn(unsupported, key)) {
      if (isInUse(key, value)) problems.push(`"${key}": ${unsupported[key]}`)
      continue
    }
    const respelled = Object.hasOwn(spellings, key) ? spellings[key]?.(value) : { [key]: value }
    for (const [name, part] of Object.entries(respelled ?? {}))
      fields.set(name, joined(fields.get(name), part))
  }
  return { fields: Object.fromEntries(fields), problems }
}

/**
 * Returns whether an unsupported key matters: Codex's `auth = "oauth"`, opencode's `oauth: false` and an empty list of scopes
 * are the default.
 */
function isInUse(key: string, value: unknown): boolean {
  if (key === 'scopes') return !Array.isArray(value) || value.length > 0
  return key === 'oauth' || key === 'auth' ? isFields(value) : value !== false
}

function joined(first: unknown, second: unknown): unknown {
  if (isFields(first) && isFields(second)) return { ...first, ...second }
  if (Array.isArray(first) && Array.isArray(second)) return [...first, ...second]
  return second ?? first
}

function typeName(value: unknown): unknown {
  if (value === 'local') return 'stdio'
  if (value === 'remote') return 'auto'
  return typeof value === 'string' && /^streamable[-_]?http$/i.test(value) ? 'http' : value
}

function commands(value: unknown): Fields {
  if (Array.isArray(value)) {
    const [command, ...args] = value
    return { command, args }
  }
  if (!isFields(value)) return { command: value }
  const { path, args, env } = value
  return { command: path, args, env }
}

/** Converts a timeout: they are milliseconds, but Zed and others use seconds, so small values are read as seconds. */
function timeouts(value: unknown): Fields {
  if (isFields(value)) return { connectTimeout: value.startup, callTimeout: value.request }
  return { callTimeout: typeof value === 'number' && value < 1000 ? value * 1000 : value }
}

const inMilliseconds = (value: unknown) => (typeof value === 'number' ? value * 1000 : value)

function referencesTo(variables: Fields): Fields {
  return Object.fromEntries(Object.entries(variables).map(([name, variable]) => [name, `\${${variable}}`]))
}

/** Returns references to variables of Toolshelf's environment that the server should get; empty for those not set. */
function passedOn(variables: readonly unknown[]): Fields {
  const names = variables.map((variable) => (isFields(variable) ? variable.name : variable))
  return Object.fromEntries(names.map((name) => [String(name), `\${${name}:-}`]))
}
