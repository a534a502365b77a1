// The ranker `regex`: Python's `re.search` without case over name, description, argument names and descriptions, as the
// hosted search tool has it (wire 1.10). Linear time whatever the pattern: the engine is RE2's, not the runtime's.
import { RE2JS } from 're2js'
import type { PoolTool, Rank } from '../core/index.ts'
import { SearchInputError, searchFields } from '../search/index.ts'

const LONGEST_PATTERN = 200

/** What a match in each field is worth, best first: name, description, argument names, argument descriptions. */
const FIELD_SCORES = [4, 3, 2, 1]

/** Tools with a match, those with one in the name first, else in the order of the pool. Throws SearchInputError. */
export const regex: Rank = (tools, pattern, limit) => {
  const compiled = compile(pattern)
  const found: { tool: PoolTool; score: number }[] = []
  for (const tool of tools) {
    const field = textsOf(tool).findIndex((texts) => texts.some((text) => compiled.test(text)))
    if (field >= 0) found.push({ tool, score: FIELD_SCORES[field] ?? 0 })
  }
  found.sort((a, b) => b.score - a.score)
  return { hits: found.slice(0, limit), matched: found.length }
}

function compile(pattern: string): RE2JS {
  if (pattern === '') throw new SearchInputError('the pattern is empty. Give one that matches a tool.')
  if (pattern.length > LONGEST_PATTERN) {
    const message = `the pattern has ${pattern.length} characters; at most ${LONGEST_PATTERN} are taken. Shorten it.`
    throw new SearchInputError(message)
  }
  try {
    return RE2JS.compile(fromPython(pattern), RE2JS.CASE_INSENSITIVE)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SearchInputError(
      `the pattern is not a regular expression that can be searched (${reason}). Look-around and back-references are not supported.`,
    )
  }
}

/** What Python spells differently: `\Z` is the very end, and classes know every script. */
function fromPython(pattern: string): string {
  let result = ''
  let isClass = false
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index]!
    if (character === '\\') {
      const escaped = pattern[++index] ?? ''
      result += (isClass ? CLASS_ESCAPES : ESCAPES).get(escaped) ?? `\\${escaped}`
      continue
    }
    if (character === '[' && !isClass) {
      isClass = true
      const head = /^\[\^?\]?/.exec(pattern.slice(index))![0]
      result += head.endsWith(']') ? `${head.slice(0, -1)}\\]` : head
      index += head.length - 1
      continue
    }
    if (character === ']') isClass = false
    result += character
  }
  return result
}

const CLASS_ESCAPES = new Map([
  ['w', '\\p{L}\\p{N}_'],
  ['d', '\\p{Nd}'],
])

const ESCAPES = new Map([
  ['Z', '\\z'],
  ['w', '[\\p{L}\\p{N}_]'],
  ['W', '[^\\p{L}\\p{N}_]'],
  ['d', '\\p{Nd}'],
  ['D', '\\P{Nd}'],
])

const remembered = new WeakMap<PoolTool, string[][]>()

/** The searched texts of a tool, a list a field in the order of FIELD_SCORES. */
function textsOf(tool: PoolTool): string[][] {
  let texts = remembered.get(tool)
  if (!texts) {
    const [, , , description = [], names = [], descriptions = []] = searchFields(tool)
    texts = [[tool.name], description.filter((text) => text !== ''), names, descriptions]
    remembered.set(tool, texts)
  }
  return texts
}
