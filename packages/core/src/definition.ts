// Builds a tool's definition: cleans the texts of its server, gives arguments names that the API takes, updates schemas of older
// drafts, and shortens those that are too large to send. Calls are still validated against the original schema.
// Implements H5, Q9, S17.

import { type Fields, fieldsOf, isFields, wellFormedJson } from './lib/json.ts'
import {
  areNames,
  isOfKind,
  isSchema,
  KEYWORD_KINDS,
  type KeywordKind,
  MAX_SCHEMA_DEPTH,
  PROPERTY_NAME,
} from './lib/json-schema.ts'
import { cleanText, cleanValue, cut } from './lib/text.ts'
import type { Definition, Tool } from './types.ts'

/** Fields with prose; everything else in a definition is a name or a value. */
const PROSE: ReadonlySet<string> = new Set(['title', 'description', '$comment'])
const MAX_DEPTH = 200
const [MAX_NODES, MAX_TREE_DEPTH] = [1_000_000, 1000]

/**
 * Returns the same value, or a copy with clean prose. In names and values (`enum`, `default`, arguments) only tag
 * characters and our own markup are changed, because calls must repeat everything else exactly.
 */
export function cleanTexts<Value>(value: Value): Value {
  return clean(value, false, 0) as Value
}

function clean(value: unknown, isProse: boolean, depth: number): unknown {
  if (typeof value === 'string') return isProse ? cleanText(value) : cleanValue(value)
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  return Array.isArray(value) ? cleanList(value, depth) : cleanObject(value, depth)
}

function cleanList(list: readonly unknown[], depth: number): readonly unknown[] {
  const cleaned = list.map((item) => clean(item, false, depth + 1))
  return cleaned.every((item, index) => item === list[index]) ? list : cleaned
}

function cleanObject(fields: object, depth: number): object {
  let isChanged = false
  const entries = Object.entries(fields).map(([key, value]) => {
    const name = cleanValue(key)
    const cleaned = clean(value, PROSE.has(key), depth + 1)
    isChanged ||= name !== key || cleaned !== value
    return [name, cleaned]
  })
  return isChanged ? Object.fromEntries(entries) : fields
}

/** Maps argument names as sent to the server's own names, where they differ. */
type ArgumentNames = ReadonlyMap<string, string>

const MAX_NAME_LENGTH = 64

/** Returns the definition with valid argument names, and the mapping back; no `names` if nothing changed. */
function sendableNames(definition: Definition): { definition: Definition; names?: ArgumentNames } {
  const schema = fieldsOf(definition.input_schema)
  const properties = fieldsOf(schema.properties)
  const own = Object.keys(properties)
  if (own.every((name) => PROPERTY_NAME.test(name))) return { definition }
  const sent = spell(own)
  const described = own.map((name) => {
    const spelling = sent.get(name)
    return spelling ? [spelling, withOwnName(properties[name], name)] : [name, properties[name]]
  })
  const { required, ...rest } = schema
  const input_schema = {
    ...rest,
    properties: Object.fromEntries(described),
    ...(Array.isArray(required) ? { required: required.map((name) => sent.get(name) ?? name) } : {}),
  }
  const { input_examples: examples } = definition
  const renamed = Array.isArray(examples)
    ? { input_examples: examples.map((example) => withOwnNames(example, sent)) }
    : {}
  const names = new Map([...sent].map(([name, spelling]) => [spelling, name]))
  return { definition: { ...definition, input_schema, ...renamed }, names }
}

/** Translates the argument names of an input to the server's own. */
export function withOwnNames(input: unknown, names: ArgumentNames | undefined): unknown {
  if (!names || !isFields(input)) return input
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]))
}

/** Replaces invalid characters by `_`, and numbers names that are then equal. */
function spell(names: readonly string[]): Map<string, string> {
  const taken = new Set(names.filter((name) => PROPERTY_NAME.test(name)))
  const sent = new Map<string, string>()
  for (const name of names) {
    if (PROPERTY_NAME.test(name)) continue
    const plain = name.replace(/[^a-zA-Z0-9_.-]+/g, '_').slice(0, MAX_NAME_LENGTH) || '_'
    let spelling = plain
    for (let number = 2; taken.has(spelling); number++) {
      const ending = `_${number}`
      spelling = plain.slice(0, MAX_NAME_LENGTH - ending.length) + ending
    }
    taken.add(spelling)
    sent.set(name, spelling)
  }
  return sent
}

