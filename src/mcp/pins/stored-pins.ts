// Stores pins in a store that replicas share: what the user accepts at one of them is accepted at all.
import { errorMessage } from '../../lib/index.ts'
import type { StateStore } from '../../store/index.ts'
import { type PinFiles, type PinnedTools, parsePins, pinsByKey, printPins } from './pin-files.ts'

/** The channel for names of servers about whose pins the user decided. */
const CHANNEL = 'pins'
const PREFIX = 'pins/'
const LOCK_MS = 10_000

/**
 * Opens the pins in a store.
 * @internal
 */
export function openStoredPins(store: StateStore, notify: (message: string) => void): PinFiles {
  /** The pins as last read or written, which apply while the store is unreachable. */
  const known = new Map<string, PinnedTools>()
  let hasTold = false

  function tellOnce(error: unknown): void {
    if (!hasTold)
      notify(
        `cannot reach the pins in the store (${errorMessage(error)}); using the pins last read until it answers.`,
      )
    hasTold = true
  }

  /** Parses pins; broken ones count as none, so that the server's definitions are pinned again. */
  const read = (server: string, text: string) =>
    parseOr(text, (reason) =>
      notify(`the stored pins of "${server}" are broken (${reason}); its tools are pinned again.`),
    )

  return {
    async read(server) {
      try {
        const found = await store.get(PREFIX + server)
        hasTold = false
        const pins = found && read(server, found.value)
        if (pins) known.set(server, pins)
        else known.delete(server)
        return pins
      } catch (error) {
        tellOnce(error)
        return known.get(server)
      }
    },
    async write(server, pins) {
      known.set(server, pins)
      await store.set(PREFIX + server, printPins(server, pins)).catch(tellOnce)
    },
    async remove(server) {
      const wasKnown = known.delete(server)
      return store.delete(PREFIX + server).catch((error: unknown) => {
        tellOnce(error)
        return wasKnown
      })
    },
    async all() {
      const found = new Map<string, PinnedTools>()
      try {
        const { entriesIn } = await import('../../store/index.ts')
        for await (const { key, value } of entriesIn(store, PREFIX)) {
          const server = key.slice(PREFIX.length)
          const pins = read(server, value)
          if (pins) found.set(server, pins)
        }
        return found
      } catch (error) {
        tellOnce(error)
        return known
      }
    },
    async alone(server, work) {
      let running: ReturnType<typeof work> | undefined
      try {
        // Loaded with the store, which most gateways run without.
        const { withLock } = await import('../../store/index.ts')
        return await withLock(store, `lock/pins/${server}`, LOCK_MS, () => {
          running = work()
          return running
        })
      } catch (error) {
        // Without the store no lock is possible. Work that has already begun is not run twice.
        if (running) return running
        tellOnce(error)
        return work()
      }
    },
    async announce(server) {
      await store.publish(CHANNEL, server).catch(tellOnce)
    },
  }
}

function parseOr(text: string, onBroken: (reason: string) => void): PinnedTools | undefined {
  try {
    return pinsByKey(parsePins(text))
  } catch (error) {
    onBroken(errorMessage(error))
    return undefined
  }
}

/** Calls the listener with each server about whose pins another process decided; without a name after a gap. */
export async function watchPins(
  store: StateStore,
  listener: (server: string | undefined) => void,
): Promise<() => Promise<void>> {
  const stopGaps = store.onGap(() => listener(undefined))
  const stop = await store.subscribe(CHANNEL, listener)
  return async () => {
    stopGaps()
    await stop()
  }
}
