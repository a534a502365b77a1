// Type guards and readers for unknown JSON; none of them throws.

/** An object of a request, of which nothing is known yet. */
export type Fields = { readonly [field: string]: unknown }

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function without(fields: Fields, ...names: string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    // Nested so deeply that the engine gives up.
    return '"…"'
  }
}

/** Levels below which values do not count. */
const DEEPEST_COUNTED = 100

/** Characters of a value as JSON, without those that escapes add: no text is read or copied for it. */
export function jsonLength(value: unknown, depth = DEEPEST_COUNTED): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null || depth === 0) return String(value ?? null).length
  // Brackets, and a comma behind each part but the last.
  let sum = 1
  if (Array.isArray(value)) {
    for (const item of value) sum += jsonLength(item, depth - 1) + 1
    return Math.max(2, sum)
  }
  for (const [name, inner] of Object.entries(value))
    if (inner !== undefined) sum += name.length + jsonLength(inner, depth - 1) + 4
  return Math.max(2, sum)
}

/** What belongs to the caller: a `cache_control` in here is data, not a breakpoint. */
const OPAQUE = new Set(['input', 'input_schema', 'input_examples'])
const DEEPEST_BREAKPOINT = 6

/** A value without its cache breakpoints, its keys in the order given. */
export function bare(value: unknown, depth = DEEPEST_BREAKPOINT): unknown {
  if (depth === 0) return value
  if (Array.isArray(value)) return value.map((item) => bare(item, depth - 1))
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'cache_control')
      .map(([name, inner]) => [name, OPAQUE.has(name) ? inner : bare(inner, depth - 1)]),
  )
}