/** Adds the server's own name to the description, because the changed one may be unclear. */
function withOwnName(schema: unknown, name: string): unknown {
  if (!isFields(schema)) return schema
  const own = `(${JSON.stringify(name.slice(0, 100))})`
  const { description } = schema
  return { ...schema, description: typeof description === 'string' ? `${own} ${description}` : own }
}

/** Returns the same schema if it is valid; otherwise converts older drafts and drops invalid keywords. */
function currentSchema(schema: unknown): unknown {
  return isSchema(schema) ? schema : rewrite(schema, 0)
}

function rewrite(schema: unknown, depth: number): unknown {
  if (typeof schema === 'boolean') return schema
  if (depth > MAX_SCHEMA_DEPTH) return true
  if (!isFields(schema)) return {}
  const kept = Object.entries(modernise(schema)).flatMap(([keyword, original]) => {
    const kind = KEYWORD_KINDS.get(keyword)
    const value = kind ? rewriteValue(kind, original, depth + 1) : original
    return kind === undefined || isOfKind(kind, value) ? [[keyword, value] as const] : []
  })
  return Object.fromEntries(kept)
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
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)]))
}

/** Fields of a tool that are not sent. */
const OURS = new Set([
  ...['server', 'searchHint', 'alwaysLoad', 'shouldDefer', 'critical', 'initializing', 'resultBudget'],
  ...['defer_loading', 'cache_control'],
  // `describe` adds it if it is a string.
  'description',
  ...['_meta', 'title', 'annotations', 'inputSchema', 'outputSchema', 'icons', 'execution'],
])

/** Fields of an MCP tool that are sent to the API if they have the right type. */
const FROM_MCP: { readonly [field: string]: (value: unknown) => boolean } = {
  input_examples: Array.isArray,
  strict: (value) => typeof value === 'boolean',
}

/** A definition to send, and what had to be changed. */
type BuiltDefinition = {
  readonly definition: Definition
  readonly json: string
  readonly warning?: string
  /** Whether hidden characters or imitations of Toolshelf's own tags were removed. */
  readonly isCleaned?: boolean
  /** Argument names that had to be changed. */
  readonly names?: ArgumentNames
}

/** Longest description (H5) and definition of an MCP tool, in characters of JSON; a host's own tools have no limits. */
export type DefinitionLimits = { readonly descriptionLimit: number; readonly definitionLimit: number }

/** Builds the definition of a tool. */
export function buildDefinition(
  tool: Tool,
  name: string,
  isMcp: boolean,
  limits: DefinitionLimits,
): BuiltDefinition {
  const fields: Record<string, unknown> = { name }
  const own = typeof tool.description === 'string' ? tool.description : undefined
  const head = isMcp ? own?.slice(0, limits.descriptionLimit * 4).replace(/[\uD800-\uDBFF]$/, '') : own
  const text = isMcp && head !== undefined ? cleanText(head) : head
  if (text !== undefined) fields.description = isMcp ? cut(text, limits.descriptionLimit) : text
  const { type } = tool as { type?: unknown }
  const isHosted = typeof type === 'string' && type !== 'custom'
  const given = tool.input_schema ?? tool.inputSchema
  const schema = isTree(given, { left: MAX_NODES }) ? given : undefined
  if (!isHosted || schema !== undefined) fields.input_schema = currentSchema(objectSchema(schema))
  for (const [field, value] of Object.entries(tool)) {
    const isSent = isMcp
      ? Object.hasOwn(FROM_MCP, field) && FROM_MCP[field]?.(value) === true
      : !OURS.has(field) && typeof value !== 'function'
    if (isSent && !Object.hasOwn(fields, field) && value !== undefined) fields[field] = value
  }
  const written = serialise(fields as Definition)
  const warning = `the schema of "${name}" contains itself or has no end; the model may pass any arguments.`
  const whole = schema === given ? written : { ...written, warning }
  if (!isMcp) return whole
  const described =
    whole.json.length > limits.definitionLimit ? shortened(whole.definition, limits.definitionLimit) : whole
  const cleaned = cleanTexts(described.definition)
  const isCleaned = cleaned !== described.definition || text !== head
  const { definition, names } = sendableNames(cleaned)
  if (definition === described.definition && !isCleaned) return described
  return {
    ...described,
    ...serialise(definition),
    ...(isCleaned ? { isCleaned } : {}),
    ...(names ? { names } : {}),
  }
}

