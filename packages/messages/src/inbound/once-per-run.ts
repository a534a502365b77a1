// Remembers what was computed from several frozen objects together.
import type { Fields } from '@toolshelf/core/internal'

/** Computes once per list of frozen objects and owner; found again by the first object of the list. */
export function oncePerRun<Owner extends object, Value>(
  compute: (run: readonly Fields[], owner: Owner) => Value,
): (run: readonly Fields[], owner: Owner) => Value {
  const known = new WeakMap<Owner, WeakMap<Fields, { run: readonly Fields[]; value: Value }>>()
  return (run, owner) => {
    const [first] = run
    if (!first || !run.every(Object.isFrozen)) return compute(run, owner)
    const ofOwner = known.get(owner) ?? new WeakMap()
    known.set(owner, ofOwner)
    const entry = ofOwner.get(first)
    if (entry && isSame(entry.run, run)) return entry.value
    const value = compute(run, owner)
    ofOwner.set(first, { run: [...run], value })
    return value
  }
}

function isSame(one: readonly Fields[], other: readonly Fields[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index])
}
