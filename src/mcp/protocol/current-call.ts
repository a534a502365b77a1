// Tracks, while a message of a server is processed, which client call it belongs to.
import { AsyncLocalStorage } from 'node:async_hooks'

/** A call of a client, from its request to its end. */
export type ClientCall = {
  /** Called when the server has answered a cancelled call: it will not ask about it any more. */
  answered(): void
}

/** Holds the call in the async context of everything that arrives in answer to it. */
export const callContext = new AsyncLocalStorage<ClientCall>()

/** Returns the call whose request is being sent, or whose answer is being read. */
export function currentCall(): ClientCall | undefined {
  return callContext.getStore()
}