/** Shortens the schema, and drops the fields that a call does not need. */
function shortened({ name, description, input_schema }: Definition, limit: number): BuiltDefinition {
  const text = { name, description: `${SHORTENED} ${description ?? ''}`.trimEnd() }
  const room = limit - JSON.stringify(text).length - 20
  return serialise({ ...text, input_schema: shortenSchema(input_schema, room) })
}

/**
 * Converts a schema for the API, which accepts only object schemas without alternatives at the top: `true`, `{}` and
 * schemas without a type become "any object", and alternatives one object with the properties of all. Calls are
 * validated against the original.
 */
function objectSchema(schema: unknown): unknown {
  if (!isFields(schema)) return { type: 'object', properties: {} }
  const { anyOf, oneOf, allOf, properties, required, ...rest } = schema
  const choices = [anyOf, oneOf, allOf]
  const branches = choices.flat().filter(isFields)
  const isPlain =
    choices.every((choice) => choice === undefined) && (properties === undefined || isFields(properties))
  if (isPlain && (required === undefined || isNames(required))) {
    return schema.type === 'object' ? schema : { ...schema, type: 'object' }
  }
  const merged = [...branches.map((branch) => branch.properties), properties].filter(isFields)
  return {
    ...rest,
    type: 'object',
    properties: Object.assign({}, ...merged),
    ...(isNames(required) ? { required } : {}),
  }
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

/** Returns whether a schema has an end: one that contains itself, or one part many times over, would be read for ever. */
function isTree(value: unknown, nodes: { left: number }, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth > MAX_TREE_DEPTH || --nodes.left < 0) return false
  return Object.values(value).every((inner) => isTree(inner, nodes, depth + 1))
}

/** Drops what cannot be serialised: first the schema, then all but the usual fields. */
function serialise(definition: Definition): BuiltDefinition {
  const { name, description, input_schema } = definition
  const open = { type: 'object', properties: {} }
  const text = description === undefined ? {} : { description: String(description) }
  const attempts: Definition[] = [
    definition,
    { name, ...text, input_schema },
    { ...definition, input_schema: open },
  ]
  for (const [index, attempt] of attempts.entries()) {
    const json = tryToJson(attempt)
    if (json === undefined) continue
    const whole = wellFormedJson(json)
    if (whole !== json) return serialise(JSON.parse(whole))
    const warning = `the definition of "${name}" cannot be serialised as JSON; the parts that cannot are left out.`
    return { definition: Object.freeze(attempt), json, ...(index > 0 ? { warning } : {}) }
  }
  const bare = Object.freeze({ name, ...text, input_schema: open })
  return { definition: bare, json: JSON.stringify(bare), warning: `"${name}" is sent without its schema.` }
}

function tryToJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const MAX_ENUM_VALUES = 20
const MAX_TEXT = 200
/** Maximum members of an object or a list; the required ones of an object come first. */
const MAX_MEMBERS = 500
/** Deeper parts become "any value" in any case. */
const DEEPEST = 32

type Step = readonly [isTextCut: boolean, maxDepth: number, isRequiredOnly: boolean]

/** Each step removes more than the previous one. */
const STEPS: readonly Step[] = [
  [false, DEEPEST, false],
  [true, DEEPEST, false],
  [true, 2, false],
  [true, 0, false],
  [true, 0, true],
]

/** Marks a shortened schema. */
const SHORTENED = '[shortened: the schema is too large to be shown]'

