// What is read again when the operator asks for it with SIGHUP: configuration, certificates, users.

/** Things that can be read again. */
export type Reloads = {
  /** Calls the function at every reload until the returned function is called. */
  onReload(reload: () => unknown): () => void
  /** Reads everything again, one after another; a failure is reported and does not stop the rest. */
  reload(): Promise<void>
}

/** @param notify - Reports failures to the operator. */
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
