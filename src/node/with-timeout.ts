// Waits for a promise with a timeout.

/** Formats milliseconds as seconds, such as `1.5 s`. */
export function seconds(milliseconds: number): string {
  return `${Number((milliseconds / 1000).toFixed(1))} s`
}

/** The work did not finish in time. */
export class TimeoutError extends Error {}

/** Returns the result of the work; rejects with a `TimeoutError` if it takes longer. Does not stop the work. */
export async function withTimeout<Value>(
  work: Promise<Value>,
  milliseconds: number,
  complaint: string,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(complaint)), milliseconds)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}
