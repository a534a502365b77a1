// Type guards and readers for unknown JSON; none of them throws.
// Implements H11.

/** An object from JSON, with fields of unknown type. */
export type Fields = { readonly [field: string]: unknown }

/** Returns whether a value is an object and not an array or null. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value if it is an object, or else an empty one. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** Returns the value if it is an array, or else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the value if it is a string, or else an empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Parses JSON; undefined for anything else. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a copy of the object without these fields. */
export function omitFields(fields: Fields, ...names: string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

/** Escapes in JSON: pairs and a written backslash, so that each is read once; the group is half of a surrogate pair. */
const ESCAPES =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[\s\S])/g

/**
 * Makes JSON text well-formed Unicode: half of a surrogate pair, which other languages refuse to read, becomes U+FFFD.
 * Everything that leaves as JSON passes here, as text, so that it costs one search where there is nothing to replace.
 */
export function wellFormedJson(json: string): string {
  return /\\u[dD]/.test(json) ? json.replace(ESCAPES, (read, half) => (half ? '\\ufffd' : read)) : json
}

/** Returns a value that JSON can hold with well-formed texts and keys; the same value if they are. */
export function wellFormed<Value>(value: Value): Value {
  const json = JSON.stringify(value)
  const whole = json && wellFormedJson(json)
  return whole === json ? value : JSON.parse(whole)
}

/** Returns the value as well-formed JSON; `"…"` if it is nested too deeply or cannot be written. */
export function toJson(value: unknown): string {
  try {
    return wellFormedJson(JSON.stringify(value) ?? 'null')
  } catch {
    // Nested too deeply for the engine, cyclic, or a bigint.
    return '"…"'
  }
}

/** Returns whether a value is nested at most `maxDepth` levels deep. */
export function isShallow(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return maxDepth > 0 && Object.values(value).every((inner) => isShallow(inner, maxDepth - 1))
}

/** Levels of nesting to count; deeper values count as little. */
const MAX_COUNTED_DEPTH = 100

/** Returns the length of a value as JSON, without the characters that escaping adds. Copies no text. */
export function jsonLength(value: unknown, depth = MAX_COUNTED_DEPTH): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null || depth === 0) return String(value ?? null).length
  // Counts brackets, and a comma after each part but the last.
  let sum = 1
  if (Array.isArray(value)) {
    for (const item of value) sum += jsonLength(item, depth - 1) + 1
    return Math.max(2, sum)
  }
  for (const [name, inner] of Object.entries(value))
    if (inner !== undefined) sum += name.length + jsonLength(inner, depth - 1) + 4
  return Math.max(2, sum)
}

/** Fields with the caller's data, in which `cache_control` is not a breakpoint. */
const OPAQUE = new Set(['input', 'input_schema', 'input_examples'])
const MAX_BREAKPOINT_DEPTH = 6

/** Returns a copy of a value without its cache breakpoints; keys keep their order. */
export function withoutCacheControl(value: unknown, depth = MAX_BREAKPOINT_DEPTH): unknown {
  if (depth === 0) return value
  if (Array.isArray(value)) return value.map((item) => withoutCacheControl(item, depth - 1))
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'cache_control')
      .map(([name, inner]) => [name, OPAQUE.has(name) ? inner : withoutCacheControl(inner, depth - 1)]),
  )
}

/** A value inside a JSON value, and where it is. */
type JsonNode = {
  /** The path as one would write it: `properties.path.description`, `anyOf[1]`, `properties["a.b"]`. */
  readonly path: string
  /** The key of the value; for the root, its path; empty inside arrays. */
  readonly key: string
  readonly value: unknown
}

/** Yields values in reading order, each container before its content; does not descend into those that are `whole`. */
export function* walkJson(
  value: unknown,
  path: string,
  isWhole: (value: object) => boolean = () => false,
): Generator<JsonNode> {
  const opened = new Set<object>()
  const open: Iterator<JsonNode>[] = [[{ path, key: path, value }].values()]
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const { value: node, done } = last.next()
    if (done) {
      open.pop()
      continue
    }
    yield node
    if (!isContainer(node.value) || opened.has(node.value) || isWhole(node.value)) continue
    opened.add(node.value)
    open.push(nodesIn(node.path, node.value))
  }
}

/** Returns whether a value is an object or an array. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Yields the values in a container, of which there may be millions. No two have the same path, so that a diff cannot confuse them. */
function* nodesIn(path: string, inside: object): Generator<JsonNode> {
  if (Array.isArray(inside))
    for (const [index, value] of inside.entries()) yield { path: `${path}[${index}]`, key: '', value }
  else
    for (const [key, value] of Object.entries(inside))
      yield { path: /^[\w$-]+$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`, key, value }
}

/** Returns the beta names in an `anthropic-beta` header, trimmed, without empty ones. */
export function parseBetas(header: string | undefined): string[] {
  return (header ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '')
}
