// What a shelf gets for long results if it names no store of its own: one in memory, and ids by content.
import { sha256 } from './lib/sha256.ts'
import { OptionError } from './option-error.ts'
import { DEFAULT_BUDGET, type ResultSettings, type ResultStore } from './results.ts'

/** Options for storing long results outside the context. */
export type ResultOptions = {
  /** Where to store them. Default: in memory. */
  readonly store?: ResultStore
  /** Longest result, in characters, that is sent whole. Default: 25,000. Servers and tools may have their own. */
  readonly budget?: number
}

/** Characters of an id: 80 bits. */
const ID_LENGTH = 16

/** Returns the settings with defaults; throws an `OptionError` for an invalid budget. */
export function resultSettings({
  store = createMemoryResults(),
  budget = DEFAULT_BUDGET,
}: ResultOptions = {}): ResultSettings {
  if (!(Number.isFinite(budget) && budget >= 0))
    throw new OptionError('budget', `option "budget" is ${budget}`, 'use a number of characters, or 0.')
  return { store, budget, idOf: digestOf, newOwner: () => crypto.randomUUID() }
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

/** Returns the beginning of the text's SHA-256, in digits and letters. */
export function digestOf(text: string): string {
  const bytes = sha256(text)
  return Array.from({ length: ID_LENGTH }, (_, index) => DIGITS[(bytes[index] ?? 0) & 31]).join('')
}

const utf8 = new TextEncoder()

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
      const bytes = utf8.encode(text).length
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

export function tooLarge(bytes: number, limit: number): Error {
  return new Error(`it has ${bytes} bytes, and one owner may store ${limit}`)
}
