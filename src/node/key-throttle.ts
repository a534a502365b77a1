// Slows down key guessing without locking out clients that have a key: after several wrong keys an address must wait,
// but a right key that cannot be guessed, or was used from there before, still passes.
import { dropOldest } from '../lib/index.ts'
import { createWrongKeys, type WrongKeysOptions } from './wrong-keys.ts'

/** A throttle's decision: seconds to wait, `wrong` for a request without a right key, undefined if it may proceed. */
export type KeyVerdict = { readonly waitSeconds: number } | 'wrong' | undefined

/** Decides whether a request may proceed. */
export type KeyThrottle = (attempt: {
  /** The client's address. */
  readonly network: string
  /** The request's key, if it is a right one. */
  readonly key: string | undefined
  /** Whether the request has a key at all, right or wrong. */
  readonly hasKey: boolean
}) => KeyVerdict

/** Keys with this many characters cannot be guessed, however fast the attempts. Generated keys have 32. */
const TOO_LONG_TO_GUESS = 24
/** How many pairs of key and address to remember. */
const MAX_KNOWN = 1000

/** Creates a throttle. */
export function createKeyThrottle(options: WrongKeysOptions = {}): KeyThrottle {
  const wrongKeys = createWrongKeys(options)
  /** Short keys and where they were used; most recent last. */
  const known = new Set<string>()
  return ({ network, key, hasKey }) => {
    if (key !== undefined && key.length >= TOO_LONG_TO_GUESS) return undefined
    const user = `${network} ${key}`
    const isKnown = key !== undefined && known.delete(user)
    const waitSeconds = hasKey && !isKnown ? wrongKeys.waitSeconds(network) : 0
    if (waitSeconds > 0) return { waitSeconds }
    if (key !== undefined) {
      known.add(user)
      dropOldest(known, MAX_KNOWN)
      return undefined
    }
    if (hasKey) wrongKeys.add(network)
    return 'wrong'
  }
}
