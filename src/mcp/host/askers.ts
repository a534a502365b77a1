// Who is asked when a server asks its client something: whoever's call runs, as long as that can be told.
import type { Asker } from '../types.ts'

export type Askers = Asker & {
  /** From now until the returned function is called, a call of this asker runs. */
  enter(asker: Asker | undefined): (isGivenUp: boolean) => void
}

/** Milliseconds for which the server of a call that was given up may still ask about it. */
const AFTERMATH = 60_000

export function createAskers(otherwise: Asker | undefined): Askers {
  const running: Asker[] = []
  const givenUp = new Set<Asker>()
  return {
    enter(asker) {
      if (!asker) return () => {}
      running.push(asker)
      return (isGivenUp) => {
        running.splice(running.indexOf(asker), 1)
        if (!isGivenUp) return
        givenUp.add(asker)
        setTimeout(() => givenUp.delete(asker), AFTERMATH).unref()
      }
    },
    async ask(method, params, signal) {
      const [first = otherwise] = running
      if (!first) throw new Error('there is nobody to ask')
      if ([...running, ...givenUp].some((other) => clientOf(other) !== clientOf(first)))
        throw new Error('several clients are calling this server, so none can be asked')
      return first.ask(method, params, signal)
    },
  }
}

function clientOf(asker: Asker): object {
  return asker.client ?? asker
}
