// Which rules apply to a call: names of tools, paths, addresses and the commands of a shell line.
import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { RE2JS } from 're2js'
import { mcpName } from '../../core/tools/index.ts'
import { matchesAny } from '../../lib/index.ts'
import { type Access, isWithin, resolvePath } from '../accesses.ts'
import { globExpression } from '../tools/index.ts'
import type { ParsedRule } from './rules.ts'
import { programName, type ShellReading, type SimpleCommand } from './shell.ts'

/** A call as rules see it. */
export type SeenCall = {
  readonly tool: string
  /** The MCP server of the tool. */
  readonly server: string | undefined
  readonly accesses: readonly Access[]
  /** The command of Bash. */
  readonly shell: ShellReading | undefined
  /** Words of the command that may name files. */
  readonly mentioned: readonly Access[]
  /** The command is too long to be read whole: what a rule forbids may be in the rest. */
  readonly isTooLong: boolean
  /** The address of Fetch. */
  readonly url: string | undefined
}

/** The folders that paths in rules begin in. */
export type RuleFolders = { readonly directory: string; readonly home: string }

const READING = ['Read', 'Glob', 'Grep']
const CHANGING = ['Edit', 'Write']

/** Whether a rule that refuses or asks applies: rather once too often than once too few. */
export function forbids(rule: ParsedRule, call: SeenCall, folders: RuleFolders): boolean {
  const { tool, pattern } = rule
  const accesses = accessesOf(rule, call)
  if (pattern === undefined) return accesses.length > 0 || namesLoosely(tool, call)
  if (tool === 'Bash') return call.shell !== undefined && forbidsCommand(pattern, call.shell)
  if (tool === 'Fetch') return call.url !== undefined && matchesText(pattern, call.url)
  const named = tool === 'Read' || tool === 'Edit' ? call.mentioned : []
  return [...accesses, ...named].some((access) => forbidsPath(rule, access, folders))
}

/** Whether one of the paths of an access is forbidden; what is below a forbidden folder is, too. */
export function forbidsPath(
  rule: ParsedRule,
  { path, asked, isRecursive }: Pick<Access, 'path' | 'asked' | 'isRecursive'>,
  folders: RuleFolders,
): boolean {
  const matchers = pathMatchers(rule, folders, 'anywhere')
  const fitsOne = (one: string) => matchers.some((fits) => fits(one))
  return [path, asked].some(
    (one) => upwards(one).some(fitsOne) || (isRecursive && belowOf(one).every(fitsOne)),
  )
}

/** Whether rules that allow cover all of the call, each part by one of them. */
export function isAllowedBy(rules: readonly ParsedRule[], call: SeenCall, folders: RuleFolders): boolean {
  if (rules.some((rule) => rule.pattern === undefined && names(rule.tool, call))) return true
  if (call.shell) return isShellAllowed(rules, call, call.shell, folders)
  if (call.url !== undefined) {
    const { url } = call
    return rules.some((rule) => rule.tool === 'Fetch' && fitsText(rule.pattern ?? '', url))
  }
  const own = rules.filter((rule) => coversTool(rule.tool, call.tool))
  return call.accesses.length > 0 && call.accesses.every((access) => isPathAllowed(own, access, folders))
}

function isShellAllowed(
  rules: readonly ParsedRule[],
  { accesses }: SeenCall,
  shell: ShellReading,
  folders: RuleFolders,
): boolean {
  const ofShell = rules.filter(({ tool, pattern }) => tool === 'Bash' && pattern !== undefined)
  const isAllowed = ({ words }: SimpleCommand) =>
    ofShell.some(({ pattern = '' }) => fitsText(pattern, words.join(' ')))
  if (!shell.isCertain || !shell.commands.every(isAllowed)) return false
  // Behind `cd` nobody knows which folder a relative path begins in.
  const moves = shell.commands.some(({ words }) => /^(cd|pushd|popd)$/.test(words[0] ?? ''))
  if (moves && shell.redirections.some(({ path }) => !/^[~/]/.test(path))) return false
  return accesses.every((access) => {
    if (access.path === '/dev/null') return true
    if (access.kind === 'read' && access.isInside) return true
    const own = rules.filter(({ tool }) => tool === (access.kind === 'read' ? 'Read' : 'Edit'))
    return isPathAllowed(own, access, folders) || own.some(({ pattern }) => pattern === undefined)
  })
}

function isPathAllowed(rules: readonly ParsedRule[], access: Access, folders: RuleFolders): boolean {
  return rules.some((rule) => {
    const { pattern } = rule
    if (pattern === undefined) return true
    if (access.kind === 'write' && isProtected(access, pattern, folders)) return false
    const [fits] = pathMatchers(rule, folders, 'working folder')
    const samples = access.isRecursive ? belowOf(access.path) : [access.path]
    return fits !== undefined && samples.every(fits)
  })
}

/** Files that later run by themselves, or decide what does: a pattern covers them only where it names them. */
const PROTECTED = [
  ...['.git', '.toolshelf', '.agents', '.claude', '.vscode', '.cursor', '.codex', '.gemini', '.qwen', '.zed'],
  ...['.mcp.json', 'toolshelf.json', 'opencode.json', 'opencode.jsonc'],
  ...['.config/toolshelf', 'share/toolshelf', 'state/toolshelf', '.cache/toolshelf'],
]
/** Wherever variables put Toolshelf's folders, this is the name of each. */
const PROTECTED_OUTSIDE = [...PROTECTED, 'toolshelf']

