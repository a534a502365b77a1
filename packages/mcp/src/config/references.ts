// Expands environment references in strings, and translates other clients' spellings of references into Toolshelf's.
import { basename, sep } from 'node:path'
import type { Environment } from '@toolshelf/core/internal'
import type { RemoteConfig, ServerConfig, StdioConfig } from '../types.ts'
import { recordOf } from './keys.ts'

export type Expanded = {
  readonly text: string
  /** Variables that are not set and have no default. */
  readonly missing: readonly string[]
  /** Variables that were expanded, with their values. */
  readonly used: readonly (readonly [name: string, value: string])[]
  /** References that only another client can resolve, such as `${file:…}`, without what they refer to. */
  readonly foreign: readonly string[]
}

// `$${` is an escaped `${`. A default may contain one nested pair of braces.
const reference =
  /\$\$\{|\$\{([A-Za-z_]\w*)(?::-((?:[^{}]|\{[^{}]*\})*))?\}|\$\{(file|command|config|input):[^}]*\}/g

/** Expands `${NAME}` and `${NAME:-default}`. Anything else that looks like a reference stays as it is. */
export function expand(text: string, environment: Environment): Expanded {
  const missing: string[] = []
  const foreign: string[] = []
  const used: (readonly [string, string])[] = []
  const expanded = text.replace(reference, (whole, name?: string, fallback?: string, prefix?: string) => {
    if (whole === '$${') return '${'
    if (prefix !== undefined) {
      foreign.push(`\${${prefix}:…}`)
      return whole
    }
    const value = variableIn(name ?? '', environment)
    if (value !== undefined) {
      used.push([name ?? '', value])
      return value
    }
    if (fallback === undefined) {
      missing.push(name ?? '')
      return whole
    }
    const inner = expand(fallback, environment)
    missing.push(...inner.missing)
    foreign.push(...inner.foreign)
    used.push(...inner.used)
    return inner.text
  })
  return { text: expanded, missing, foreign, used }
}

/** Returns the names of the environment variables that a string refers to, including those in defaults, without duplicates. */
export function variablesIn(text: string): string[] {
  const names = new Set<string>()
  for (const [, name, fallback] of text.matchAll(reference)) {
    if (name !== undefined && !Object.hasOwn(withWorkspace({}, ''), name)) names.add(name)
    if (fallback !== undefined) for (const inner of variablesIn(fallback)) names.add(inner)
  }
  return [...names]
}

/** Adds the values of VS Code's `${workspaceFolder}` and `${workspaceFolderBasename}`. */
export function withWorkspace(environment: Environment, folder: string): Environment {
  return { ...environment, workspaceFolder: folder, workspaceFolderBasename: basename(folder) }
}

/** Replaces these two references and nothing else. */
export function bindWorkspace(text: string, folder: string): string {
  const values = withWorkspace({}, folder)
  return text.replace(/(?<!\$)\$\{(workspaceFolder(?:Basename)?)\}/g, (_, name) => values[name] ?? '')
}

/** How a client spells references, besides the common forms. */
export type Spelling = 'common' | 'gemini' | 'opencode'

/** Translates other clients' references. `variableFor` names the variable that replaces a VS Code input. */
export function respell(
  text: string,
  spelling: Spelling,
  home: string,
  variableFor: (input: string) => string,
): string {
  return inSpelling(text, spelling)
    .replace(/\$\{env:([A-Za-z_]\w*)\}/g, (_, name: string) => `\${${name}}`)
    .replace(/\$\{input:([^}]+)\}/g, (_, input: string) => `\${${variableFor(input)}}`)
    .replace(/\$\{(userHome|pathSeparator|\/)\}/g, (_, name) => (name === 'userHome' ? home : sep))
}

