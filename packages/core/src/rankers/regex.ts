// Implements the ranker `regex`: case-insensitive matching like Python's `re.search` over name, description, argument
// names and descriptions, as in the hosted search tool (wire 1.10). Uses RE2, so matching takes linear time for any
// pattern.
// Implements wire 18, 19.

import { RE2JS } from 're2js'
import { oncePer } from '../lib/objects.ts'
import type { Rank } from '../query.ts'
import { turns } from '../schedule.ts'
import { SearchInputError } from '../search/lexical-search.ts'
import { searchFields } from '../search/words.ts'
import type { PoolTool } from '../types.ts'

const MAX_PATTERN_LENGTH = 200

/** The score of a match per field: name, description, argument names, argument descriptions. */
const FIELD_SCORES = [4, 3, 2, 1]

/** Tools to look at before other work may run: a pattern takes up to 0.1 ms for each. */
const BETWEEN_PAUSES = 50

/** Ranks matching tools by field score, then in pool order. Rejects with a SearchInputError for an invalid pattern. */
export const regex: Rank = async (tools, pattern, limit) => {
  const compiled = compile(pattern)
  const found: { tool: PoolTool; score: number }[] = []
  for (const [index, tool] of tools.entries()) {
    if (index > 0 && index % BETWEEN_PAUSES === 0) await turns.pause()
    const field = textsOf(tool).findIndex((texts) => texts.some((text) => compiled.test(text)))
    if (field >= 0) found.push({ tool, score: FIELD_SCORES[field] ?? 0 })
  }
  found.sort((a, b) => b.score - a.score)
  return { hits: found.slice(0, limit), matched: found.length }
}

function compile(pattern: string): RE2JS {
  if (pattern === '') throw new SearchInputError('the pattern is empty. Give one that matches a tool.')
  if (pattern.length > MAX_PATTERN_LENGTH) {
    const message = `the pattern has ${pattern.length} characters; at most ${MAX_PATTERN_LENGTH} are allowed. Shorten it.`
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

/** Translates Python syntax: `\Z` matches the very end, and classes match all scripts. */
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
      const head = /\[\^?\]?/.exec(pattern.slice(index))![0]
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

/** Returns the searched texts of a tool, one list per field in the order of FIELD_SCORES. */
const textsOf = oncePer((tool: PoolTool): string[][] => {
  const [, , , description = [], names = [], descriptions = []] = searchFields(tool)
  return [[tool.name], description.filter((text) => text !== ''), names, descriptions]
})
