// Adds up the usage of a reply that took several samplings.
// Implements wire 26, 27.
import { type Fields, fieldsOf, isFields, listOf } from '@toolshelf/core/internal'

/** Sums numbers at any depth and concatenates lists; for other values the last one wins (wire 27). */
export function sumUsage(usages: readonly Fields[]): Fields {
  return usages.reduce(added, {})
}

/** Merges the usage of a later event of the same sampling; fields that are empty there keep their value. */
export function laterUsage(earlier: Fields | undefined, later: Fields): Fields {
  const said = Object.entries(later).filter(([, value]) => value !== null && value !== undefined)
  return { ...earlier, ...Object.fromEntries(said) }
}

/** Converts usage whose `input` includes cached tokens to Anthropic's form, which counts them separately. */
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

/** Converts usage back: the counts of a reply, those of cached tokens as a part of the input. */
export function usageTogether(usage: Fields) {
  const read = countOf(usage.cache_read_input_tokens)
  const written = countOf(usage.cache_creation_input_tokens)
  return {
    input: countOf(usage.input_tokens) + read + written,
    read,
    written,
    output: countOf(usage.output_tokens),
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
