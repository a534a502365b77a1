// Writes a JSON schema as a short type that a model reads like TypeScript: `"open" | "closed"`, `integer(1..100)`,
// `{ id: string, tag?: string }[]`. Also determines whether it says all that a valid call needs.
// Implements S17.
import { type Fields, fieldsOf, isFields, listOf } from '../lib/json.ts'

const MAX_ENUM_VALUES = 12
const MAX_VALUE = 100
const MAX_PATTERN = 100
const MAX_ALTERNATIVES = 6
const MAX_OPTIONAL = 12
const MAX_DEPTH = 5

/** A type, and whether it is enough to write a valid value. */
type CompactType = { readonly text: string; readonly isEnough: boolean }

const ANY: CompactType = { text: 'any', isEnough: true }
/** Marks what is too long to write; the whole definition has it. */
const MORE = '…'

/** Keywords with constraints that a type cannot express. */
const UNSAID = [
  ...['not', 'if', 'then', 'else', 'contains', 'patternProperties', 'propertyNames', 'unevaluatedProperties'],
  ...['dependencies', 'dependentRequired', 'dependentSchemas', 'minProperties', 'prefixItems', 'uniqueItems'],
]

/** Writes a schema as a type. */
export function compactType(value: unknown, root: Fields, depth = MAX_DEPTH): CompactType {
  if (!isFields(value)) return ANY
  const schema = resolved(value, root, depth)
  if (!schema) return { text: MORE, isEnough: false }
  const written = ofSchema(schema, root, depth)
  const isSaid = !UNSAID.some((keyword) => schema[keyword] !== undefined && schema[keyword] !== false)
  return isSaid ? written : { text: written.text, isEnough: false }
}

/** Follows local references and merges `allOf`; returns undefined if a reference cannot be followed. */
function resolved(schema: Fields, root: Fields, depth: number): Fields | undefined {
  const parts = [...listOf(schema.allOf), ...(schema.$ref === undefined ? [] : [target(schema.$ref, root)])]
  if (parts.length === 0) return schema
  if (depth <= 0) return undefined
  const { allOf: _, $ref: __, ...own } = schema
  let joined: Fields = own
  for (const part of parts) {
    const inner = isFields(part) ? resolved(part, root, depth - 1) : undefined
    if (!inner) return undefined
    joined = join(inner, joined)
  }
  return joined
}

function target(reference: unknown, root: Fields): unknown {
  const [, place = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(reference)) ?? []
  const definitions = fieldsOf(root[place])
  return Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

function join(one: Fields, other: Fields): Fields {
  const required = [...listOf(one.required), ...listOf(other.required)]
  const properties = { ...fieldsOf(one.properties), ...fieldsOf(other.properties) }
  return {
    ...one,
    ...other,
    ...(required.length > 0 ? { required } : {}),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
  }
}

function ofSchema(schema: Fields, root: Fields, depth: number): CompactType {
  if (Object.hasOwn(schema, 'const')) return ofValues([schema.const])
  if (Array.isArray(schema.enum)) return ofValues(schema.enum)
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray) as readonly unknown[] | undefined
  if (alternatives) return ofAlternatives(schema, alternatives, root, depth)
  const types = [schema.type].flat().filter((type) => typeof type === 'string')
  if (types.length > 0) return union(types.map((type) => ofType(String(type), schema, root, depth)))
  if (isFields(schema.properties)) return ofObject(schema, root, depth)
  return schema.items === undefined ? ANY : ofList(schema, root, depth)
}

/** Writes alternatives as a union; a type beside them applies to each. */
function ofAlternatives(
  schema: Fields,
  alternatives: readonly unknown[],
  root: Fields,
  depth: number,
): CompactType {
  if (depth <= 0) return { text: MORE, isEnough: false }
  const { anyOf: _, oneOf: __, default: ___, description: ____, ...own } = schema
  const shown = alternatives.slice(0, MAX_ALTERNATIVES).map((one) => {
    const inner = resolved(fieldsOf(one), root, depth - 1)
    return inner ? compactType(join(own, inner), root, depth - 1) : { text: MORE, isEnough: false }
  })
  const all = union(shown)
  // A valid value needs only one alternative, and the model takes the first.
  const isEnough = shown[0]?.isEnough === true
  return { text: shown.length < alternatives.length ? `${all.text} | ${MORE}` : all.text, isEnough }
}

function union(types: readonly CompactType[]): CompactType {
  const texts = [...new Set(types.map(({ text }) => text))]
  return { text: texts.join(' | '), isEnough: types[0]?.isEnough === true }
}

/** Writes an enum; cuts a long one and says how many more values it has. */
function ofValues(values: readonly unknown[]): CompactType {
  const texts = values.slice(0, 1000).map((value) => JSON.stringify(value) ?? 'null')
  const shown = texts.filter((text) => text.length <= MAX_VALUE).slice(0, MAX_ENUM_VALUES)
  const rest = values.length - shown.length
  const text = [...shown, ...(rest > 0 ? [`${MORE} ${rest} more`] : [])].join(' | ')
  return { text, isEnough: shown.length > 0 }
}

