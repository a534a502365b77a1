// Shows found tools within a budget (S17): whole definitions first, then signatures in a line, then names. A definition of
// which a valid call needs little is written compactly, as TypeScript would, in a fraction of the tokens of its JSON.
// Implements S17.

import { type Fields, fieldsOf, isFields, listOf, toJson } from './lib/json.ts'
import { oncePerFrozen } from './lib/objects.ts'
import { cut, oneLine } from './lib/text.ts'
import type { Definition } from './types.ts'

/** A tool's definition and its JSON. */
type FittableTool = { readonly name: string; readonly definition: Definition; readonly json: string }

/** How much of each tool an answer shows. */
type Fitted<Tool extends FittableTool> = {
  /** Tools whose whole definition fits, best first. */
  readonly whole: readonly Tool[]
  /** The other tools, best first. */
  readonly shortened: readonly Tool[]
  /** Lists the shortened tools and says how to get their whole definitions; empty if all are whole. */
  readonly text: string
}

/** Levels of detail, from least to most. */
const [UNNAMED, NAME, SIGNATURE, WHOLE] = [0, 1, 2, 3]

/** Share of the budget for whole definitions while other tools have no signature. */
const WHOLE_SHARE = 0.75

/**
 * Chooses how much of each tool an answer shows, within `budget` characters in total. A tool that was found alone is
 * always whole.
 *
 * @param howToSelect - Explains to the model how to get one whole definition.
 * @param textOf - How the answer shows a definition: as JSON, or compact.
 */
export function fitTools<Tool extends FittableTool>(
  tools: readonly Tool[],
  budget: number,
  howToSelect: string,
  textOf: (tool: Tool) => string = ({ json }) => json,
): Fitted<Tool> {
  // The definition with the name, because a note in front of the definitions lists it.
  const wholes = tools.map((tool) => `${tool.name}\n${textOf(tool)}`)
  const total = wholes.reduce((sum, text) => sum + sizeOf(text), 0)
  if (tools.length <= 1 || total <= budget) return { whole: tools, shortened: [], text: '' }
  const forms = tools.map(({ name, definition }, index) => {
    const signature = signatureOf(definition)
    const line = signature === undefined ? undefined : `- [shortened] ${signature}`
    return ['', `- ${name} [name only]`, line, wholes[index]]
  })
  const details = chooseDetails(forms, budget - sizeOf(heading(howToSelect)) - sizeOf(unnamed(tools.length)))
  const isWhole = (_: Tool, index: number) => details[index] === WHOLE
  return {
    whole: tools.filter(isWhole),
    shortened: tools.filter((tool, index) => !isWhole(tool, index)),
    text: listed(forms, details, howToSelect),
  }
}

/** A tool's line at each level of detail; undefined if it has none. */
type Forms = readonly (string | undefined)[]

function chooseDetails(forms: readonly Forms[], room: number): readonly number[] {
  const details = forms.map(() => UNNAMED)
  let used = 0
  const raise = (detail: number, limit: number) => {
    for (const [index, form] of forms.entries()) {
      const present = details[index] ?? UNNAMED
      const growth = sizeOf(form[detail]) - sizeOf(form[present])
      if (present >= detail || used + growth > limit) continue
      used += growth
      details[index] = detail
    }
  }
  raise(NAME, room)
  raise(WHOLE, room * WHOLE_SHARE)
  raise(SIGNATURE, room)
  raise(WHOLE, room)
  return details
}

/** Returns the length of a line, including its line break. */
function sizeOf(line: string | undefined): number {
  if (line === undefined) return Number.POSITIVE_INFINITY
  return line === '' ? 0 : line.length + 1
}

function listed(forms: readonly Forms[], details: readonly number[], howToSelect: string): string {
  const lines = forms.flatMap((form, index) => {
    const detail = details[index] ?? UNNAMED
    return detail === NAME || detail === SIGNATURE ? [form[detail]] : []
  })
  const count = details.filter((detail) => detail === UNNAMED).length
  if (lines.length === 0 && count === 0) return ''
  return [heading(howToSelect), ...lines, ...(count > 0 ? [unnamed(count)] : [])].join('\n')
}

function heading(howToSelect: string): string {
  return `Found, but shortened here to keep the answer small. ${howToSelect} for the whole definition of one:`
}

function unnamed(count: number): string {
  return `- and ${count} more, not named; search with more specific words.`
}

/** Optional arguments to show with types; of further ones only the names. */
const MAX_TYPED = 40

/**
 * Returns the signature, such as
 *
 *     github__create_issue: Creates an issue.
 *       owner: string // The account
 *       state?: "open" | "closed" = "open"
 *
 * Undefined if it says too little for a valid call, or is not shorter than the JSON.
 */
