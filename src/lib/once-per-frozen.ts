// Remembers what was computed from objects that cannot change.

/** Computes once per frozen object, and each time anew for an object that may still change. */
export function oncePerFrozen<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>()
  return (key) => {
    if (!Object.isFrozen(key)) return compute(key)
    let entry = known.get(key)
    if (!entry) {
      entry = { value: compute(key) }
      known.set(key, entry)
    }
    return entry.value
  }
}
