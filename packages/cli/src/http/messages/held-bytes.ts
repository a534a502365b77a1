// Limits how many bytes of request bodies the gateway holds at once, in total and per client.
import { type RefusedRequest, refuseForNow } from '@toolshelf/messages/internal'

/** Accounts for one body from its first byte until its request ends. */
export type HeldBytes = {
  /** Throws a refusal with status 503 if a limit is exceeded. */
  readonly add: (bytes: number) => void
  /** Releases all bytes of this body; safe to call more than once. */
  readonly release: () => void
}

/** Counts the bytes of all bodies. */
export type BodyMemory = ReturnType<typeof createBodyMemory>

/** The share of the limit that one client may use. */
const SHARE_OF_ONE = 0.75

/** Seconds until a refused client may retry. */
const RETRY_AFTER_SECONDS = 5

/** Creates a counter with this limit. */
export function createBodyMemory(maxBytes: number) {
  const byOwner = new Map<string, number>()
  let total = 0
  const change = (owner: string, bytes: number): void => {
    total += bytes
    const own = (byOwner.get(owner) ?? 0) + bytes
    if (own > 0) byOwner.set(owner, own)
    else byOwner.delete(owner)
  }
  return {
    /** Bytes held now. */
    get bytes() {
      return total
    },
    hold(owner: string) {
      let held = 0
      let isOver = false
      return {
        add(bytes: number) {
          if (isOver) return
          if (total + bytes > maxBytes) throw full(maxBytes, 'all requests')
          const ownMost = maxBytes * SHARE_OF_ONE
          if ((byOwner.get(owner) ?? 0) + bytes > ownMost) throw full(ownMost, 'requests of one client')
          held += bytes
          change(owner, bytes)
        },
        release() {
          isOver = true
          change(owner, -held)
          held = 0
        },
      }
    },
  }
}

function full(maxBytes: number, whose: string): RefusedRequest {
  const megabytes = Math.floor(maxBytes / 1_000_000)
  const message = `the bodies of ${whose} being answered take the limit of ${megabytes} MB; try again in ${RETRY_AFTER_SECONDS} seconds`
  return refuseForNow(message, RETRY_AFTER_SECONDS)
}
