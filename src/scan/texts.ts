// Collects all texts of a definition that a model would read.

import { isContainer, walkJson } from '../lib/index.ts'
import type { ListedTool } from '../mcp/index.ts'

/** A text with its path in the definition. */
export type Text = { readonly where: string; readonly text: string }

/** The collected texts of one definition. */
export type Texts = {
  readonly texts: readonly Text[]
  /** The names of arguments, which are scanned too: a list per object. */
  readonly names: readonly Text[]
  /** False if there are more than were collected. */
  readonly isAll: boolean
}

/** Limits per tool. */
export const MAX_TEXTS = 2_000

/**
 * Returns a definition's texts; names and descriptions come first, so that no list of values can displace them.
 */
export function textsOf(tool: ListedTool): Texts {
  const [names, prose, values]: [Text[], Text[], Text[]] = [[], [], []]
  for (const part of ['name', 'title', 'description', 'annotations', 'inputSchema', 'outputSchema'])
    for (const { path: where, key, value } of walkJson(tool[part], part)) {
      if (key === 'properties' && isContainer(value))
        names.push({ where, text: Object.keys(value).join(', ') })
      else if (typeof value !== 'string') continue
      else if (isProse(key)) prose.push({ where, text: value })
      else if (!isWord(value)) values.push({ where, text: value })
    }
  const texts = [...prose, ...values]
  return {
    texts: texts.slice(0, MAX_TEXTS),
    names: names.slice(0, MAX_TEXTS),
    isAll: Math.max(texts.length, names.length) <= MAX_TEXTS,
  }
}

function isProse(key: string): boolean {
  return key === 'name' || key === 'title' || key === 'description'
}

/** `string`, `date-time`, `#/$defs/Page`: frequent schema values without natural language. */
function isWord(value: string): boolean {
  return /^[\w.:/#$@+-]{0,100}$/.test(value)
}
