// Calls functions that a host injects, and swallows the errors that they throw or reject with later (G4).

/** Calls a listener; ignores its result and its errors. */
export function attempt(call: () => unknown): void {
  try {
    silencePromise(call())
  } catch {
    // A listener that throws misses its event; the request continues.
  }
}

/** Returns a listener whose errors are swallowed. */
export function swallowErrors<Event>(listener: (event: Event) => unknown): (event: Event) => void {
  return (event) => attempt(() => listener(event))
}

/** Swallows the rejection of an answer that is a promise; returns whether it is one. */
export function silencePromise(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null || !('then' in answer)) return false
  Promise.resolve(answer).catch(() => {})
  return true
}
