// Calls what a host injects: whatever it throws, or rejects later, harms nobody (G4).

/** Calls a listener and forgets about it. */
export function attempt(call: () => unknown): void {
  try {
    isLate(call())
  } catch {
    // Its event is lost to a broken listener; the request is not.
  }
}

/** True for a promise, whose rejection is then nobody's. */
export function isLate(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null || !('then' in answer)) return false
  Promise.resolve(answer).catch(() => {})
  return true
}
