// Delays the answer to a search until the client has fetched the new list, because a client builds its next request from
// the list it has. A client that does not fetch it is not waited for again until it does.

export type Relisting = ReturnType<typeof createRelisting>

const MAX_WAIT_MS = 5000
/** Milliseconds for the client to process the list: about as long as its request took, because both wait for its event loop. */
const MIN_DIGESTION_MS = 50
const MAX_DIGESTION_MS = 1000

/** Creates the notifications of one client, which `send` sends. */
export function createRelisting(list: () => string, send: () => Promise<void>) {
  const waiting = new Set<() => void>()
  let isHeard = true
  let announcedAt = 0
  /** The list version that the client has, or was notified of. */
  let known = ''

  async function notify(): Promise<void> {
    const current = list()
    if (current === known) return
    known = current
    await send()
  }

  return {
    /** Notifies the client that the list has changed, unless it has the current one. */
    notify,
    /** Notifies too; resolves when the client has fetched the new list, or seems not to fetch it. */
    async announce() {
      if (!isHeard) return notify()
      // A client may request the list before the notification counts as sent.
      const heard = new Promise<void>((resolve) => {
        const giveUp = setTimeout(() => {
          isHeard = false
          waiting.delete(go)
          resolve()
        }, MAX_WAIT_MS)
        const go = () => {
          clearTimeout(giveUp)
          resolve()
        }
        waiting.add(go)
        announcedAt = performance.now()
      })
      await notify()
      await heard
    },
    /** Records that the client has requested the list, or has just connected. */
    listed() {
      known = list()
      isHeard = true
      const ready = [...waiting]
      waiting.clear()
      if (ready.length === 0) return
      const pause = Math.max(MIN_DIGESTION_MS, performance.now() - announcedAt)
      setTimeout(
        () => {
          for (const go of ready) go()
        },
        Math.min(MAX_DIGESTION_MS, pause),
      )
    },
  }
}
