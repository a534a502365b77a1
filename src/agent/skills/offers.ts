// Writes skill offers for the model and finds them in a history: offered skills count as discovered.
// Implements U2, U3.

import { reminder } from '../../core/history/index.ts'
import type { Message } from '../../core/index.ts'
import { blocksOf } from '../../core/oracle/index.ts'
import { oneLine, textOf } from '../../lib/index.ts'

/** Name of the tool that searches skills. */
export const DISCOVER = 'DiscoverSkills'
const OFFER = 'Skills relevant to your task:'
const OFFERED = /^<[a-z-]+>\nSkills relevant to your task:\n/

/** Maximum characters of a description in an offer. */
const MAX_LINE_LENGTH = 240

type SkillSummary = { readonly name: string; readonly description: string }

/** Writes the offer of these skills. */
export function offerText(skills: readonly SkillSummary[]): string {
  return reminder(`${OFFER}\n${skillLines(skills)}`)
}

/** Lists skills, one per line. */
export function skillLines(skills: readonly SkillSummary[]): string {
  return skills
    .map(({ name, description }) => `- ${name}: ${oneLine(description, MAX_LINE_LENGTH)}`)
    .join('\n')
}

/**
 * Returns the names of skills from offers and from answers to DiscoverSkills. Other tools' output cannot make a skill
 * discovered.
 */
export function discoveredIn(messages: readonly Message[]): Set<string> {
  const names = new Set<string>()
  const searches = new Set<unknown>()
  for (const { role, content } of messages) {
    for (const { type, name, id, text, tool_use_id: call, content: answer } of blocksOf(content)) {
      if (role === 'assistant' && type === 'tool_use' && name === DISCOVER) searches.add(id)
      if (role !== 'user') continue
      if (type === 'text' && OFFERED.test(textOf(text))) addNames(names, textOf(text))
      if (type === 'tool_result' && searches.has(call))
        for (const block of blocksOf(answer)) addNames(names, textOf(block.text))
    }
  }
  return names
}

function addNames(names: Set<string>, text: string): void {
  for (const [, name] of text.matchAll(/^- ([^\s:]+): /gm)) if (name) names.add(name)
}
