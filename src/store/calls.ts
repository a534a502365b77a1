// Runs calls to a server with a timeout and a bound on how many are pending, and turns every failure into a StoreError.
import { withTimeout } from '../node/index.ts'
import { StoreError } from './types.ts'

/** Options of calls to a server. */
export type StoreCallOptions = {
  /** The server's name in errors, such as `Redis at 127.0.0.1:6379`, without secrets. */
  readonly label: string
  /** Milliseconds after which a call fails. */
  readonly timeoutMs: number
}

/** Calls to one server that may be pending at the same time. */
const MAX_PENDING = 20_000

/** Returns a function that runs calls; it calls `onTimeout` for one that got no answer. */
export function createCalls({ label, timeoutMs }: StoreCallOptions) {
  let pending = 0
  return async function call<Value>(work: () => Promise<Value>, onTimeout?: () => void): Promise<Value> {
    if (pending >= MAX_PENDING)
      throw new StoreError(`${label} has ${pending} unanswered requests; try again later`)
    pending++
    const answer = work()
    let late: StoreError | undefined
    const noAnswer = () => {
      late = new StoreError(`${label} did not answer within ${timeoutMs} ms; check that it is up`)
      return late
    }
    try {
      return await withTimeout(answer, timeoutMs, noAnswer)
    } catch (error) {
      if (late && error === late) onTimeout?.()
      throw storeErrorOf(label, error)
    } finally {
      pending--
    }
  }
}

/** Wraps what a client library threw, and says what to check. */
export function storeErrorOf(label: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError(`${label} failed: ${reasonOf(error)}`, { cause: error })
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A host with several addresses: reports only the first failure.
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0])
  return error.message || (error as NodeJS.ErrnoException).code || error.name
}
