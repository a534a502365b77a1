// Defines what every store accepts: limits of keys, values and times, and versions.
import { randomBytes } from 'node:crypto'
import { type StateStore, StoreError } from '@toolshelf/core/internal'

/** Longest key or channel, in bytes. */
const MAX_KEY_BYTES = 1000
/** Longest value or message, in characters. */
const MAX_VALUE_LENGTH = 64_000_000

/** Entries that `list` returns by default. */
export const DEFAULT_LISTED = 1000

/** Wraps a store so that all stores refuse the same input, and times to live are whole milliseconds. */
export function withChecks(store: StateStore): StateStore {
  return {
    ...store,
    async get(key) {
      checkKey(key)
      return store.get(key)
    },
    async set(key, value, { ttlMs, ...options } = {}) {
      checkKey(key)
      checkValue(value)
      return store.set(key, value, ttlMs === undefined ? options : { ...options, ttlMs: checkTtl(ttlMs) })
    },
    async delete(key, options) {
      checkKey(key)
      return store.delete(key, options)
    },
    async add(key, amount, ttlMs) {
      checkKey(key)
      checkAmount(amount)
      return store.add(key, amount, checkTtl(ttlMs))
    },
    async publish(channel, message) {
      checkKey(channel)
      checkValue(message)
      return store.publish(channel, message)
    },
    async subscribe(channel, listener) {
      checkKey(channel)
      return store.subscribe(channel, listener)
    },
  }
}

function checkKey(key: string): void {
  const bytes = Buffer.byteLength(key)
  if (bytes === 0 || bytes > MAX_KEY_BYTES)
    throw new StoreError(`invalid key of ${bytes} bytes: expected 1 to ${MAX_KEY_BYTES} bytes`)
}

function checkValue(value: string): void {
  if (value.length > MAX_VALUE_LENGTH)
    throw new StoreError(`the value has ${value.length} characters; the limit is ${MAX_VALUE_LENGTH}`)
}

/** Returns whole milliseconds; throws for a time to live that is not above 0. */
function checkTtl(ttlMs: number): number {
  if (!(Number.isFinite(ttlMs) && ttlMs > 0))
    throw new StoreError(`ttlMs is ${ttlMs}; expected a number of milliseconds above 0`)
  return Math.ceil(ttlMs)
}

function checkAmount(amount: number): void {
  if (!Number.isFinite(amount)) throw new StoreError(`amount is ${amount}; expected a finite number`)
}

/** Adds to the value of a counter; throws if that is not a number. */
export function addTo(key: string, value: string | undefined, amount: number): number {
  const sum = (value === undefined ? 0 : Number.parseFloat(value)) + amount
  if (Number.isNaN(sum)) throw notACounter(key)
  return sum
}

/** Creates the error of `add` for a value that is not a number. */
export function notACounter(key: string): StoreError {
  return new StoreError(`cannot add to "${key}": its value is not a number`)
}

/** Returns a function that generates versions which no other process ever generates. */
export function createVersions(): () => string {
  const origin = randomBytes(9).toString('base64url')
  let count = 0
  return () => `${origin}.${(++count).toString(36)}`
}
