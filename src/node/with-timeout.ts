// Waits for a promise with a timeout.

export function seconds(milliseconds: number): string {
  return `${Number((milliseconds / 1000).toFixed(1))} s`
}

export class TimeoutError extends Error {}

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
