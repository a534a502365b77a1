// A tool as the host or a server describes it → the definition that is sent, memoised, without overlays (Q9).
// Implements Q9, H5.
import { cleanText, cut, isFields } from '../../lib/index.ts'
import type { Definition, Tool } from '../types.ts'
import { cleanTexts } from './clean-definition.ts'
import { currentSchema } from './current-schema.ts'
import { type ArgumentNames, sendableNames } from './property-names.ts'
import { SHORTENED, shortenSchema } from './shorten.ts'

/** Fields that say how to treat a tool; they are never sent. */
const OURS = new Set([
  ...['server', 'searchHint', 'alwaysLoad', 'shouldDefer', 'critical', 'initializing'],
  ...['defer_loading', 'cache_control'],
  // Sent only where it is text, which `describe` sees to.
  'description',
  ...['_meta', 'title', 'annotations', 'inputSchema', 'outputSchema', 'icons', 'execution'],
])

/** What an MCP tool may bring to the API, if it has the right type; its other fields are its client's business. */
const FROM_MCP: { readonly [field: string]: (value: unknown) => boolean } = {
  input_examples: Array.isArray,
  strict: (value) => typeof value === 'boolean',
}

export type BuiltDefinition = {
  readonly definition: Definition
  readonly json: string
  readonly warning?: string
  /** It held hidden characters or marks of ours. */
  readonly isCleaned?: boolean
  /** Names of arguments that had to be changed. */
  readonly names?: ArgumentNames
}

/** Characters of an MCP tool's description, and of its whole definition as JSON; a host's own tools have no limits. */
export type DefinitionLimits = { readonly descriptionLimit: number; readonly definitionLimit: number }

export function buildDefinition(
  tool: Tool,
  name: string,
  isMcp: boolean,
  limits: DefinitionLimits,
): BuiltDefinition {
  const fields: Record<string, unknown> = { name }
  const given = typeof tool.description === 'string' ? tool.description : undefined
  const head = isMcp ? given?.slice(0, limits.descriptionLimit * 4).replace(/[\uD800-\uDBFF]$/, '') : given
  const text = isMcp && head !== undefined ? cleanText(head) : head
  if (text !== undefined) fields.description = isMcp ? cut(text, limits.descriptionLimit) : text
  const isHosted =
    typeof (tool as { type?: unknown }).type === 'string' && (tool as { type?: unknown }).type !== 'custom'
  const schema = tool.input_schema ?? tool.inputSchema
  if (!isHosted || schema !== undefined) fields.input_schema = currentSchema(objectSchema(schema))
  for (const [field, value] of Object.entries(tool)) {
    const isSent = isMcp
      ? Object.hasOwn(FROM_MCP, field) && FROM_MCP[field]?.(value) === true
      : !OURS.has(field) && typeof value !== 'function'
    if (isSent && !Object.hasOwn(fields, field) && value !== undefined) fields[field] = value
  }
  const whole = serialise(fields as Definition)
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

/** With a smaller schema, and without the fields that a call can do without. */
function shortened({ name, description, input_schema }: Definition, limit: number): BuiltDefinition {
  const text = { name, description: `${SHORTENED} ${description ?? ''}`.trimEnd() }
  const room = limit - JSON.stringify(text).length - 20
  return serialise({ ...text, input_schema: shortenSchema(input_schema, room) })
}

/**
 * The API takes only object schemas, without alternatives at the top: `true`, `{}` and schemas without a type mean
 * "any object", and alternatives become one object with the properties of all. Calls are checked by the original.
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

/** What JSON cannot write is left out: first the schema, then every field but the usual ones. */
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
    const json = toJson(attempt)
    if (json === undefined) continue
    const whole = json.replace(LONE_HALF, '$1\ufffd')
    if (whole !== json) return serialise(JSON.parse(whole))
    const warning = `the definition of "${name}" cannot be written as JSON; what cannot is left out.`
    return { definition: Object.freeze(attempt), json, ...(index > 0 ? { warning } : {}) }
  }
  const bare = Object.freeze({ name, ...text, input_schema: open })
  return { definition: bare, json: JSON.stringify(bare), warning: `"${name}" is sent without its schema.` }
}

/** JSON writes half of a pair as an escape; a backslash that stands for itself is written twice. */
const LONE_HALF = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
