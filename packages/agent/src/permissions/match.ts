// Decides which permission rules apply to a call, by tool name, path, address or shell command, and suggests rules that
// would allow it.
import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { matchesAny, matchesTool, slugOf, splitToolName, type ToolPattern } from '@toolshelf/core/internal'
import { RE2JS } from 're2js'
import { type Access, isWithin, resolvePath } from '../accesses.ts'
import { globExpression } from '../tools/files.ts'
import { type Address, coversAddress, namesAddress } from './address.ts'
import { OF_FOLDER, type ParsedRule } from './rules.ts'
import { coversCommand, mayLeadTo, namesCommand, type PlainCommand } from './shell.ts'

/** A call as rules see it. */
export type SeenCall = {
  readonly tool: string
  /** The tool's MCP server, if it has one. */
  readonly server: string | undefined
  /** Whose this server is; undefined if it came with another folder than the working folder. */
  readonly owner: 'own' | 'folder' | undefined
  readonly accesses: readonly Access[]
  /** The command of a Bash call; `other` if it is not a plain simple command. */
  readonly command: PlainCommand | 'other' | undefined
  /** Files that the command's words may refer to. */
  readonly mentioned: readonly Access[]
  readonly address: Address | undefined
}

/** The folders that paths in rules are relative to. */
export type RuleFolders = { readonly directory: string; readonly home: string }

const READING = ['Read', 'Glob', 'Grep']
const CHANGING = ['Edit', 'Write']

/** Returns whether a deny or ask rule applies. When in doubt, it does. */
export function forbids(rule: ParsedRule, call: SeenCall, folders: RuleFolders): boolean {
  const { tool, pattern } = rule
  const accesses = accessesOf(rule, call)
  if (pattern === undefined) return accesses.length > 0 || namesLoosely(rule, call)
  const { command, address } = call
  if (tool === 'Bash') return typeof command === 'object' && namesCommand(pattern, command)
  if (tool === 'Fetch') return address !== undefined && namesAddress(pattern, address)
  const named = tool === 'Read' || tool === 'Edit' ? call.mentioned : []
  return [...accesses, ...named].some((access) => forbidsPath(rule, access, folders))
}

/** Returns whether a deny or ask rule may be about what a command does, though it does not name it. */
export function mayForbid({ tool, pattern }: ParsedRule, { command }: SeenCall): boolean {
  if (command === undefined) return false
  if (command === 'other')
    return tool === 'Read' || tool === 'Edit' || (tool === 'Bash' && pattern !== undefined)
  return tool === 'Bash' && pattern !== undefined && mayLeadTo(pattern, command)
}

/** Returns whether a rule forbids a path of an access, or a folder above it. */
export function forbidsPath(
  rule: ParsedRule,
  { path, requestedPath, isRecursive }: Pick<Access, 'path' | 'requestedPath' | 'isRecursive'>,
  folders: RuleFolders,
): boolean {
  const matchers = pathMatchers(rule, folders, 'anywhere')
  const fitsOne = (one: string) => matchers.some((fits) => fits(one))
  return [path, requestedPath].some(
    (one) => upwards(one).some(fitsOne) || (isRecursive && belowOf(one).every(fitsOne)),
  )
}

/**
 * Returns whether allow rules cover the command or the address of the call, or all its paths; a call without any needs a
 * rule for its tool.
 */
