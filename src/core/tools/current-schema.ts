// Converts an input schema to JSON Schema draft 2020-12. The API refuses every request with a tool whose schema has one
// invalid keyword. Calls are validated against the original schema.
import { type Fields, isFields } from '../../lib/index.ts'
import {
  areNames,
  isOfKind,
  isSchema,
  KEYWORD_KINDS,
  type KeywordKind,
  MAX_SCHEMA_DEPTH,
} from '../oracle/index.ts'

/** Returns the same schema if it is valid; otherwise converts older drafts and drops invalid keywords. */
export function currentSchema(schema: unknown): unknown {
  return isSchema(schema) ? schema : rewrite(schema, 0)
}

function rewrite(schema: unknown, depth: number): unknown {
  if (typeof schema === 'boolean') return schema
  if (depth > MAX_SCHEMA_DEPTH) return true
  if (!isFields(schema)) return {}
  const kept: Record<string, unknown> = {}
  for (const [keyword, original] of Object.entries(modernise(schema))) {
    const kind = KEYWORD_KINDS.get(keyword)
    const value = kind ? rewriteValue(kind, original, depth + 1) : original
    if (kind === undefined || isOfKind(kind, value)) set(kept, keyword, value)
  }
  return kept
}

/** Converts draft-07's lists of items and draft-04's exclusive limits. */
function modernise(schema: Fields): Fields {
  const { items, additionalItems, ...rest } = schema
  const withItems = Array.isArray(items)
    ? { ...rest, prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) }
    : schema
  return exclusive(exclusive(withItems, 'minimum', 'exclusiveMinimum'), 'maximum', 'exclusiveMaximum')
}

function exclusive(schema: Fields, limit: string, keyword: string): Fields {
  if (schema[keyword] !== true) return schema
  const { [limit]: value, ...rest } = schema
  return { ...rest, [keyword]: value }
}

/** Converts the schemas inside a value; the caller drops a value that is still invalid. */
function rewriteValue(kind: KeywordKind, value: unknown, depth: number): unknown {
  switch (kind) {
    case 'schema':
      return isFields(value) ? rewrite(value, depth) : value
    case 'schemas':
      return Array.isArray(value) ? value.map((one) => rewrite(one, depth)) : value
    case 'named schemas':
      return mapFields(value, (one) => rewrite(one, depth))
    case 'named dependencies':
      return mapFields(value, (one) => (areNames(one) ? one : rewrite(one, depth)))
    case 'named names':
      return mapFields(value, names)
    case 'names':
      return Array.isArray(value) ? names(value) : value
    case 'types':
      return Array.isArray(value) ? types(value) : value
    default:
      return value
  }
}

function names(value: unknown): readonly string[] {
  const list = Array.isArray(value) ? value : []
  return [...new Set(list.filter((name): name is string => typeof name === 'string'))]
}

function types(list: readonly unknown[]): readonly unknown[] {
  return [...new Set(list)].filter((type) => isOfKind('types', type))
}

function mapFields(value: unknown, change: (value: unknown) => unknown): unknown {
  if (!isFields(value)) return value
  const kept: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(value)) set(kept, name, change(one))
  return kept
}

/** Sets a field, even one called `__proto__`. */
function set(fields: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(fields, name, { value, enumerable: true, writable: true, configurable: true })
}
