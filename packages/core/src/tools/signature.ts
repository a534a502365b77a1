// Writes a tool's definition as one short line: its name, every required argument with its type, its first sentence.
// Implements S17.

import type { Fields } from '../lib/json.ts'
import { cut, oneLine } from '../lib/text.ts'
import type { Definition } from '../types.ts'

const MAX_CHARACTERS = 1200
const MAX_SENTENCE = 160
const MAX_ENUM_VALUES = 6
const MAX_ENUM_CHARACTERS = 40
const MAX_OPTIONAL_NAMES = 8
const MAX_ALTERNATIVES = 4

/**
 * Returns the definition in one line, such as `create(owner: string, state: "open" | "closed"; optional: body) Creates
 * an issue.` Undefined if the required arguments alone are too long for a line.
 */
export function signatureOf(definition: Definition): string | undefined {
  for (const depth of [2, 1, 0]) {
    const line = write(definition, depth, true)
    if (line.length <= MAX_CHARACTERS) return line
  }
  const bare = write(definition, 0, false)
  return bare.length <= MAX_CHARACTERS ? bare : undefined
}

function write({ name, description, input_schema }: Definition, depth: number, isWhole: boolean): string {
  const schema = fieldsOf(input_schema)
  const required = requiredOf(schema).map((one) => argument(one, schema, schema, depth))
  const optional = isWhole ? optionalNames(schema) : ''
  const list = [required.join(', '), optional].filter((part) => part !== '').join('; ')
  const sentence = isWhole && typeof description === 'string' ? ` ${firstSentence(description)}` : ''
  return `${name}(${list})${sentence}`.trimEnd()
}

function argument(name: string, schema: Fields, root: Fields, depth: number): string {
  const properties = fieldsOf(schema.properties)
  const own = Object.hasOwn(properties, name) ? properties[name] : undefined
  return `${nameText(name)}: ${typeText(own, root, depth)}`
}

function optionalNames(schema: Fields): string {
  const required = new Set(requiredOf(schema))
  const names = Object.keys(fieldsOf(schema.properties)).filter((name) => !required.has(name))
  if (names.length === 0) return ''
  const shown = names.slice(0, MAX_OPTIONAL_NAMES).map((name) => cut(nameText(name), 64))
  return `optional: ${[...shown, ...more(names.length - shown.length)].join(', ')}`
}

/** Writes a type as in TypeScript; a long enum is cut and says how many more values it has. */
function typeText(value: unknown, root: Fields, depth: number): string {
  const schema = resolve(fieldsOf(value), root)
  if (Object.hasOwn(schema, 'const')) return valueText(schema.const)
  if (Array.isArray(schema.enum)) return enumText(schema.enum)
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined
  if (alternatives && depth > 0) return union(alternatives.map((one) => typeText(one, root, depth - 1)))
  const types = [schema.type].flat().filter((type) => typeof type === 'string') as string[]
  if (types.length === 0) return Object.keys(fieldsOf(schema.properties)).length > 0 ? 'object' : 'any'
  return union(types.map((type) => plainType(cut(type, 20), schema, root, depth)))
}

function plainType(type: string, schema: Fields, root: Fields, depth: number): string {
  if (type === 'array') return depth > 0 ? `Array<${typeText(schema.items, root, depth - 1)}>` : 'array'
  const required = type === 'object' && depth > 0 ? requiredOf(schema) : []
  if (required.length === 0) return type
  const hasMore = Object.keys(fieldsOf(schema.properties)).length > required.length
  const members = required.map((name) => argument(name, schema, root, depth - 1))
  return `{ ${[...members, ...(hasMore ? ['…'] : [])].join(', ')} }`
}

function enumText(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_ENUM_VALUES).map(valueText)
  return [...shown, ...more(values.length - shown.length)].join(' | ')
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  const shown = distinct.slice(0, MAX_ALTERNATIVES)
  return [...shown, ...more(distinct.length - shown.length)].join(' | ')
}

function more(count: number): string[] {
  return count > 0 ? [`… ${count} more`] : []
}

/** Resolves one local reference; a dangling or nested one becomes "any value". */
function resolve(schema: Fields, root: Fields): Fields {
  const [, place = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(schema.$ref ?? '')) ?? []
  const definitions = fieldsOf(root[place])
  return Object.hasOwn(definitions, name) ? fieldsOf(definitions[name]) : schema
}

function requiredOf({ required }: Fields): string[] {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  return [...new Set(names)]
}

/** Quotes a name that is not a plain identifier, so that it cannot imitate Toolshelf's own text. */
function nameText(name: string): string {
  return /^[A-Za-z_$][\w$.-]*$/.test(name) ? name : JSON.stringify(name)
}

function valueText(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'any', MAX_ENUM_CHARACTERS)
}

function firstSentence(description: string): string {
  const line = oneLine(description, MAX_SENTENCE * 2)
  const [sentence = line] = /^.*?[.!?。！？](?=\s|$)/u.exec(line) ?? []
  return oneLine(sentence, MAX_SENTENCE)
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}