function ofType(type: string, schema: Fields, root: Fields, depth: number): CompactType {
  switch (type) {
    case 'string':
      return ofString(schema)
    case 'integer':
    case 'number':
      return ofNumber(type, schema)
    case 'array':
      return ofList(schema, root, depth)
    case 'object':
      return ofObject(schema, root, depth)
    default:
      return type === 'boolean' || type === 'null' ? { text: type, isEnough: true } : ANY
  }
}

function ofString({ format, minLength, maxLength, pattern }: Fields): CompactType {
  const name = typeof format === 'string' && /^[\w-]{1,30}$/.test(format) ? `string<${format}>` : 'string'
  const length = range(minLength === 0 ? undefined : minLength, maxLength)
  if (typeof pattern !== 'string') return { text: name + length, isEnough: true }
  const isShort = pattern.length <= MAX_PATTERN
  // Models know the well-known formats, and generated patterns for these are long.
  if (!isShort && name !== 'string') return { text: name + length, isEnough: true }
  return { text: `${name}${length} matching ${isShort ? JSON.stringify(pattern) : MORE}`, isEnough: isShort }
}

function ofNumber(type: string, schema: Fields): CompactType {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema
  const min = typeof above === 'number' ? `>${above}` : minimum
  const max = typeof below === 'number' ? `<${below}` : maximum
  // Generators write the largest safe integers as limits that nobody intended.
  const isMeant = (limit: unknown) => typeof limit !== 'number' || Math.abs(limit) < Number.MAX_SAFE_INTEGER
  const limits = range(isMeant(min) ? min : undefined, isMeant(max) ? max : undefined)
  return { text: type + limits, isEnough: multipleOf === undefined || multipleOf === 1 }
}

/** Writes limits as `(1..10)`, `(1..)` or `(..10)`; empty if there are none. */
function range(min: unknown, max: unknown): string {
  const [start, end] = [min, max].map((one) =>
    typeof one === 'number' || typeof one === 'string' ? String(one) : '',
  )
  return start === '' && end === '' ? '' : `(${start}..${end})`
}

function ofList({ items, minItems, maxItems }: Fields, root: Fields, depth: number): CompactType {
  const needsItems = typeof minItems === 'number' && minItems > 0
  const counts = range(minItems === 0 ? undefined : minItems, maxItems)
  if (Array.isArray(items)) return { text: `${MORE}[]${counts}`, isEnough: !needsItems }
  if (depth <= 0) return { text: `${MORE}[]${counts}`, isEnough: !needsItems }
  const { text, isEnough } = compactType(items, root, depth - 1)
  const isOne = /^(?:[\w<>-]+(?:\([^()]*\))?|\{[^|]*\})$/.test(text)
  return { text: `${isOne ? text : `(${text})`}[]${counts}`, isEnough: isEnough || !needsItems }
}

function ofObject(schema: Fields, root: Fields, depth: number): CompactType {
  const { additionalProperties } = schema
  const names = Object.keys(fieldsOf(schema.properties))
  const required = requiredNames(schema)
  if (names.length === 0 && required.length === 0) {
    if (!isFields(additionalProperties) || depth <= 0) return { text: 'object', isEnough: true }
    const { text } = compactType(additionalProperties, root, depth - 1)
    return { text: text === 'any' ? 'object' : `{ [key]: ${text} }`, isEnough: true }
  }
  if (depth <= 0) return { text: `{ ${MORE} }`, isEnough: required.length === 0 }
  const optional = names.filter((name) => !required.includes(name))
  const members = [...required, ...optional.slice(0, MAX_OPTIONAL)].map((name) => {
    const isRequired = required.includes(name)
    const { text, isEnough } = compactType(fieldOf(schema, name), root, depth - 1)
    return { text: `${nameText(name)}${isRequired ? '' : '?'}: ${text}`, isEnough: isEnough || !isRequired }
  })
  const rest = optional.length > MAX_OPTIONAL ? [MORE] : []
  return {
    text: `{ ${[...members.map(({ text }) => text), ...rest].join(', ')} }`,
    isEnough: members.every(({ isEnough }) => isEnough),
  }
}

/** Returns the schema of a property, if the object has it itself. */
export function fieldOf({ properties }: Fields, name: string): unknown {
  const fields = fieldsOf(properties)
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** Returns the names of required properties. */
export function requiredNames({ required }: Fields): string[] {
  return [...new Set(listOf(required).filter((name) => typeof name === 'string'))]
}

/** Quotes a name that is not a plain identifier, so that it cannot imitate Toolshelf's own text. */
export function nameText(name: string): string {
  return /^[A-Za-z_$][\w$.-]*$/.test(name) ? name : JSON.stringify(name)
}
