// A client builds its next request from the list it has. So the answer to a search waits until the client has asked for
// the new list; one that never asks is not waited for again until it does.

export type Relisting = {
  /** Tells the client; resolves when it has the new list, or seems not to care. */
  announce(): Promise<void>
  /** The client asks for the list. */
  listed(): void
}

const LONGEST_WAIT = 1000
/** From our answer until the client has taken it in. */
const DIGESTION = 50

export function createRelisting(tell: () => Promise<void>): Relisting {
  const waiting = new Set<() => void>()
  let isHeard = true
  return {
    async announce() {
      await tell()
      if (!isHeard) return
      await new Promise<void>((resolve) => {
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
      })
    },
    listed() {
      isHeard = true
      const ready = [...waiting]
      waiting.clear()
      if (ready.length === 0) return
      setTimeout(() => {
        for (const go of ready) go()
      }, DIGESTION)
    },
  }
}
