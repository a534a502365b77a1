// Calls functions that a host injects, and swallows the errors that they throw or reject with later (G4).

/** Calls a listener; ignores its result and its errors. */
export function attempt(call: () => unknown): void {
  try {
    isLate(call())
  } catch {
    // A broken listener loses its event; the request goes on.
  }
}

/** Returns a listener whose errors are swallowed. */
export function quietly<Event>(listener: (event: Event) => unknown): (event: Event) => void {
  return (event) => attempt(() => listener(event))
}

/** Returns whether the answer is a promise, and swallows its rejection. */
export function isLate(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null || !('then' in answer)) return false
  Promise.resolve(answer).catch(() => {})
  return true
}
