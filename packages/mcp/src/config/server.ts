// Turns a configuration entry into a server that can be started, or into the reason why it cannot.
import { basename, isAbsolute, join, resolve } from 'node:path'
import type { Environment } from '@toolshelf/core/internal'
import { isSecretName } from '../redact.ts'
import type { ConfigProblem, RemoteConfig, ServerConfig, StdioConfig, ToolConfig } from '../types.ts'
import { foreignKeys, mapTexts, type ServerEntry } from './formats.ts'
import { fieldsKind, readKeys, recordOf, serverDefaults, serverKeys, toolKeys, type Values } from './keys.ts'
import type { LocalMachine } from './places.ts'
import { type Expanded, expand, hasUserValue, userValuesIn, withWorkspace } from './references.ts'

type ServerValues = Values<typeof serverKeys>

/** The server of an entry, or what is wrong with it. */
type ReadServer = {
  readonly server: ServerConfig | undefined
  readonly problems: readonly string[]
  /** Variables that are not set, if nothing else is wrong with the server. */
  readonly unset?: readonly string[]
  /** The entry is left out because it starts Toolshelf itself; its last problem says so. */
  readonly isOwnEntry?: boolean
}

export function configProblems(
  { problems, unset, isOwnEntry }: ReadServer,
  file: string,
  server: string,
): ConfigProblem[] {
  const details = unset ? { unset } : {}
  return problems.map((message, index) => {
    const isOwn = isOwnEntry === true && index === problems.length - 1
    return { file, server, message, ...details, ...(isOwn ? { kind: 'own-entry' } : {}) }
  })
}

/** Keys that decide which program runs: if one is invalid, the entry is rejected. */
const decisive = ['command', 'args', 'cwd', 'url']

/** Reads an entry; `fill` expands references, except for a disabled server. */
export function readServer(
  entry: ServerEntry,
  file: string,
  machine: LocalMachine,
  fill: Fill = filling(entry, machine),
): ReadServer {
  const { values, wrong, problems } = readKeys(serverKeys, entry.fields, { others: foreignKeys, decisive })
  const tools = readTools(values.tools)
  const allProblems = [...problems, ...tools.problems]
  const leaveOut = (...reasons: readonly string[]) => ({
    server: undefined,
    problems: [...allProblems, ...reasons],
  })
  if (wrong.some((key) => decisive.includes(key))) return leaveOut()

  const kind = chooseKind(values)
  if (kind.problem !== undefined) allProblems.push(kind.problem)
  if (kind.name === undefined) return leaveOut()

  const inherited = kind.name === 'stdio' ? secretsInherited(values.inheritEnv, machine.environment) : []
  const filled = fillIn(values, usedBy(kind.name), entry, values.disabled ? keepReferences : fill, inherited)
  if (filled.problems.length > 0) {
    const left = leaveOut(...filled.problems)
    return filled.unset.length === left.problems.length ? { ...left, unset: filled.unset } : left
  }
  const transport = makeTransport(kind.name, filled.value, entry, machine)
  // Checked with unexpanded references, too: a server rejected in that form is not shown to the user who decides
  // whether to trust the file.
  for (const form of [makeTransport(kind.name, values, entry, machine), transport]) {
    const unusable = transportProblem(form)
    if (unusable !== undefined) return leaveOut(unusable)
    if (isToolshelf(form, machine)) return { ...leaveOut(OWN_ENTRY), isOwnEntry: true }
  }
  const server: ServerConfig = {
    name: entry.name,
    transport,
    disabled: values.disabled ?? false,
    lazy: values.lazy ?? false,
    alwaysLoad: values.alwaysLoad,
    description: values.description?.trim() || undefined,
    tools: tools.value,
    allow: values.allow ?? [],
    deny: values.deny ?? [],
    ...(values.elicitation ? { elicitation: values.elicitation } : {}),
    ...(values.sampling ? { sampling: values.sampling } : {}),
    connectTimeoutMs: values.connectTimeout ?? serverDefaults.connectTimeout,
    callTimeoutMs: values.callTimeout ?? serverDefaults.callTimeout,
    ...(values.maxTools === undefined ? {} : { maxTools: values.maxTools }),
    ...(values.resultBudget === undefined ? {} : { resultBudget: values.resultBudget }),
    source: file,
    ...(Object.keys(filled.variables).length > 0 ? { variables: filled.variables } : {}),
    ...personal(transport, values.credentials),
  }
  return { server, problems: allProblems }
}

/** Blocks a server that needs values of its user, which only a gateway with users has. */
function personal(
  transport: StdioConfig | RemoteConfig,
  credentials: ServerValues['credentials'],
): Pick<ServerConfig, 'credentials' | 'blocked'> {
  const names = userValuesIn(transport)
  if (names.length === 0) return credentials ? { credentials } : {}
  const blocked = `it needs ${names.join(', ')} of each user; only an HTTP gateway with users fills that in`
  return { credentials: 'user', blocked }
}

