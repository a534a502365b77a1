// Ends a session whose server asks again after each refusal: answering it would cost CPU time for ever, and questions
// keep calls from timing out.
// Implements H6, H9.
import type { Transport } from '@modelcontextprotocol/client'
import { createBudget } from './throttle.ts'

/** Refused requests of a server that are answered at once. */
const MAX_REFUSED = 1000
/** Refused requests per millisecond that are answered after that. */
const REFUSED_PER_MILLISECOND = 5 / 1000

export type Refusals = {
  /** Counts the errors that are sent to the server, whoever refuses: we, the SDK, or nobody knows the method. */
  watch(transport: Transport): void
  /** Runs `answer` for a request of the server, and counts it if the server cancels it, so that no error is sent. */
  during<Value>(answer: () => Promise<Value>, signal: AbortSignal): Promise<Value>
}

/** @param onFlood - Ends the session; called once, with the reason. */
export function createRefusals(onFlood: (reason: string) => void): Refusals {
  const reason = `it kept asking after ${MAX_REFUSED} of its questions were refused`
  const spend = createBudget(MAX_REFUSED, REFUSED_PER_MILLISECOND)
  let last = performance.now()
  let isFlooded = false

  function count(): void {
    const now = performance.now()
    const excess = spend(now - last, 1)
    last = now
    if (excess === 0 || isFlooded) return
    isFlooded = true
    onFlood(reason)
  }

  return {
    watch(transport) {
      const send = transport.send.bind(transport)
      transport.send = (message, options) => {
        if ('error' in message) count()
        return send(message, options)
      }
    },
    async during(answer, signal) {
      if (isFlooded) throw new Error(reason)
      try {
        return await answer()
      } finally {
        if (signal.aborted) count()
      }
    },
  }
}