export const compactDefinition = oncePerFrozen((definition: Definition): string | undefined => {
  const { name, description } = definition
  const root = fieldsOf(definition.input_schema)
  const required = requiredNames(root)
  const properties = Object.fromEntries(required.map((one) => [one, fieldOf(root, one)]))
  if (!compactType({ ...root, properties }, root).isEnough) return undefined
  const optional = Object.keys(fieldsOf(root.properties)).filter((one) => !required.includes(one))
  const lines = [
    `${name}: ${oneLine(description ?? '', 400)}`.trimEnd(),
    ...required.map((one) => `  ${nameText(one)}: ${typed(fieldOf(root, one), root, true)}`),
    ...optional
      .slice(0, MAX_TYPED)
      .map((one) => `  ${nameText(one)}?: ${typed(fieldOf(root, one), root, false)}`),
    ...further(optional.slice(MAX_TYPED)),
  ]
  const text = lines.join('\n')
  return text.length < toJson(definition).length ? text : undefined
})

function typed(schema: unknown, root: Fields, isRequired: boolean): string {
  const { description, default: usual } = fieldsOf(schema)
  const value = usual === undefined || usual === null || isRequired ? '' : toJson(usual)
  const remark = typeof description === 'string' ? oneLine(description, 120) : ''
  return [
    compactType(schema, root).text,
    ...(value !== '' && value.length <= 60 ? [`= ${value}`] : []),
    ...(remark === '' ? [] : [`// ${remark}`]),
  ].join(' ')
}

function further(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const rest = names.length - 200
  const shown = names.slice(0, 200).map((name) => nameText(name.slice(0, 100)))
  return [`  … also optional: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`]
}

/** Optional members, and values of an enum, that are written. */
const MAX_MEMBERS = 12
const MAX_ALTERNATIVES = 6
/** Characters of a value or a pattern. */
const MAX_VALUE = 100

/** A type, and whether it is enough to write a valid value. */
type CompactType = { readonly text: string; readonly isEnough: boolean }

const ANY: CompactType = { text: 'any', isEnough: true }
/** Marks what is too long to write; the whole definition has it. */
const MORE = '…'
const UNKNOWN: CompactType = { text: MORE, isEnough: false }

/** Keywords with constraints that a type cannot express. */
const UNSAID = [
  ...['not', 'if', 'then', 'else', 'contains', 'patternProperties', 'propertyNames', 'unevaluatedProperties'],
  ...['dependencies', 'dependentRequired', 'dependentSchemas', 'minProperties', 'prefixItems', 'uniqueItems'],
]

/** Writes a schema as a type. */
function compactType(value: unknown, root: Fields, depth = 5): CompactType {
  if (!isFields(value)) return ANY
  const schema = resolved(value, root, depth)
  if (!schema) return UNKNOWN
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
  if (depth <= 0) return UNKNOWN
  const { anyOf: _, oneOf: __, default: ___, description: ____, ...own } = schema
  const shown = alternatives.slice(0, MAX_ALTERNATIVES).map((one) => {
    const inner = resolved(fieldsOf(one), root, depth - 1)
    return inner ? compactType(join(own, inner), root, depth - 1) : UNKNOWN
  })
  const { text, isEnough } = union(shown)
  return { text: shown.length < alternatives.length ? `${text} | ${MORE}` : text, isEnough }
}

/** A valid value needs only one alternative, and the model takes the first. */
function union(types: readonly CompactType[]): CompactType {
  const texts = [...new Set(types.map(({ text }) => text))]
  return { text: texts.join(' | '), isEnough: types[0]?.isEnough === true }
}

/** Writes an enum; cuts a long one and says how many more values it has. */
function ofValues(values: readonly unknown[]): CompactType {
  const texts = values.slice(0, 1000).map((value) => JSON.stringify(value) ?? 'null')
  const shown = texts.filter((text) => text.length <= MAX_VALUE).slice(0, MAX_MEMBERS)
  const rest = values.length - shown.length
  const text = [...shown, ...(rest > 0 ? [`${MORE} ${rest} more`] : [])].join(' | ')
  return { text, isEnough: shown.length > 0 }
}

function ofType(type: string, schema: Fields, root: Fields, depth: number): CompactType {
  if (type === 'string') return ofString(schema)
  if (type === 'integer' || type === 'number') return ofNumber(type, schema)
  if (type === 'array') return ofList(schema, root, depth)
  if (type === 'object') return ofObject(schema, root, depth)
  return type === 'boolean' || type === 'null' ? { text: type, isEnough: true } : ANY
}

function ofString({ format, minLength, maxLength, pattern }: Fields): CompactType {
  const name = typeof format === 'string' && /^[\w-]{1,30}$/.test(format) ? `string<${format}>` : 'string'
  const length = range(minLength === 0 ? undefined : minLength, maxLength)
  if (typeof pattern !== 'string') return { text: name + length, isEnough: true }
  const isShort = pattern.length <= MAX_VALUE
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
  if (Array.isArray(items) || depth <= 0) return { text: `${MORE}[]${counts}`, isEnough: !needsItems }
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
  const members = [...required, ...optional.slice(0, MAX_MEMBERS)].map((name) => {
    const isRequired = required.includes(name)
    const { text, isEnough } = compactType(fieldOf(schema, name), root, depth - 1)
    return { text: `${nameText(name)}${isRequired ? '' : '?'}: ${text}`, isEnough: isEnough || !isRequired }
  })
  const rest = optional.length > MAX_MEMBERS ? [MORE] : []
  return {
    text: `{ ${[...members.map(({ text }) => text), ...rest].join(', ')} }`,
    isEnough: members.every(({ isEnough }) => isEnough),
  }
}

