// Expands environment references in strings, and translates other clients' spellings of references into ours.
import { basename, sep } from 'node:path'
import type { Environment } from '../../lib/index.ts'

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

/**
 * Returns the names of the environment variables that a string refers to, including those in defaults, without
 * duplicates.
 */
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

/** Translates other clients' references into our spelling. Calls `onInput` for each VS Code input with its variable. */
export function respell(
  text: string,
  spelling: Spelling,
  home: string,
  onInput: (input: string, variable: string) => void,
): string {
  return inSpelling(text, spelling)
    .replace(/\$\{env:([A-Za-z_]\w*)\}/g, (_, name: string) => `\${${name}}`)
    .replace(/\$\{input:([^}]+)\}/g, (_, input: string) => {
      const variable = variableFor(input)
      onInput(input, variable)
      return `\${${variable}}`
    })
    .replace(/\$\{(userHome|pathSeparator|\/)\}/g, (_, name) => (name === 'userHome' ? home : sep))
}

function inSpelling(text: string, spelling: Spelling): string {
  if (spelling === 'gemini') return text.replace(/\$([A-Z_][A-Z0-9_]*)/g, (_, name) => `\${${name}}`)
  if (spelling === 'opencode') return text.replace(/(?<!\$)\{(?:env|file):[^}]+\}/g, (found) => `$${found}`)
  return text
}

/** Returns the environment variable that replaces a VS Code input. */
function variableFor(input: string): string {
  const name = input.toUpperCase().replace(/[^A-Z0-9]+/g, '_')
  return /^[A-Z_]/.test(name) ? name : `_${name}`
}

function variableIn(name: string, environment: Environment): string | undefined {
  return Object.hasOwn(environment, name) ? environment[name] : undefined
}
