// Adds related items to a search, such as skills.
// Implements S17.
import { oneLine } from '../../lib/index.ts'
import type { PoolTool } from '../types.ts'
import { selectedNames } from './query.ts'

/** Something that matches a search but is not a tool of the shelf, such as a skill. */
export type RelatedItem = {
  /** What it is, such as `skill`. */
  readonly kind: string
  /** The name by which the model refers to it. */
  readonly name: string
  /** What it is for; cut to one line in the answer. */
  readonly description: string
  /** What the model can do about it, such as `Read it with Skill.` */
  readonly advice: string
}

/** Finds items other than tools that match a query: the option `related`. Best first; answers name the first three. */
export type FindRelated = (
  query: string,
  tools: readonly PoolTool[],
) => readonly RelatedItem[] | Promise<readonly RelatedItem[]>

const MAX_NAMED = 3
const MAX_NAME_LENGTH = 80
const MAX_DESCRIPTION_LENGTH = 160
const MAX_ADVICE_LENGTH = 300

/** Calls the option `related`, except for searches by exact names. Returns nothing if it fails. */
export async function findRelated(
  related: FindRelated | undefined,
  query: string,
  tools: readonly PoolTool[],
): Promise<readonly RelatedItem[]> {
  if (!related || selectedNames(query)) return []
  try {
    return (await related(query, tools)).slice(0, MAX_NAMED)
  } catch {
    return []
  }
}

/** Lists the items, one line each; their texts are untrusted and cut. */
export function aboutRelated(items: readonly RelatedItem[]): string {
  const lines = items.map(({ kind, name, description, advice }) => {
    const about = `${oneLine(kind, MAX_NAME_LENGTH)} ${oneLine(name, MAX_NAME_LENGTH)}: ${oneLine(description, MAX_DESCRIPTION_LENGTH)}`
    return `- ${about} (${oneLine(advice, MAX_ADVICE_LENGTH)})`
  })
  return lines.length > 0 ? ['Beside your tools, these fit:', ...lines].join('\n') : ''
}
