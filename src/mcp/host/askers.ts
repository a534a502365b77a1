// Who is asked when a server asks its client something: whoever's call runs, as long as that can be told.
import type { Asker } from '../types.ts'

export type Askers = Asker & {
  /** From now until the returned function is called, a call of this asker runs. */
  enter(asker: Asker | undefined): () => void
}

export function createAskers(otherwise: Asker | undefined): Askers {
  const running = new Map<Asker, number>()
  return {
    enter(asker) {
      if (!asker) return () => {}
      running.set(asker, (running.get(asker) ?? 0) + 1)
      return () => {
        const count = running.get(asker) ?? 0
        if (count > 1) running.set(asker, count - 1)
        else running.delete(asker)
      }
    },
    async ask(method, params, signal) {
      const [first = otherwise, ...others] = running.keys()
      if (others.length > 0) throw new Error('several clients are calling this server, so none can be asked')
      if (!first) throw new Error('there is nobody to ask')
      return first.ask(method, params, signal)
    },
  }
}
