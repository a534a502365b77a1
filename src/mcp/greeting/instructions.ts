// Writes the instructions for a client's model: how to find tools, and the servers' own instructions, within a budget.

import { aboutChanges, cleanText, oneLine, SEARCH_TOOL } from '../../lib/index.ts'
import type { ServerStatus } from '../types.ts'

/** What instructions say about a server. */
export type ServerDescription = {
  readonly name: string
  readonly description: string | undefined
  readonly instructions: string | undefined
  /** What of it changed since the user accepted it. */
  readonly changes?: ServerStatus['changes']
}

const CUT = '… [cut]'

/** Says that there is nothing to search, and what the user can do about it. */
export function aboutNoServers(hint = ''): string {
  return `No service is configured yet, so ${SEARCH_TOOL} finds nothing. ${hint}`.trimEnd()
}

/**
 * Writes the instructions for a client's model.
 *
 * @param hint - What the user can do while there is no server.
 */
export function joinInstructions(
  servers: readonly ServerDescription[],
  budget: number,
  hint?: string,
): string {
  if (servers.length === 0) return cut(aboutNoServers(hint), budget)
  const head = `The tools of these services are behind ${SEARCH_TOOL}: ${servers.map(line).join(', ')}. Search there for what a task needs, before you say that it cannot be done.`
  const speaking = servers.filter(({ instructions }) => instructions?.trim())
  const changes = aboutChanges(servers)
  const parts = [cut(changes ? `${head} ${changes}` : head, budget)]
  let left = budget - parts[0]!.length
  speaking.forEach(({ name, instructions }, index) => {
    const share = Math.floor(left / (speaking.length - index))
    const whole = `\n\n## ${oneLine(name, 60)}\n${cleanText(instructions!).trim()}`
    const part = cut(whole, share)
    if (part !== whole && part.length < MIN_EXCERPT_LENGTH) return
    parts.push(part)
    left -= part.length
  })
  return parts.join('')
}

/** Shortest useful excerpt of a text, in characters. */
const MIN_EXCERPT_LENGTH = 80

function line({ name, description }: ServerDescription): string {
  return description ? `${oneLine(name, 60)} (${cleanText(description)})` : oneLine(name, 60)
}

/** A high surrogate at the end of a cut text. */
const HALF = /[\uD800-\uDBFF]$/

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  if (maxLength <= CUT.length) return ''
  return text.slice(0, maxLength - CUT.length).replace(HALF, '') + CUT
}
