// Builds the definition that is sent from a tool of the host or of a server (Q9).
// Implements Q9, H5.
import { cleanText, cut, isFields, wellFormedJson } from '../../lib/index.ts'
import type { Definition, Tool } from '../types.ts'
import { cleanTexts } from './clean-definition.ts'
import { currentSchema } from './current-schema.ts'
import { type ArgumentNames, sendableNames } from './property-names.ts'
import { SHORTENED, shortenSchema } from './shorten.ts'

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
export type BuiltDefinition = {
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
