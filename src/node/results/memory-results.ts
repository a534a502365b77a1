// Stores results in memory, within limits; drops the least recently used ones first.
import type { ResultStore } from '../../core/index.ts'
import { OptionError } from '../option-error.ts'

/** Limits of a store of results. */
export type ResultLimits = {
  /** Maximum bytes of all results. Default: 256 MB on disk, 64 MB in memory. */
  readonly bytes?: number
  /** Maximum bytes of the results of one owner. Default: a quarter of `bytes`. */
  readonly bytesPerOwner?: number
}

const MEMORY_BYTES = 64_000_000

type Stored = { readonly owner: string; readonly id: string; readonly text: string; readonly bytes: number }

/**
 * Creates a store in memory, whose content is lost when the process ends.
 *
 * @example
 * const shelf = createShelf({ results: { store: createMemoryResults({ bytes: 10_000_000 }) } })
 */
export function createMemoryResults(limits: ResultLimits = {}): ResultStore {
  const { bytes: maxBytes, bytesPerOwner } = readLimits(limits, MEMORY_BYTES)
  /** In order of use, least recently used first. */
  const stored = new Map<string, Stored>()
  const keyOf = (owner: string, id: string) => JSON.stringify([owner, id])

  function use(key: string, one: Stored): void {
    stored.delete(key)
    stored.set(key, one)
  }

  function shrink(isCounted: (one: Stored) => boolean, limit: number): void {
    let sum = 0
    for (const [key, one] of [...stored].reverse()) {
      if (!isCounted(one)) continue
      sum += one.bytes
      if (sum > limit) stored.delete(key)
    }
  }

  return {
    async put(owner, id, text) {
      const bytes = Buffer.byteLength(text)
      if (bytes > bytesPerOwner) throw tooLarge(bytes, bytesPerOwner)
      use(keyOf(owner, id), { owner, id, text, bytes })
      shrink((one) => one.owner === owner, bytesPerOwner)
      shrink(() => true, maxBytes)
    },
    async get(owner, id) {
      const key = keyOf(owner, id)
      const one = stored.get(key)
      if (one) use(key, one)
      return one?.text
    },
    async drop(owner) {
      for (const [key, one] of stored) if (one.owner === owner) stored.delete(key)
    },
  }
}

/** Fills in the defaults; throws for limits that are not positive numbers. */
export function readLimits(limits: ResultLimits, defaultBytes: number): Required<ResultLimits> {
  const { bytes = defaultBytes, bytesPerOwner = Math.ceil(bytes / 4) } = limits
  for (const [name, value] of Object.entries({ bytes, bytesPerOwner }))
    if (!(Number.isFinite(value) && value > 0))
      throw new OptionError(name, `option "${name}" is ${value}`, 'use a number of bytes above 0.')
  return { bytes, bytesPerOwner: Math.min(bytes, bytesPerOwner) }
}

/** Creates the error for a result that exceeds its owner's limit. */
export function tooLarge(bytes: number, limit: number): Error {
  return new Error(`it has ${bytes} bytes, and one owner may store ${limit}`)
}