/** Returns the schema of a property, if the object has it itself. */
function fieldOf({ properties }: Fields, name: string): unknown {
  const fields = fieldsOf(properties)
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** Returns the names of required properties. */
function requiredNames({ required }: Fields): string[] {
  return [...new Set(listOf(required).filter((name) => typeof name === 'string'))]
}

/** Quotes a name that is not a plain identifier, so that it cannot imitate Toolshelf's own text. */
function nameText(name: string): string {
  return /^[A-Za-z_$][\w$.-]*$/.test(name) ? name : JSON.stringify(name)
}

const MAX_CHARACTERS = 1200
const MAX_SENTENCE = 160

/**
 * Returns the definition in one line, such as `create(owner: string, state: "open" | "closed"; optional: body) Creates
 * an issue.` Undefined if the required arguments alone are too long for a line.
 */
function signatureOf(definition: Definition): string | undefined {
  for (const depth of [2, 1, 0]) {
    const line = lineOf(definition, depth, true)
    if (line.length <= MAX_CHARACTERS) return line
  }
  const bare = lineOf(definition, 0, false)
  return bare.length <= MAX_CHARACTERS ? bare : undefined
}

function lineOf({ name, description, input_schema }: Definition, depth: number, isWhole: boolean): string {
  const schema = fieldsOf(input_schema)
  const required = requiredNames(schema).map((one) => member(one, schema, schema, depth))
  const optional = isWhole ? optionalNames(schema) : ''
  const list = [required.join(', '), optional].filter((part) => part !== '').join('; ')
  const sentence = isWhole && typeof description === 'string' ? ` ${firstSentence(description)}` : ''
  return `${name}(${list})${sentence}`.trimEnd()
}

function member(name: string, schema: Fields, root: Fields, depth: number): string {
  return `${nameText(name)}: ${typeText(fieldOf(schema, name), root, depth)}`
}

function optionalNames(schema: Fields): string {
  const required = new Set(requiredNames(schema))
  const names = Object.keys(fieldsOf(schema.properties)).filter((name) => !required.has(name))
  if (names.length === 0) return ''
  return `optional: ${first(names, 8, (name) => cut(nameText(String(name)), 64)).join(', ')}`
}

/** Writes a type as in TypeScript; a long enum is cut and says how many more values it has. */
function typeText(value: unknown, root: Fields, depth: number): string {
  const given = fieldsOf(value)
  // A reference that leads nowhere, or to another, counts as "any value".
  const schema = fieldsOf(target(given.$ref, root) ?? given)
  if (Object.hasOwn(schema, 'const')) return valueText(schema.const)
  if (Array.isArray(schema.enum)) return first(schema.enum, 6, valueText).join(' | ')
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined
  if (alternatives && depth > 0) return anyOf(alternatives.map((one) => typeText(one, root, depth - 1)))
  const types = [schema.type].flat().filter((type) => typeof type === 'string') as string[]
  if (types.length === 0) return Object.keys(fieldsOf(schema.properties)).length > 0 ? 'object' : 'any'
  return anyOf(types.map((type) => plainType(cut(type, 20), schema, root, depth)))
}

function plainType(type: string, schema: Fields, root: Fields, depth: number): string {
  if (type === 'array') return depth > 0 ? `Array<${typeText(schema.items, root, depth - 1)}>` : 'array'
  const required = type === 'object' && depth > 0 ? requiredNames(schema) : []
  if (required.length === 0) return type
  const hasMore = Object.keys(fieldsOf(schema.properties)).length > required.length
  const members = required.map((name) => member(name, schema, root, depth - 1))
  return `{ ${[...members, ...(hasMore ? ['…'] : [])].join(', ')} }`
}

function anyOf(types: readonly string[]): string {
  return first([...new Set(types)], 4).join(' | ')
}

/** Writes the first of many, and how many more there are. */
function first(all: readonly unknown[], limit: number, write: (one: unknown) => string = String): string[] {
  const more = all.length - limit
  return [...all.slice(0, limit).map(write), ...(more > 0 ? [`… ${more} more`] : [])]
}

function valueText(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'any', 40)
}

function firstSentence(description: string): string {
  const line = oneLine(description, MAX_SENTENCE * 2)
  const [sentence = line] = /^.*?[.!?。！？](?=\s|$)/u.exec(line) ?? []
  return oneLine(sentence, MAX_SENTENCE)
}
