// A client builds its next request from the list it has. So the answer to a search waits until the client has asked for
// the new list; one that never asks is not waited for again until it does.

export type Relisting = {
  /** Tells the client that the list has changed, unless it knows the present one. */
  tell(): Promise<void>
  /** The same; resolves when it has the new list, or seems not to care. */
  announce(): Promise<void>
  /** The client asks for the list, or has just come. */
  listed(): void
}

const LONGEST_WAIT = 5000
/** From our answer until the client has taken it in: about as long as it took to ask, for both wait for its event loop. */
const SHORTEST_DIGESTION = 50
const LONGEST_DIGESTION = 1000

export function createRelisting(list: () => string, send: () => Promise<void>): Relisting {
  const waiting = new Set<() => void>()
  let isHeard = true
  let announcedAt = 0
  /** What the client has, or has been told of. */
  let known = ''

  async function tell(): Promise<void> {
    const now = list()
    if (now === known) return
    known = now
    await send()
  }

  return {
    tell,
    async announce() {
      if (!isHeard) return tell()
      // A client may ask before our own message counts as sent.
      const heard = new Promise<void>((resolve) => {
        const giveUp = setTimeout(() => {
          isHeard = false
          waiting.delete(go)
          resolve()
        }, LONGEST_WAIT)
        const go = () => {
          clearTimeout(giveUp)
          resolve()
        }
        waiting.add(go)
        announcedAt = performance.now()
      })
      await tell()
      await heard
    },
    listed() {
      known = list()
      isHeard = true
      const ready = [...waiting]
      waiting.clear()
      if (ready.length === 0) return
      const pause = Math.max(SHORTEST_DIGESTION, performance.now() - announcedAt)
      setTimeout(
        () => {
          for (const go of ready) go()
        },
        Math.min(LONGEST_DIGESTION, pause),
      )
    },
  }
}
