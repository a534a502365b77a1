// What an upstream without references is told in their place.
import type { Revealed } from '../../core/oracle/walk.ts'
import { CALL_TOOL } from './call-tool.ts'

/** Said where tools came into sight; on the bridge with the definitions that were not shown before. */
export function loadedText(
  names: readonly string[],
  revealed: readonly Revealed[],
  isBridge: boolean,
): string {
  const loaded = `Tools loaded: ${names.join(', ')}.`
  if (!isBridge) return `${loaded} They are in your list of tools now.`
  if (revealed.length === 0) return `${loaded} Their definitions stand above.`
  return [
    `${loaded} Call them with ${CALL_TOOL}. Their definitions:`,
    ...revealed.map(({ definition }) => definition),
  ].join('\n')
}

export function removedText(names: readonly string[]): string {
  return `No longer available: ${names.join(', ')}.`
}

export const NO_MATCH = 'No tool matches. Try other words.'

export function failedText(code: string, message: string): string {
  return `The search failed (${code})${message === '' ? '' : `: ${message}`}`
}

/** Words of the host amid the conversation. */
export function reminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`
}