/** Returns as much of the schema as fits into this many characters of JSON. */
function shortenSchema(schema: unknown, limit: number): unknown {
  for (const step of STEPS) {
    const shorter = shortenBy(step, schema, limit)
    if (shorter !== undefined && JSON.stringify(shorter).length <= limit) return shorter
  }
  return { type: 'object', description: SHORTENED }
}

/** Returns undefined as soon as the result is too large, to bound the work for a hostile schema. */
function shortenBy([isTextCut, maxDepth, isRequiredOnly]: Step, root: unknown, limit: number): unknown {
  let room = limit

  function shorten(value: unknown, depth: number): unknown {
    room -= 2
    if (room < 0) return undefined
    if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((item) => shorten(item, depth))
    if (!isFields(value)) return value
    if (depth < 0)
      return { ...(typeof value.type === 'string' ? { type: value.type } : {}), description: '[shortened]' }
    const isClosed = !isRequiredOnly && Object.keys(fieldsOf(value.properties)).length <= MAX_MEMBERS
    const kept = pick(Object.keys(value).slice(0, MAX_MEMBERS), (key) => {
      const inner = value[key]
      if (NARROWING.has(key) || (inner === false && !isClosed)) return []
      // Several shortened alternatives may match at once.
      return [key === 'oneOf' ? 'anyOf' : key, shortenField(key, inner, value, depth)]
    })
    const isLongEnum = Array.isArray(value.enum) && value.enum.length > MAX_ENUM_VALUES
    return isLongEnum ? withExamples(kept, value.enum as unknown[]) : kept
  }

  function shortenField(key: string, inner: unknown, schema: Fields, depth: number): unknown {
    room -= key.length + 3
    if (VALUES.has(key)) return isSmall(inner) ? inner : undefined
    if (key === 'required') return inner
    if (typeof inner === 'string') return shortenText(key, inner)
    if (!NAMED.has(key) || !isFields(inner)) return shorten(inner, depth - 1)
    return pick(membersOf(key, inner, schema), (name) => {
      room -= name.length + 3
      return [name, shorten(inner[name], depth - 1)]
    })
  }

  function shortenText(key: string, text: string): string | undefined {
    const isCut = isTextCut && text.length > MAX_TEXT
    room -= isCut ? MAX_TEXT : text.length
    if (!isCut) return text
    return REMARKS.has(key) ? cut(text, MAX_TEXT) : undefined
  }

  function membersOf(key: string, members: Fields, { required }: Fields): string[] {
    const first = Array.isArray(required) && key === 'properties' ? required.slice(0, MAX_MEMBERS) : []
    const others = isRequiredOnly && key === 'properties' ? [] : Object.keys(members).slice(0, MAX_MEMBERS)
    const names = new Set([...first.map(String), ...others])
    return [...names].filter((name) => Object.hasOwn(members, name)).slice(0, MAX_MEMBERS)
  }

  const shorter = shorten(root, maxDepth)
  return room < 0 ? undefined : shorter
}

/** Keywords whose shortened form would forbid more than the original. */
const NARROWING = new Set(['not', 'if', 'then', 'else', 'dependentSchemas'])
const REMARKS = new Set(['description', 'title', '$comment'])
/** Keywords with values, not schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'example'])
/** Keywords with schemas by name. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'patternProperties'])

function isSmall(value: unknown): boolean {
  if (Array.isArray(value)) return value.length <= MAX_ENUM_VALUES && value.every(isSmall)
  return (JSON.stringify(value)?.length ?? 0) <= MAX_TEXT
}

/** Replaces a long enum by examples, because a cut enum would forbid the other values. */
function withExamples(schema: Fields, values: readonly unknown[]): Fields {
  const examples = values.slice(0, MAX_ENUM_VALUES).filter(isSmall)
  const remark = `[shortened: one of ${values.length} values, of which ${examples.length} are shown]`
  const description = typeof schema.description === 'string' ? `${schema.description} ${remark}` : remark
  return { ...schema, description, examples }
}

/** Returns an object of the fields that have a value. */
function pick(names: readonly string[], fieldOf: (name: string) => [string, unknown] | []): Fields {
  return Object.fromEntries(
    names.map(fieldOf).filter(([, value]) => value !== undefined) as [string, unknown][],
  )
}
