// Converts OpenAI's reasoning effort to the thinking settings of the Messages API.
import type { Fields } from '../types.ts'

const EFFORTS: { readonly [effort: string]: string } = {
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
}

/** Claude models before 4.6 take a budget instead of an effort; without their signed thoughts they refuse a history. */
const OLDER_CLAUDE = /claude-(?:[23]\b|instant|(?:opus|sonnet|haiku)-(?:4(?:-[0-5])?(?:-\d{8})?$|4@|3))/

/** The fields for an effort; none if the client names none, so that the model decides. */
export function toThinking(model: string, effort: string | undefined): Fields {
  if (effort === undefined || OLDER_CLAUDE.test(model)) return {}
  if (effort === 'none' || effort === 'minimal') return { thinking: { type: 'disabled' } }
  const known = EFFORTS[effort]
  return { thinking: { type: 'adaptive' }, ...(known ? { output_config: { effort: known } } : {}) }
}