function isProtected({ path, isInside }: Access, pattern: string, { directory }: RuleFolders): boolean {
  const way = (isInside ? relative(directory, path) : path).replaceAll('\\', '/').toLowerCase()
  const names = isInside ? PROTECTED : PROTECTED_OUTSIDE
  return names.some((name) => `/${way}/`.includes(`/${name}/`) && !pattern.toLowerCase().includes(name))
}

/** `Read` stands for every tool that reads files, `Edit` for those that change their text. */
function coversTool(rule: string, tool: string): boolean {
  if (rule === 'Read') return READING.includes(tool)
  return rule === 'Edit' ? CHANGING.includes(tool) : rule === tool
}

/** The accesses that a rule about paths is about: `Read` and `Edit` of all tools, others of their own. */
function accessesOf({ tool }: ParsedRule, call: SeenCall): readonly Access[] {
  if (tool === 'Read') return call.accesses.filter(({ kind }) => kind === 'read')
  if (tool === 'Edit') return call.accesses.filter(({ kind }) => kind === 'write')
  return tool === call.tool ? call.accesses : []
}

function forbidsCommand(pattern: string, { commands, suspects }: ShellReading): boolean {
  return [...commands, ...suspects].some(({ words }) => {
    const [program = '', ...rest] = words
    return [program, programName(program)].some((name) => matchesText(pattern, [name, ...rest].join(' ')))
  })
}

/** By its own name, or by that of its kind. */
function names(pattern: string, call: SeenCall): boolean {
  if (call.server === undefined) return matchesAny([pattern], call.tool) || coversTool(pattern, call.tool)
  if (!matchesAny([pattern], call.tool)) return false
  // `mcp__a__*` is about the server `a`, not about another one that is called `a__b`.
  const [head = ''] = pattern.split('*')
  const hasServer = /^mcp__.+?__/.test(head)
  return !hasServer || head.startsWith(mcpName(call.server, ''))
}

function namesLoosely(pattern: string, call: SeenCall): boolean {
  return matchesAny([pattern.toLowerCase()], call.tool.toLowerCase()) || coversTool(pattern, call.tool)
}

function fitsText(pattern: string, text: string): boolean {
  return matchesAny([pattern], text)
}

function matchesText(pattern: string, text: string): boolean {
  return matchesAny([pattern.toLowerCase()], text.toLowerCase())
}

/** Names that no file has, for the question whether a pattern fits all that is below a folder. */
const belowOf = (folder: string) => [join(folder, '\u0001'), join(folder, '\u0001', '\u0001')]

/** The path and the folders above it, but the root. */
function upwards(path: string): string[] {
  const folder = dirname(path)
  return folder === path ? [] : [path, ...upwards(folder)]
}

type Fits = (path: string) => boolean
type Reach = 'working folder' | 'anywhere'

/** Rules are made once for their folders, and asked for every file of a search. */
const compiled: { readonly [reach in Reach]: WeakMap<ParsedRule, readonly Fits[]> } = {
  'working folder': new WeakMap(),
  anywhere: new WeakMap(),
}

/**
 * What a pattern of a path fits: below the working folder unless it is absolute or begins with `~`. One without a slash
 * fits names in every folder; `anywhere`, also outside of the working folder, and in upper or lower case.
 */
function pathMatchers(rule: ParsedRule, folders: RuleFolders, reach: Reach): readonly Fits[] {
  const known = compiled[reach].get(rule) ?? compile(rule.pattern ?? '**', folders, reach)
  compiled[reach].set(rule, known)
  return known
}

function compile(pattern: string, folders: RuleFolders, reach: Reach): Fits[] {
  const whole = pattern.endsWith('/') ? `${pattern}**` : pattern
  const isName = !whole.includes('/') && !whole.startsWith('~')
  if (isName && reach === 'anywhere') return [fitsGlob('', `/**/${whole}`, reach)]
  const [head, rest] = headOf(isName ? `**/${whole}` : whole)
  const base = resolvePath(folders.directory, head, folders.home)
  const bases = reach === 'anywhere' ? [base, realOf(base)] : [realOf(base)]
  return [...new Set(bases)].map((folder) => fitsGlob(folder, rest === '' ? '' : `/${rest}`, reach))
}

/** The folders in front that are no pattern, and what is behind them. */
function headOf(pattern: string): [string, string] {
  const parts = pattern.split('/')
  const first = parts.findIndex((part) => /[*?[{]/.test(part))
  if (first < 0) return [pattern, '']
  const head = parts.slice(0, first).join('/')
  return [head === '' ? (pattern.startsWith('/') ? '/' : '.') : head, parts.slice(first).join('/')]
}

function fitsGlob(folder: string, rest: string, reach: Reach): Fits {
  const base = RE2JS.quote(folder.replaceAll('\\', '/').replace(/\/$/, ''))
  const flags = RE2JS.DOTALL | (reach === 'anywhere' ? RE2JS.CASE_INSENSITIVE : 0)
  const expression = RE2JS.compile(`^${base}${globExpression(rest)}$`, flags)
  return (path) => expression.matches(path.replaceAll('\\', '/'))
}

/** As far as it exists. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realOf(folder), basename(path))
  }
}

/** A path as people read it: below the working folder, or the home, without it. */
export function shortPath(path: string, { directory, home }: RuleFolders): string {
  if (isWithin(path, directory)) return path === directory ? '.' : path.slice(directory.length + 1)
  return isWithin(path, home) && path !== home ? `~/${path.slice(home.length + 1)}` : path
}
