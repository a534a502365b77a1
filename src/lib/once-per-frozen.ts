// Remembers what was computed from objects that cannot change.

/**
 * What each function computed from each object, in the function's slot. One weak map for all functions: a garbage
 * collection visits every entry of every weak map.
 */
const known = new WeakMap<object, unknown[]>()

let slotCount = 0

/** Stands for a computed `undefined`. */
const NOTHING = Symbol('nothing')

/** Computes once per frozen object, and each time anew for an object that may still change. */
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
