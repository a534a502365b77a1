// Derives a form for the input of a tool from its JSON schema. What a form cannot show (choices between objects, recursion) is
// a field for JSON, so that every input can be written.
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../lib/index.ts'
import { numberOf, stringsOf } from './records.ts'

type Described = {
  readonly title: string
  readonly description: string
  readonly isRequired: boolean
  /** The value to start with, as JSON; empty if there is none. */
  readonly start: string
}

/** A field of a form. */
export type FormField = Described &
  (
    | { readonly kind: 'text'; readonly format: string }
    | {
        readonly kind: 'number'
        readonly isInteger: boolean
        readonly min?: number
        readonly max?: number
      }
    | { readonly kind: 'boolean' }
    /** The allowed values as JSON. */
    | { readonly kind: 'choice'; readonly choices: readonly string[] }
    | {
        readonly kind: 'object'
        readonly fields: readonly { readonly name: string; readonly field: FormField }[]
      }
    | { readonly kind: 'list'; readonly item: FormField }
    | { readonly kind: 'json'; readonly why: string }
  )

/** What a person entered: texts at the leaves, empty where nothing is entered. */
export type FormValue = string | readonly FormValue[] | { readonly [name: string]: FormValue }

const MAX_DEPTH = 6
const MAX_FIELDS = 150
const MAX_CHOICES = 500

/** Returns the form of a schema; never throws, whatever the schema is. */
export function formFor(schema: unknown): FormField {
  const budget = { fields: MAX_FIELDS }
  return fieldFor(fieldsOf(schema), { root: fieldsOf(schema), title: '', isRequired: true, depth: 0, budget })
}

type Place = {
  readonly root: Fields
  readonly title: string
  readonly isRequired: boolean
  readonly depth: number
  readonly budget: { fields: number }
}

function fieldFor(source: Fields, place: Place): FormField {
  const schema = resolved(source, place.root)
  const described: Described = {
    title: place.title || textOf(schema.title),
    description: textOf(schema.description),
    isRequired: place.isRequired,
    start: startOf(schema),
  }
  const json = (why: string): FormField => ({ ...described, kind: 'json', why })
  if (place.budget.fields-- <= 0) return json('the schema has too many fields')
  if (Array.isArray(schema.enum))
    return schema.enum.length > MAX_CHOICES
      ? json('the schema has too many choices')
      : { ...described, kind: 'choice', choices: schema.enum.map((one) => JSON.stringify(one) ?? 'null') }
  if (schema.const !== undefined)
    return { ...described, kind: 'choice', choices: [JSON.stringify(schema.const) ?? 'null'] }
  if (COMBINED.some((word) => schema[word] !== undefined)) return json('the schema combines several forms')
  return fieldOfType(schema, place, described) ?? json('the schema does not say what it takes')
}

const COMBINED = ['oneOf', 'anyOf', 'allOf', '$ref', 'if', 'not']

function startOf(schema: Fields): string {
  if (schema.default !== undefined) return JSON.stringify(schema.default) ?? ''
  return schema.const === undefined ? '' : (JSON.stringify(schema.const) ?? '')
}

