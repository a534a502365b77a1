// Suggests rules that would allow a call, for users who do not want to be asked again.
import { dirname } from 'node:path'
import { type RuleFolders, type SeenCall, shortPath } from './match.ts'
import { programName } from './shell.ts'

const MAX_COMMANDS = 5
const MAX_PATTERN_LENGTH = 200

/**
 * Returns rules that allow this call and little more: for Bash exactly its commands, for files their folder, for MCP tools
 * the tool. Empty if no rule can allow it, so that it can only be allowed once.
 */
export function suggestedRules(call: SeenCall, folders: RuleFolders): readonly string[] {
  if (call.server !== undefined) return [call.tool]
  if (call.shell) return commandRules(call)
  if (call.url !== undefined) return URL.canParse(call.url) ? [`Fetch(${new URL(call.url).origin}/*)`] : []
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

function commandRules({ shell, accesses }: SeenCall): string[] {
  if (!shell?.isCertain || accesses.some(({ kind, isInside }) => kind === 'write' || !isInside)) return []
  const texts = [...new Set(shell.commands.map(({ words }) => words.join(' ')))]
  const isPlain = texts.every((text) => !/[*\p{Cc}]/u.test(text) && text.length <= MAX_PATTERN_LENGTH)
  const isNamed = shell.commands.every(({ words }) => programName(words[0] ?? '') !== '')
  return isPlain && isNamed && texts.length <= MAX_COMMANDS ? texts.map((text) => `Bash(${text})`) : []
}
