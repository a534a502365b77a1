// Wraps an authenticator that can be replaced while a gateway uses it, for settings that change without a restart.

import type { Authenticator } from '@toolshelf/core/internal'
import { createChangeListeners } from './directory.ts'

/** An authenticator that can be replaced. */
type ReplaceableAuthenticator = Authenticator & {
  /** Uses another authenticator from now on, also for connected users. Does not close the former one. */
  replace(next: Authenticator): void
}

/** Creates an authenticator that delegates to `first` until it is replaced. Closing it closes the one in use. */
export function createReplaceableAuthenticator(first: Authenticator): ReplaceableAuthenticator {
  const changes = createChangeListeners()
  let current = first
  let stop = first.onChange(changes.emit)

  /** Asks again if the authenticator was replaced meanwhile, because its answer may be outdated. */
  async function ask<Value>(question: (asked: Authenticator) => Promise<Value>): Promise<Value> {
    for (;;) {
      const asked = current
      const answer = await question(asked)
      if (asked === current) return answer
    }
  }

  return {
    authenticate: (token) => ask((asked) => asked.authenticate(token)),
    refresh: (user) => ask((asked) => asked.refresh(user)),
    onChange: changes.add,
    replace(next) {
      stop()
      current = next
      stop = next.onChange(changes.emit)
      changes.emit()
    },
    async close() {
      stop()
      await current.close()
    },
  }
}
