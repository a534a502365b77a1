// Assigns colours to the states of servers.
import type { ServerView } from '../../api.ts'
import type { Tone } from '../ui/parts.tsx'

/** The tone of each state. */
export const STATE_TONES: { readonly [state in ServerView['state']]: Tone } = {
  connected: 'good',
  idle: 'plain',
  pending: 'warn',
  failed: 'bad',
  disabled: 'plain',
  untrusted: 'warn',
}
