// The usage of a reply that took several samplings: what all of them cost together.
import { type Fields, fieldsOf, isFields, listOf } from '../lib/index.ts'

/** Adds up counts at any depth; lists follow each other, and of anything else the last value stays (wire 27). */
export function sumUsage(usages: readonly Fields[]): Fields {
  return usages.reduce(added, {})
}

/** What a later event of the same sampling says of its usage; a field it leaves empty keeps its value. */
export function laterUsage(earlier: Fields | undefined, later: Fields): Fields {
  const said = Object.entries(later).filter(([, value]) => value !== null && value !== undefined)
  return { ...earlier, ...Object.fromEntries(said) }
}

/** Usage as Anthropic counts it, which has what came from the cache apart; `input` has it within. */
export function usageApart(input: unknown, cached: unknown, output: unknown): Fields {
  const all = countOf(input)
  const read = Math.min(all, countOf(cached))
  return {
    input_tokens: all - read,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: read,
    output_tokens: countOf(output),
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.trunc(value) : 0
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