type TransportKind = StdioConfig['kind'] | RemoteConfig['kind']

/** The kind of transport; without a `name`, the entry has no usable one. */
type ChosenKind = { readonly name?: TransportKind; readonly problem?: string }

function chooseKind({ type, command, url }: ServerValues): ChosenKind {
  if (!command?.trim() && !url?.trim())
    return { problem: 'it has neither a "command" nor a "url"; it is left out.' }
  if (!url && type !== undefined && type !== 'stdio')
    return { name: 'stdio', problem: `"type" is "${type}", but it has no "url"; its "command" is used.` }
  if (!command && type === 'stdio')
    return { name: 'auto', problem: '"type" is "stdio", but it has no "command"; its "url" is used.' }
  if (command && url && type === undefined)
    return {
      name: 'stdio',
      problem: 'it has a "command" and a "url"; the command is used. Keep one of them.',
    }
  return { name: type ?? (command ? 'stdio' : 'auto') }
}

type Made<Value> = { readonly value: Value; readonly problems: readonly string[] }

type Fill = (text: string) => Expanded

function filling({ project }: ServerEntry, { folder, environment }: LocalMachine): Fill {
  const known = withWorkspace(environment, project ?? folder)
  return (text) => expand(text, known)
}

/** Returns the variables whose values a server inherits and that must not be shown, as if its entry referred to them. */
function secretsInherited(inheritEnv: ServerValues['inheritEnv'], environment: Environment): string[] {
  const named = new Set(Array.isArray(inheritEnv) ? inheritEnv.map((name) => name.toUpperCase()) : [])
  const isSecret = (name: string) => inheritEnv === true && isSecretName(name)
  const hasPassword = (name: string) => /_proxy$/i.test(name) && environment[name]?.includes('@') === true
  return Object.keys(environment).filter(
    (name) => named.has(name.toUpperCase()) || isSecret(name) || hasPassword(name),
  )
}

export const keepReferences: Fill = (text) => ({ text, missing: [], foreign: [], used: [] })

const usedBy = (kind: TransportKind) =>
  kind === 'stdio' ? (['command', 'args', 'env', 'cwd'] as const) : (['url', 'headers'] as const)

function fillIn(
  values: ServerValues,
  keys: readonly (keyof ServerValues)[],
  { inputs }: ServerEntry,
  fill: Fill,
  inherited: readonly string[],
): Made<ServerValues> & {
  readonly variables: { readonly [name: string]: string }
  readonly unset: readonly string[]
} {
  const used = new Map<string, string>()
  const missing = new Set<string>()
  const foreign = new Set<string>()
  const fillText = (text: string) => {
    const filled = fill(text)
    for (const name of filled.missing) missing.add(name)
    for (const reference of filled.foreign) foreign.add(reference)
    for (const [name, value] of filled.used) if (!isFolder(name)) used.set(name, value)
    return filled.text
  }
  const filled = keys.map((key) => [key, mapTexts(values[key], fillText)])
  for (const name of inherited) fillText(`\${${name}:-}`)
  const problems = [
    ...[...missing].map((name) => unsetVariable(name, inputs[name])),
    ...[...foreign].map(
      (reference) => `${reference} cannot be filled in; write \${NAME} and set NAME. The server is left out.`,
    ),
  ]
  return {
    value: { ...values, ...Object.fromEntries(filled) },
    problems,
    variables: recordOf([...used]),
    unset: [...missing],
  }
}

const isFolder = (name: string) => Object.hasOwn(withWorkspace({}, ''), name)

function unsetVariable(name: string, input: string | undefined): string {
  const asked = input === undefined ? '' : `; set it to what VS Code asks for as ${JSON.stringify(input)}`
  return `the environment variable ${name} is not set${asked}. The server is left out until it is.`
}

function makeTransport(
  kind: TransportKind,
  {
    command = '',
    args = [],
    env = recordOf([]),
    inheritEnv,
    cwd,
    url = '',
    headers = recordOf([]),
  }: ServerValues,
  { base, project }: ServerEntry,
  { home }: LocalMachine,
): StdioConfig | RemoteConfig {
  if (kind !== 'stdio') return { kind, url: url.trim(), headers }
  return {
    kind,
    command: commandAt(command.trim(), base, home),
    args,
    env,
    ...(inheritEnv ? { inheritEnv } : {}),
    cwd: cwd ? pathAt(cwd, base, home) : project,
  }
}

