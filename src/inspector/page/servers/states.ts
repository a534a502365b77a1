// How the states of servers look.
import type { ServerView } from '../../api.ts'
import type { Tone } from '../ui/index.ts'

export const STATE_TONES: { readonly [state in ServerView['state']]: Tone } = {
  connected: 'good',
  idle: 'plain',
  pending: 'warn',
  failed: 'bad',
  disabled: 'plain',
  untrusted: 'warn',
}
