// Converts OpenAI's reasoning effort to the thinking settings of the Messages API; the upstream fits them to its model.
import type { Fields } from '../types.ts'

/** Efforts that both APIs name alike. */
const EFFORTS = new Set(['low', 'medium', 'high', 'xhigh', 'max'])

/** Returns the fields for an effort; none if the client names none, so that the model decides. */
export function toThinking(effort: string | undefined): Fields {
  if (effort === undefined) return {}
  if (effort === 'none' || effort === 'minimal') return { thinking: { type: 'disabled' } }
  return { thinking: { type: 'adaptive' }, ...(EFFORTS.has(effort) ? { output_config: { effort } } : {}) }
}
