// Objects: what is computed from those that cannot change, bounded collections, bound methods and hashes; functions of a host,
// whose errors are swallowed (G4).

/**
 * Computed values by object; each function has its own slot. One weak map serves all functions, because garbage collection
 * visits every entry of every weak map.
 */
const known = new WeakMap<object, unknown[]>()

let slotCount = 0

/** Represents a computed `undefined`. */
const NOTHING = Symbol('nothing')

/** Returns a function that computes once per frozen object, and every time for an object that may still change. */
export function oncePerFrozen<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const slot = slotCount++
  return (key) => {
    let slots = known.get(key)
    if (!slots) {
      if (!Object.isFrozen(key)) return compute(key)
      slots = new Array(slotCount)
      known.set(key, slots)
    }
    const kept = slots[slot]
    if (kept !== undefined) return (kept === NOTHING ? undefined : kept) as Value
    const value = compute(key)
    slots[slot] = value === undefined ? NOTHING : value
    return value
  }
}

/** Returns a function that computes once per object, of which what it reads does not change. */
export function oncePer<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, Value>()
  return (key) => {
    const known = values.get(key)
    if (known !== undefined || values.has(key)) return known as Value
    const value = compute(key)
    values.set(key, value)
    return value
  }
}

/** Groups items by a key, in order of first appearance. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

/** Deletes the oldest entries beyond `maxEntries`. An entry becomes the newest if it is deleted and added again. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, maxEntries: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= maxEntries) return
    entries.delete(key)
  }
}

/** Sets an entry as the newest and deletes the oldest ones beyond `maxEntries`. */
export function setNewest<Key, Value>(
  entries: Map<Key, Value>,
  key: Key,
  value: Value,
  maxEntries: number,
): void {
  entries.delete(key)
  entries.set(key, value)
  dropOldest(entries, maxEntries)
}

/** Binds an instance's methods to it, so that users may destructure them or pass them as callbacks. */
export function bindMethods<Instance extends object>(instance: Instance): Instance {
  const members = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(instance) as object)
  for (const [name, { value }] of Object.entries(members))
    if (typeof value === 'function' && name !== 'constructor')
      Object.assign(instance, { [name]: value.bind(instance) })
  return instance
}

/** Returns eleven base-36 digits that depend only on the text. */
export function hash(text: string): string {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 0x9e3779b1)
    low = Math.imul(low ^ code, 0x5f356495)
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36).padStart(11, '0')
}

/** Environment variables by name, such as `process.env`. */
export type Environment = { readonly [name: string]: string | undefined }

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
