// The texts that replace references for upstreams without tool search.

import type { RevealedTool } from '../../core/oracle/index.ts'
import { CALL_TOOL } from '../../lib/index.ts'

/** Announces tools that became available, with the definitions of those called through CallTool. */
export function loadedText(
  names: readonly string[],
  revealed: readonly RevealedTool[] = [],
  bridged: ReadonlySet<string> = new Set(),
): string {
  const listed = names.filter((name) => !bridged.has(name))
  const others = names.filter((name) => bridged.has(name))
  const definitions = revealed.filter(({ name }) => bridged.has(name)).map(({ definition }) => definition)
  return [
    ...(listed.length > 0 ? [`${loaded(listed)} They are in your list of tools now.`] : []),
    ...(others.length > 0 ? [`${loaded(others)} ${howToCall(definitions)}`] : []),
    ...definitions,
  ].join('\n')
}

function loaded(names: readonly string[]): string {
  return `Tools loaded: ${names.join(', ')}.`
}

function howToCall(definitions: readonly string[]): string {
  if (definitions.length === 0) return 'Their definitions are above.'
  return `Call them with ${CALL_TOOL}. Their definitions:`
}

/** Says which tools are no longer available. */
export function removedText(names: readonly string[]): string {
  return `No longer available: ${names.join(', ')}.`
}

/** Result of a search that found nothing. */
export const NO_MATCH = 'No tool matches. Try other words.'

/** Describes a failed search. */
export function failedText(code: string, message: string): string {
  return `The search failed (${code})${message === '' ? '' : `: ${message}`}`
}

/** Marks text inside the conversation as coming from the host. */
export function systemReminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`
}