function inSpelling(text: string, spelling: Spelling): string {
  if (spelling === 'gemini') return text.replace(/\$([A-Z_][A-Z0-9_]*)/g, (_, name) => `\${${name}}`)
  if (spelling === 'opencode') return text.replace(/(?<!\$)\{(?:env|file):[^}]+\}/g, (found) => `$${found}`)
  return text
}

/**
 * Returns the environment variable that replaces a VS Code input: its id, prefixed with the server's name unless the id
 * alone is specific. `path` must not become PATH, and the `token` of two servers must not become one TOKEN.
 */
export function inputVariable(input: string, server: string): string {
  const id = constantCase(input)
  const owner = constantCase(server)
  const isClear = id.split('_').some((word) => !VAGUE.test(word))
  const name = isClear || id.startsWith(`${owner}_`) ? id : [owner, id || 'INPUT'].filter(Boolean).join('_')
  return /^[A-Z]/.test(name) ? name : `_${name}`
}

/** Words that only name a kind of value, or that occur in names of system variables. */
const VAGUE =
  /^(?:|\d+|U[\dA-F]{2,6}|ACCESS|ACCOUNT|ADDRESS|API|APP|AUTH|BASE|BEARER|CLIENT|CONFIG|CREDENTIALS?|DATABASE|DB|DEBUG|DIR|DIRECTORY|DISPLAY|EDITOR|EMAIL|ENDPOINT|ENV|FILE|FOLDER|HOME|HOST|HOSTNAME|HTTPS?|ID|INPUT|KEY|LANG|LEVEL|LOG|LOGIN|MODE|MODEL|MY|NAME|NODE|NO|OPTIONS|ORG|PASS|PASSWORD|PAT|PATH|PERSONAL|PORT|PROFILE|PROJECT|PROXY|PWD|REGION|ROOT|SECRET|SERVER|SHELL|TEAM|TEMP|TERM|THE|TMP|TMPDIR|TOKEN|TYPE|TZ|URI|URL|USER|USERNAME|VALUE|WORKSPACE|YOUR)$/

/** Converts `github-token` and `githubToken` to GITHUB_TOKEN; letters beyond ASCII become their code. */
function constantCase(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .replace(/\P{ASCII}/gu, (letter) => `_U${letter.codePointAt(0)?.toString(16).toUpperCase()}`)
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
}

function variableIn(name: string, environment: Environment): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined
}

const USER_VALUE = /\$\{user:([A-Za-z_]\w*)\}/g

type Transport = StdioConfig | RemoteConfig

/** Returns the names of the values that a server needs of each user, without duplicates. */
export function userValuesIn(transport: Transport): readonly string[] {
  const texts = Object.values(settingsOf(transport))
  return [...new Set(texts.flatMap((text) => [...text.matchAll(USER_VALUE)].map(([, name = '']) => name)))]
}

export function hasUserValue(text: string): boolean {
  return text.search(USER_VALUE) >= 0
}

/** Returns the settings in which users' values are filled in: none that decides which program or host gets them. */
function settingsOf(transport: Transport): { readonly [name: string]: string } {
  return transport.kind === 'stdio' ? transport.env : transport.headers
}

/** Fills in the values of a user, which are then hidden wherever they appear. All of them must be present. */
export function fillUserValues(
  config: ServerConfig,
  values: { readonly [name: string]: string },
): ServerConfig {
  const { blocked: _, ...rest } = config
  const used: [string, string][] = userValuesIn(config.transport).map((name) => [name, values[name] ?? ''])
  const fill = (text: string) => text.replace(USER_VALUE, (_whole, name: string) => values[name] ?? '')
  const filled = recordOf(
    Object.entries(settingsOf(config.transport)).map(([name, text]) => [name, fill(text)] as const),
  )
  const transport: Transport =
    config.transport.kind === 'stdio'
      ? { ...config.transport, env: filled }
      : { ...config.transport, headers: filled }
  return { ...rest, transport, variables: { ...config.variables, ...Object.fromEntries(used) } }
}
