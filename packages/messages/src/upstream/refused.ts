// A refusal is a flag on a text block inside the gateway: OpenAI's APIs have a place of its own for it, and in the Messages
// API the stop reason says it.
import type { Fields } from '../types.ts'

/** The start of a text block in which the model refuses to answer. */
export const REFUSAL_BLOCK: Fields = Object.freeze({ type: 'text', text: '', refusal: true })

/** What the Messages API says beside the stop reason of a refusal. */
export const REFUSAL_DETAILS: Fields = Object.freeze({ type: 'refusal', category: null, explanation: null })
