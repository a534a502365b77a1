// Who is asked when a server asks its client something: whoever's call runs, as long as that can be told.
import type { Asker } from '../types.ts'

export type Askers = Asker & {
  /** From now until the returned function is called, a call of this asker runs. */
  enter(asker: Asker | undefined): () => void
}

export function createAskers(otherwise: Asker | undefined): Askers {
  const running: Asker[] = []
  return {
    enter(asker) {
      if (!asker) return () => {}
      running.push(asker)
      return () => running.splice(running.indexOf(asker), 1)
    },
    async ask(method, params, signal) {
      const [first = otherwise, ...others] = running
      if (others.some((other) => clientOf(other) !== clientOf(first)))
        throw new Error('several clients are calling this server, so none can be asked')
      if (!first) throw new Error('there is nobody to ask')
      return first.ask(method, params, signal)
    },
  }
}

function clientOf(asker: Asker | undefined): object | undefined {
  return asker?.client ?? asker
}
