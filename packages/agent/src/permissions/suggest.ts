// Suggests rules that would allow a call, for users who do not want to be asked again.
import { dirname } from 'node:path'
import { type RuleFolders, type SeenCall, shortPath } from './match.ts'
import { OF_FOLDER } from './rules.ts'
import type { PlainCommand } from './shell.ts'

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
