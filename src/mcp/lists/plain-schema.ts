// Checks whether an output schema is safe to list: clients compile all output schemas of a list and reject the whole
// list if one fails. Compiles nothing: a schema passes if it uses only keywords from an allow-list.
import { type Fields, isFields } from '../../lib/index.ts'

/** Characters; longer schemas are not worth their cost to every client. */
const MAX_SCHEMA_LENGTH = 65_536

const words = (text: string): ReadonlySet<unknown> => new Set(text.split(' '))
const TYPES = words('array boolean integer null number object string')
const SCHEMA = words('items additionalProperties not if then else contains propertyNames')
const SCHEMAS = words('items allOf anyOf oneOf prefixItems')
const NAMED = words('properties $defs definitions')
const NUMBERS = words(
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties',
)
const REMARKS = words(
  'title description default examples example $schema $comment deprecated readOnly writeOnly const',
)

/**
 * Returns whether an output schema is safe to list. It must be of type object, because older clients accept no other,
 * and have no `$id`, by which clients cache schemas across servers.
 */
export function isPlainSchema(whole: unknown): boolean {
  if (!isFields(whole) || whole.type !== 'object') return false
  return JSON.stringify(whole).length <= MAX_SCHEMA_LENGTH && isPlain(whole, whole)
}

function isPlain(schema: unknown, whole: Fields): boolean {
  if (typeof schema === 'boolean') return true
  return isFields(schema) && Object.entries(schema).every(([key, value]) => fits(key, value, whole))
}

function fits(key: string, value: unknown, whole: Fields): boolean {
  const arePlain = (schemas: readonly unknown[]) => schemas.every((one) => isPlain(one, whole))
  if (Array.isArray(value) && SCHEMAS.has(key)) return value.length > 0 && arePlain(value)
  if (SCHEMA.has(key)) return isPlain(value, whole)
  if (NAMED.has(key)) return isFields(value) && arePlain(Object.values(value))
  if (NUMBERS.has(key)) return typeof value === 'number'
  if (key === 'type') return [value].flat().length > 0 && [value].flat().every((type) => TYPES.has(type))
  if (key === 'required') return Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (key === 'enum') return Array.isArray(value) && value.length > 0
  if (key === 'uniqueItems') return typeof value === 'boolean'
  if (key === 'format') return typeof value === 'string'
  if (key === 'pattern') return isPattern(value)
  if (key === '$ref') return isThere(value, whole)
  return REMARKS.has(key) || key.startsWith('x-')
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}

/** Returns whether a reference is `#` or like `#/$defs/page`; others may point to something that is not a schema. */
function isThere(reference: unknown, whole: Fields): boolean {
  if (typeof reference !== 'string') return false
  if (reference === '#') return true
  const [, place = '', name = ''] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(reference) ?? []
  const schemas = whole[place]
  return isFields(schemas) && Object.hasOwn(schemas, name)
}
