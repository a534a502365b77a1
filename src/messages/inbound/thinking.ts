// Converts OpenAI's reasoning effort to the thinking settings of the Messages API.
import type { Fields } from '../types.ts'

/** Efforts that both APIs name alike. */
const EFFORTS = new Set(['low', 'medium', 'high', 'xhigh', 'max'])

/** Claude models before 4.6 take a budget instead of an effort; without their signed thoughts they refuse a history. */
const OLDER_CLAUDE = /claude-(?:[23]\b|instant|(?:opus|sonnet|haiku)-(?:4(?:-[0-5])?(?:-\d{8})?$|4@|3))/

/** Returns the fields for an effort; none if the client names none, so that the model decides. */
export function toThinking(model: string, effort: string | undefined): Fields {
  if (effort === undefined || OLDER_CLAUDE.test(model)) return {}
  if (effort === 'none' || effort === 'minimal') return { thinking: { type: 'disabled' } }
  return { thinking: { type: 'adaptive' }, ...(EFFORTS.has(effort) ? { output_config: { effort } } : {}) }
}
