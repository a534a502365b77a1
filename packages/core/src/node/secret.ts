// Compares keys without telling by the time it takes how much of one was right.
import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares in constant time, independent of the lengths. */
export function isSecret(candidate: string | null | undefined, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(candidate ?? ''), digest(secret)) && typeof candidate === 'string'
}
