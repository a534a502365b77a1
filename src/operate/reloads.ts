// Reloads configuration, certificates and users when the operator sends SIGHUP.

/** The functions to call on a reload. */
export type Reloads = {
  /** Calls the function at every reload until the returned function is called. */
  onReload(reload: () => unknown): () => void
  /** Calls all functions, one after another; reports a failure and continues with the rest. */
  reload(): Promise<void>
}

/**
 * Creates an empty list of reloads.
 *
 * @param notify - Called with failures, for the operator.
 */
export function createReloads(notify: (message: string) => void): Reloads {
  const all = new Set<() => unknown>()
  let running: Promise<void> = Promise.resolve()

  async function reloadAll(): Promise<void> {
    for (const reload of all) {
      try {
        await reload()
      } catch (error) {
        notify((error as Error).message)
      }
    }
  }

  return {
    onReload(reload) {
      all.add(reload)
      return () => void all.delete(reload)
    },
    reload() {
      running = running.then(reloadAll)
      return running
    },
  }
}
