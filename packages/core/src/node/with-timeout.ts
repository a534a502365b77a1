// Waits for a promise with a timeout.

/** Formats milliseconds as seconds, such as `1.5 s`. */
export function seconds(milliseconds: number): string {
  return `${Number((milliseconds / 1000).toFixed(1))} s`
}

/** The work did not finish in time. */
export class TimeoutError extends Error {}

/**
 * Returns the result of the work; rejects if it takes longer, with a `TimeoutError` or with the error that `complaint`
 * makes. Does not stop the work.
 */
export async function withTimeout<Value>(
  work: Promise<Value>,
  milliseconds: number,
  complaint: string | (() => Error),
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<never>((_, reject) => {
    const late = () => (typeof complaint === 'string' ? new TimeoutError(complaint) : complaint())
    timer = setTimeout(() => reject(late()), milliseconds)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}