export function isAllowedBy(rules: readonly ParsedRule[], call: SeenCall, folders: RuleFolders): boolean {
  if (rules.some((rule) => rule.pattern === undefined && names(rule, call))) return true
  const { command, address } = call
  const patternsOf = (tool: string) =>
    rules.flatMap((rule) => (rule.tool === tool ? (rule.pattern ?? []) : []))
  if (command !== undefined)
    return command !== 'other' && patternsOf('Bash').some((pattern) => coversCommand(pattern, command))
  if (address) return patternsOf('Fetch').some((pattern) => coversAddress(pattern, address))
  const own = rules.filter((rule) => coversTool(rule.tool, call.tool))
  return call.accesses.length > 0 && call.accesses.every((access) => isPathAllowed(own, access, folders))
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

/** Files that run automatically later, or control what does: a pattern covers them only if it names them. */
const PROTECTED = [
  ...['.git', '.toolshelf', '.agents', '.claude', '.vscode', '.cursor', '.codex', '.gemini', '.qwen', '.zed'],
  ...['.devin', '.windsurf', '.opencode'],
  ...['.mcp.json', 'toolshelf.json', 'opencode.json', 'opencode.jsonc'],
  ...['.config/toolshelf', 'share/toolshelf', 'state/toolshelf', '.cache/toolshelf'],
]
/** Toolshelf's own folders have this name wherever environment variables put them. */
const PROTECTED_OUTSIDE = [...PROTECTED, 'toolshelf']

function isProtected({ path, isInside }: Access, pattern: string, { directory }: RuleFolders): boolean {
  const way = (isInside ? relative(directory, path) : path).replaceAll('\\', '/').toLowerCase()
  const names = isInside ? PROTECTED : PROTECTED_OUTSIDE
  return names.some((name) => `/${way}/`.includes(`/${name}/`) && !pattern.toLowerCase().includes(name))
}

/** `Read` rules apply to every tool that reads files, `Edit` rules to those that change text. */
function coversTool(rule: string, tool: string): boolean {
  if (rule === 'Read') return READING.includes(tool)
  return rule === 'Edit' ? CHANGING.includes(tool) : rule === tool
}

/** The accesses that a path rule applies to: for `Read` and `Edit` those of all tools, else the tool's own. */
function accessesOf({ tool }: ParsedRule, call: SeenCall): readonly Access[] {
  if (tool === 'Read') return call.accesses.filter(({ kind }) => kind === 'read')
  if (tool === 'Edit') return call.accesses.filter(({ kind }) => kind === 'write')
  return tool === call.tool ? call.accesses : []
}

/** Whether an allow rule matches the call's tool, or is `Read` or `Edit` and covers it. */
function names({ tool, tools, isOfFolder }: ParsedRule, call: SeenCall): boolean {
  if (call.server === undefined) return matchesAny([tool], call.tool) || coversTool(tool, call.tool)
  const isCovered = call.owner === (isOfFolder ? 'folder' : 'own')
  return isCovered && tools !== undefined && matchesTool(tools, nameParts(call.server, call.tool))
}

/** Whether a rule that denies or asks matches; letters match in any case, and without `folder:` all servers do. */
function namesLoosely({ tool, tools }: ParsedRule, call: SeenCall): boolean {
  const [wanted, name] = [tool.toLowerCase(), call.tool.toLowerCase()]
  if (call.server === undefined) return matchesAny([wanted], name) || coversTool(tool, call.tool)
  if (tool.startsWith(OF_FOLDER) && call.owner === 'own') return false
  return (
    tools !== undefined &&
    matchesTool({ ...tools, tool: tools.tool.toLowerCase() }, nameParts(call.server, name))
  )
}

function nameParts(server: string, tool: string): ToolPattern {
  return splitToolName(tool) ?? { server: slugOf(server), tool }
}

/** Returns paths that no file has, to test whether a pattern matches everything below a folder. */
const belowOf = (folder: string) => [join(folder, '\u0001'), join(folder, '\u0001', '\u0001')]

/** The path and its parent folders, without the root. */
function upwards(path: string): string[] {
  const folder = dirname(path)
  return folder === path ? [] : [path, ...upwards(folder)]
}

type Fits = (path: string) => boolean
type Reach = 'working folder' | 'anywhere'

/** Compiled matchers per rule, because a search tests every file against them. */
const compiled: { readonly [reach in Reach]: WeakMap<ParsedRule, readonly Fits[]> } = {
  'working folder': new WeakMap(),
  anywhere: new WeakMap(),
}

/**
 * Compiles a path pattern, which is relative to the working folder unless it is absolute or begins with `~`. A pattern
 * without a slash matches names in every folder; with `anywhere`, also outside the working folder and in any case.
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

/** Splits a pattern into its literal leading folders and the rest. */
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

/** Resolves symbolic links in the part of the path that exists. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realOf(folder), basename(path))
  }
}

/** Shortens a path for display, relative to the working folder or the home. */
function shortPath(path: string, { directory, home }: RuleFolders): string {
  if (isWithin(path, directory)) return path === directory ? '.' : path.slice(directory.length + 1)
  return isWithin(path, home) && path !== home ? `~/${path.slice(home.length + 1)}` : path
}

const MAX_PATTERN_LENGTH = 200

/**
 * Returns rules that allow this call and little more: for Bash exactly its command, for files their folder, for MCP tools
 * the tool. Empty if no rule can allow it, so that it can only be allowed once.
 */
export function suggestedRules(call: SeenCall, folders: RuleFolders): readonly string[] {
  if (call.server !== undefined) return call.owner === 'folder' ? [OF_FOLDER + call.tool] : [call.tool]
  if (call.command) return call.command === 'other' ? [] : commandRules(call.command)
  if (call.address)
    return /^https?:\/\/[^/]+\//.exec(call.address.text)?.map((origin) => `Fetch(${origin}*)`) ?? []
  if (call.accesses.length === 0) return [call.tool]
  const tool = { Glob: 'Read', Grep: 'Read', Write: 'Edit' }[call.tool] ?? call.tool
  const patterns = call.accesses.map(({ path, isInside, isRecursive }) =>
    isInside ? './**' : `${shortPath(isRecursive ? path : dirname(path), folders)}/**`,
  )
  const isPlain = patterns.every(
    (pattern) => !/[*?[{]/.test(pattern.slice(0, -3)) && pattern.length <= MAX_PATTERN_LENGTH,
  )
  return isPlain ? [...new Set(patterns)].map((pattern) => `${tool}(${pattern})`) : []
}

function commandRules({ text }: PlainCommand): string[] {
  return text.includes('*') || text.length > MAX_PATTERN_LENGTH ? [] : [`Bash(${text})`]
}