function fieldOfType(schema: Fields, place: Place, described: Described): FormField | undefined {
  const types = typesOf(schema)
  if (types.length > 1) return { ...described, kind: 'json', why: `it takes ${types.join(' or ')}` }
  switch (types[0]) {
    case 'string':
      return { ...described, kind: 'text', format: textOf(schema.format) }
    case 'number':
    case 'integer': {
      const [min, max] = [numberOf(schema.minimum), numberOf(schema.maximum)]
      const limits = { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
      return { ...described, kind: 'number', isInteger: types[0] === 'integer', ...limits }
    }
    case 'boolean':
      return { ...described, kind: 'boolean' }
    case 'array':
      return listField(schema, place, described)
    case 'object':
      return objectField(schema, place, described)
    default:
      return undefined
  }
}

function typesOf({ type, properties, items }: Fields): readonly string[] {
  const types = Array.isArray(type) ? stringsOf(type) : [textOf(type)]
  const own = types.filter((one) => one !== 'null' && one !== '')
  if (own.length > 0) return own
  return isFields(properties) ? ['object'] : isFields(items) ? ['array'] : []
}

function listField(schema: Fields, place: Place, described: Described): FormField {
  if (place.depth >= MAX_DEPTH || !isFields(schema.items))
    return { ...described, kind: 'json', why: 'a list of anything' }
  const item = fieldFor(schema.items, { ...place, title: '', isRequired: true, depth: place.depth + 1 })
  return { ...described, kind: 'list', item }
}

function objectField(schema: Fields, place: Place, described: Described): FormField {
  const properties = Object.entries(fieldsOf(schema.properties))
  const isOpen = properties.length === 0 && schema.additionalProperties !== false && place.depth > 0
  if (place.depth >= MAX_DEPTH || isOpen)
    return { ...described, kind: 'json', why: 'an object of any fields' }
  const required = new Set(stringsOf(schema.required))
  const fields = properties.map(([name, value]) => ({
    name,
    field: fieldFor(fieldsOf(value), {
      ...place,
      title: name,
      isRequired: required.has(name),
      depth: place.depth + 1,
    }),
  }))
  fields.sort((a, b) => Number(b.field.isRequired) - Number(a.field.isRequired))
  return { ...described, kind: 'object', fields }
}

/** Follows a reference within the schema, and takes the one form of a choice between it and null. */
function resolved(schema: Fields, root: Fields, steps = MAX_DEPTH): Fields {
  if (steps === 0) return schema
  const reference = textOf(schema.$ref)
  if (reference.startsWith('#/')) {
    const target = reference
      .slice(2)
      .split('/')
      .reduce<unknown>(
        (value, key) => (Object.hasOwn(fieldsOf(value), key) ? fieldsOf(value)[key] : {}),
        root,
      )
    const { $ref: _, ...rest } = schema
    return resolved({ ...fieldsOf(target), ...rest }, root, steps - 1)
  }
  for (const word of ['anyOf', 'oneOf'] as const) {
    const forms = listOf(schema[word]).map(fieldsOf)
    const own = forms.filter(({ type }) => type !== 'null')
    if (own.length === 1 && forms.length > 0) {
      const { [word]: _, ...rest } = schema
      return resolved({ ...own[0], ...rest }, root, steps - 1)
    }
  }
  return schema
}

/** Returns what a form shows at first. */
export function valueFor(field: FormField): FormValue {
  if (field.kind === 'object')
    return Object.fromEntries(field.fields.map(({ name, field: inner }) => [name, valueFor(inner)]))
  if (field.kind === 'list') return []
  if (field.kind !== 'text' || field.start === '') return field.start
  const start: unknown = JSON.parse(field.start)
  return typeof start === 'string' ? start : field.start
}

/** A problem with an entry, and where it is. */
export type FormProblem = { readonly path: string; readonly message: string }
/** The input, and what is wrong with it. */
export type BuiltValue = { readonly value: unknown; readonly problems: readonly FormProblem[] }

/** Returns the input that was entered; what is left empty is left out. */
export function buildValue(field: FormField, value: FormValue, path = ''): BuiltValue {
  if (field.kind === 'object') return buildObject(field, value, path)
  if (field.kind === 'list') return buildList(field.item, value, path)
  const text = typeof value === 'string' ? value : ''
  if (text === '') return wrong(field.isRequired ? 'is required' : '', path)
  if (field.kind === 'text') return { value: text, problems: [] }
  if (field.kind === 'number') return buildNumber(field, text, path)
  try {
    return { value: JSON.parse(text), problems: [] }
  } catch {
    return wrong('is not JSON', path)
  }
}

function wrong(message: string, path: string): BuiltValue {
  return { value: undefined, problems: message === '' ? [] : [{ path, message }] }
}

function buildNumber(field: FormField & { kind: 'number' }, text: string, path: string): BuiltValue {
  const value = Number(text)
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, isInteger } = field
  if (!Number.isFinite(value)) return wrong('is not a number', path)
  if (isInteger && !Number.isInteger(value)) return wrong('is not a whole number', path)
  if (value < min) return wrong(`is below ${min}`, path)
  if (value > max) return wrong(`is above ${max}`, path)
  return { value, problems: [] }
}

function buildList(item: FormField, value: FormValue, path: string): BuiltValue {
  const items = Array.isArray(value) ? (value as readonly FormValue[]) : []
  const built = items.map((one, at) => buildValue(item, one, `${path}[${at}]`))
  const problems = built.flatMap((one) => one.problems)
  return { value: items.length === 0 ? undefined : built.map((one) => one.value), problems }
}

function buildObject(field: FormField & { kind: 'object' }, value: FormValue, path: string): BuiltValue {
  const entered = typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {}
  const built = field.fields.map(({ name, field: inner }) => {
    const own = Object.hasOwn(entered, name) ? (entered[name] as FormValue) : ''
    return [name, buildValue(inner, own, path === '' ? name : `${path}.${name}`)] as const
  })
  const given = built.flatMap(([name, { value: own }]) => (own === undefined ? [] : [[name, own] as const]))
  // An optional object of which nothing is entered is left out, with what it requires.
  if (given.length === 0 && !field.isRequired) return { value: undefined, problems: [] }
  return { value: Object.fromEntries(given), problems: built.flatMap(([, { problems }]) => problems) }
}
