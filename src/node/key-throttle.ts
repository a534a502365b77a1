// Slows down key guessing without locking out those who hold a key: after several wrong keys from an address, it must wait,
// but a right key that cannot be guessed, or was used from there before, still passes.
import { dropOldest } from '../lib/index.ts'
import { createWrongKeys, type WrongKeysOptions } from './wrong-keys.ts'

/** What a throttle decides: seconds to wait, `wrong` for a request without a right key, undefined if it may proceed. */
export type KeyVerdict = { readonly waitSeconds: number } | 'wrong' | undefined

export type KeyThrottle = (attempt: {
  /** The client's address. */
  readonly network: string
  /** The key that the request has, if it is a right one. */
  readonly key: string | undefined
  /** Whether it has a key at all, right or wrong. */
  readonly hasKey: boolean
}) => KeyVerdict

/** Keys with this many characters cannot be guessed, however fast somebody tries. Ours have 32. */
const TOO_LONG_TO_GUESS = 24
/** Addresses with a key that are remembered. */
const MAX_KNOWN = 1000

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
