// Validates schemas of JSON Schema draft 2020-12 as the API does: each keyword has one kind of value; others are ignored.

import { isFields } from './json.ts'

const words = (text: string): string[] => text.split(' ')
const rows: readonly (readonly [KeywordKind, string])[] = [
  ['schema', 'items additionalProperties unevaluatedItems unevaluatedProperties contentSchema'],
  ['schema', 'not if then else contains propertyNames'],
  ['schemas', 'prefixItems allOf anyOf oneOf'],
  ['named schemas', 'properties patternProperties dependentSchemas $defs definitions'],
  ['named dependencies', 'dependencies'],
  ['named names', 'dependentRequired'],
  ['text', '$id $schema $ref $anchor $dynamicRef $dynamicAnchor $comment $recursiveRef title description'],
  ['text', 'format pattern contentEncoding contentMediaType'],
  ['flag', 'uniqueItems deprecated readOnly writeOnly $recursiveAnchor'],
  ['number', 'minimum maximum exclusiveMinimum exclusiveMaximum'],
  ['positive number', 'multipleOf'],
  ['count', 'minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains'],
  ['names', 'required'],
  ['list', 'enum examples'],
  ['types', 'type'],
]

/** Keywords with the kinds of their values. */
export const KEYWORD_KINDS: ReadonlyMap<string, KeywordKind> = new Map(
  rows.flatMap(([kind, keywords]) => words(keywords).map((keyword) => [keyword, kind] as const)),
)

const TYPES: ReadonlySet<unknown> = new Set(words('array boolean integer null number object string'))

/** The pattern in the API's own errors; names deeper in a schema are not checked against it. */
export const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

/** What a value of each kind is; the schemas inside it are not checked. */
const KINDS = {
  schema: (value: unknown) => isFields(value) || typeof value === 'boolean',
  schemas: (value: unknown) => Array.isArray(value) && value.length > 0,
  'named schemas': isFields,
  'named dependencies': isFields,
  'named names': isFields,
  text: (value: unknown) => typeof value === 'string',
  flag: (value: unknown) => typeof value === 'boolean',
  number: (value: unknown) => typeof value === 'number',
  'positive number': (value: unknown) => typeof value === 'number' && value > 0,
  count: (value: unknown) => Number.isInteger(value) && Number(value) >= 0,
  names: areNames,
  list: Array.isArray,
  types: isType,
} satisfies { readonly [kind: string]: (value: unknown) => boolean }

/** The kind of value that a keyword takes. */
export type KeywordKind = keyof typeof KINDS

/** Returns whether a value is of this kind; does not check the schemas inside it. */
export function isOfKind(kind: KeywordKind, value: unknown): boolean {
  return KINDS[kind](value)
}

/** Returns whether a value is a list of distinct strings. */
export function areNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && isUnique(value) && value.every((name) => typeof name === 'string')
}

function isType(value: unknown): boolean {
  if (!Array.isArray(value)) return TYPES.has(value)
  return value.length > 0 && isUnique(value) && value.every((type) => TYPES.has(type))
}

function isUnique(list: readonly unknown[]): boolean {
  return new Set(list).size === list.length
}

/** Deeper than any hand-written schema; the API's own limit is not published. */
export const MAX_SCHEMA_DEPTH = 200

/** Returns whether a value is a valid schema, including all schemas inside it. */
export function isSchema(schema: unknown, depth = 0): boolean {
  if (typeof schema === 'boolean') return true
  if (!isFields(schema) || depth > MAX_SCHEMA_DEPTH) return false
  return Object.entries(schema).every(([keyword, value]) => {
    const kind = KEYWORD_KINDS.get(keyword)
    if (!kind) return true
    const isInner = (one: unknown) => isSchema(one, depth + 1)
    return isOfKind(kind, value) && innerOf(kind, value).every((one) => areNamesOf(kind, one) || isInner(one))
  })
}

function areNamesOf(kind: KeywordKind, value: unknown): boolean {
  return (kind === 'named names' || kind === 'named dependencies') && areNames(value)
}

/** Returns the schemas inside a value of this kind, and lists of names if the kind allows them. */
function innerOf(kind: KeywordKind, value: unknown): readonly unknown[] {
  if (kind === 'schema') return [value]
  if (kind === 'schemas') return value as readonly unknown[]
  return kind.startsWith('named') && isFields(value) ? Object.values(value) : []
}
