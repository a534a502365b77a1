// The usage of a reply that took several samplings: what all of them cost together.
import { type Fields, fieldsOf, isFields, listOf } from '../core/oracle/json.ts'

/** Adds up counts at any depth; lists follow each other, and of anything else the last value stays (wire 27). */
export function sumUsage(usages: readonly Fields[]): Fields {
  return usages.reduce(added, {})
}

/** What a later event of the same sampling says of its usage; a field it leaves empty keeps its value. */
export function laterUsage(earlier: Fields | undefined, later: Fields): Fields {
  const said = Object.entries(later).filter(([, value]) => value !== null && value !== undefined)
  return { ...earlier, ...Object.fromEntries(said) }
}

function added(total: Fields, usage: Fields): Fields {
  const sums = Object.entries(usage).map(([name, value]) => [name, sum(total[name], value)])
  return { ...total, ...Object.fromEntries(sums) }
}

function sum(one: unknown, other: unknown): unknown {
  if (typeof other === 'number') return (typeof one === 'number' ? one : 0) + other
  if (Array.isArray(other)) return [...listOf(one), ...other]
  if (isFields(other)) return added(fieldsOf(one), other)
  return other ?? one
}
