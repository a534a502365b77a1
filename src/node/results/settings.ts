// Fills in what a shelf needs to store long results: a store, a budget, ids and owners.
import { createHash, randomUUID } from 'node:crypto'
import { DEFAULT_BUDGET, type ResultSettings, type ResultStore } from '../../core/index.ts'
import { OptionError } from '../option-error.ts'
import { createMemoryResults } from './memory-results.ts'

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
  return { store, budget, idOf: digestOf, newOwner: randomUUID }
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

/** Returns the beginning of the text's SHA-256, in digits and letters. */
export function digestOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest()
  return Array.from({ length: ID_LENGTH }, (_, index) => DIGITS[(bytes[index] ?? 0) & 31]).join('')
}
