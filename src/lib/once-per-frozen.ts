// Caches what is computed from objects that cannot change.

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