function transportProblem(transport: StdioConfig | RemoteConfig): string | undefined {
  if (wordsOf(transport).some(hasUserValue))
    return `\${user:…} can only be used in ${transport.kind === 'stdio' ? '"env"' : '"headers"'}; the server is left out.`
  if (transport.kind !== 'stdio') {
    if (hasReference(transport.url)) return undefined
    if (!/^https?:\/\/[^/]/i.test(transport.url))
      return '"url" must start with http:// or https://; the server is left out.'
    // The URL itself is not shown: it may contain a secret.
    return URL.canParse(transport.url)
      ? undefined
      : '"url" is not a valid URL; check its host and its port, which is at most 65535. The server is left out.'
  }
  return transport.command === '' ? '"command" is empty; the server is left out.' : undefined
}

/** Returns what decides which program runs, or which host is contacted. */
function wordsOf(transport: StdioConfig | RemoteConfig): readonly string[] {
  if (transport.kind !== 'stdio') return [transport.url]
  return [transport.command, ...transport.args, transport.cwd ?? '']
}

const OWN_ENTRY = 'it is Toolshelf itself; it is left out.'

/** Returns whether a command starts this gateway, which would start itself endlessly. */
function isToolshelf(transport: StdioConfig | RemoteConfig, { program }: LocalMachine): boolean {
  if (transport.kind !== 'stdio') return false
  const { command, args } = transport
  const script = program?.[1]
  // Splits arguments into words, as in `sh -c "toolshelf mcp"`; the script's own path may contain spaces.
  const words = [command, ...args].flatMap((word) => (word === script ? [word] : word.split(/\s+/)))
  const isProgram = (word: string) =>
    word === script ||
    /(?:^|[\\/])toolshelf(?:@[^\\/]*|\.cmd|\.exe)?$/i.test(word) ||
    /(?:toolshelf|cli[\\/]dist)[\\/]main\.js$/.test(word)
  return words.some((word, index) => isProgram(word) && words[index + 1] === 'mcp')
}

/** Resolves a command; one without a slash is searched in PATH. */
function commandAt(command: string, base: string, home: string): string {
  return /[\\/]/.test(command) ? pathAt(command, base, home) : command
}

function pathAt(path: string, base: string, home: string): string {
  if (path === '~') return home
  if (/^~[\\/]/.test(path)) return join(home, path.slice(2))
  return isAbsolute(path) || hasReference(path) ? path : resolve(base, path)
}

const hasReference = (text: string) => text.includes('${')

function readTools(configured: ServerValues['tools']): Made<ServerConfig['tools']> {
  const tools: [string, ToolConfig][] = []
  const problems: string[] = []
  for (const [name, settings] of Object.entries(configured ?? {})) {
    const fields = fieldsKind.read(settings)
    if (!fields) {
      problems.push(`the tool ${JSON.stringify(name)} must be an object; it is ignored.`)
      continue
    }
    const { approval_mode: _, ...own } = fields
    const { values, problems: wrong } = readKeys(toolKeys, own)
    problems.push(...wrong.map((problem) => `for the tool ${JSON.stringify(name)}, ${problem}`))
    if (Object.keys(values).length > 0) tools.push([name, values])
  }
  return { value: recordOf(tools), problems }
}

/** Returns the program, with its first argument if that says more, or the host. */
export function describeTransport(transport: StdioConfig | RemoteConfig): string {
  if (transport.kind !== 'stdio') return hostOf(transport.url)
  const program = basename(transport.command)
  const word = transport.args.find((argument) => !harmlessFlags.test(argument)) ?? ''
  return launchers.test(program) && /^[@\w./\\]/.test(word) && !word.includes('://')
    ? `${program} ${word}`
    : program
}

/** Returns the last argument that is a path; not one behind a flag, which may be a secret. */
export function pathArgument(transport: StdioConfig | RemoteConfig): string | undefined {
  if (transport.kind !== 'stdio') return undefined
  const { args } = transport
  return args.findLast(
    (word, index) =>
      /^(?:~|\.{0,2})[/\\]|^[a-z]:[/\\]/i.test(word) &&
      !word.includes('://') &&
      (index === 0 || harmlessFlags.test(args[index - 1] ?? '') || !args[index - 1]?.startsWith('-')),
  )
}

/** Flags that take no value. After any other flag, an argument may be a secret. */
const harmlessFlags = /^-(?:y|-yes|q|-quiet|m|u|i)$/

/** Programs whose first argument says more than their name. */
const launchers =
  /^(?:npx|bunx|uvx|uv|pipx|pnpm|yarn|npm|node|bun|deno|python[\d.]*|docker|podman|java|dotnet|cmd)(?:\.exe|\.cmd)?$/i

function hostOf(url: string): string {
  return /^[a-z]+:\/\/(?:[^/?#@]*@)?([^/?#]*)/i.exec(url)?.[1] ?? '?'
}
