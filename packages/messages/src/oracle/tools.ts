// Checks tools: each entry by itself, then all together (wire 1–3, 8, 9), their schemas, and that every name has a definition, in `tools`
// or added by value earlier in the conversation (wire 4, 5, 42).
// Implements wire 1, 2, 3, 4, 5, 8, 9, 42.

import {
  changeIn,
  type Fields,
  fieldsOf,
  isDeferred,
  isFields,
  isSchema,
  isToolset,
  kindOf,
  listOf,
  memberDeferrals,
  nameOf,
  type Placed,
  PROPERTY_NAME,
  pathOf,
  referencesIn,
  textOf,
  toJson,
  unexpectedTag,
} from '@toolshelf/core/internal'
import { checkExtra, firstRefusal, NO_OBJECT, type Refusal, type Turn } from './turns.ts'

/** Checks `tools`; `mayAllBeDeferred` if the request has the inline-tools beta, which allows that. */
export function checkTools(tools: unknown, mayAllBeDeferred: boolean): Refusal | undefined {
  if (tools === undefined) return undefined
  if (!Array.isArray(tools)) return 'tools: Input should be a valid list'
  const each = firstRefusal(tools.entries(), ([index, tool]) => checkToolEntry(tool, `tools.${index}`))
  return each ?? checkNames(tools) ?? checkDeferral(tools, mayAllBeDeferred)
}

/** Checks an entry of `tools`, or the definition in a tool_addition. */
function checkToolEntry(tool: unknown, path: string): Refusal | undefined {
  if (!isFields(tool)) return `${path}: ${NO_OBJECT}`
  if (tool.type !== undefined && tool.type !== null && typeof tool.type !== 'string') {
    return `${path}.type: Input should be a valid string`
  }
  if (isToolset(tool)) return checkToolset(tool, `${path}.${kindOf(tool)}`)
  const place = `${path}.${kindOf(tool)}`
  if (tool.defer_loading !== undefined && typeof tool.defer_loading !== 'boolean') {
    return `${place}.defer_loading: Input should be a valid boolean`
  }
  return kindOf(tool) === 'custom' ? checkCustom(tool, place) : checkSearchTool(tool, place)
}

const MAX_DEFERRED = 10_000
const SEARCH_TYPE = /^(tool_search_tool_(?:regex|bm25))(?:_20251119)?$/
/** Fields that a custom tool may have. */
export const CUSTOM_FIELDS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'input_schema', 'type', 'cache_control', 'defer_loading'],
  ...['allowed_callers', 'eager_input_streaming', 'input_examples', 'strict'],
])

function checkCustom(tool: Fields, place: string): Refusal | undefined {
  const extra = checkExtra(tool, (field) => CUSTOM_FIELDS.has(field), place)
  if (extra) return extra
  if (tool.name === undefined) return `${place}.name: Field required`
  const fault = checkName(tool.name, `${place}.name`)
  if (fault) return fault
  const schema = tool.input_schema
  if (schema === undefined) return `${place}.input_schema: Field required`
  if (!isFields(schema)) return `${place}.input_schema: Input should be a valid dictionary`
  if (schema.type === undefined) return `${place}.input_schema.type: Field required`
  if (schema.type !== 'object') return `${place}.input_schema.type: Input should be 'object'`
  return undefined
}

/** Checks the name of a tool, in a definition or a call. */
export function checkName(name: unknown, place: string): Refusal | undefined {
  if (typeof name === 'string' && /^[a-zA-Z0-9_-]{1,128}$/.test(name)) return undefined
  return `${place}: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
}

function checkSearchTool(tool: Fields, place: string): Refusal | undefined {
  const name = SEARCH_TYPE.exec(kindOf(tool))?.[1]
  return name === undefined || tool.name === name ? undefined : `${place}.name: Input should be '${name}'`
}

function checkToolset(tool: Fields, place: string): Refusal | undefined {
  const extra = checkExtra(tool, (field) => field !== 'defer_loading', place)
  if (extra || new Set(memberDeferrals(tool)).size < 2) return extra
  return `${place}.configs: defer_loading must be the same for every enabled member`
}

function checkNames(tools: readonly unknown[]): Refusal | undefined {
  const names = tools.map((tool) => nameOf(fieldsOf(tool))).filter((name) => name !== '')
  return new Set(names).size < names.length ? 'tools: Tool names must be unique.' : undefined
}

function checkDeferral(tools: readonly unknown[], mayAllBeDeferred: boolean): Refusal | undefined {
  const deferred = tools.map(fieldsOf).filter(isDeferred)
  if (deferred.length > MAX_DEFERRED) {
    const message = `tools: at most ${MAX_DEFERRED} tools can be deferred, but ${deferred.length} are`
    return { message, code: 'available_tools_limit_exceeded' }
  }
  const breakpoint = deferred.find(({ cache_control: mark }) => mark !== undefined && mark !== null)
  if (breakpoint) {
    const fault = `Tool '${nameOf(breakpoint)}' cannot have both defer_loading=true and cache_control set.`
    return `${fault} Tools with defer_loading cannot use prompt caching.`
  }
  if (mayAllBeDeferred || tools.length === 0 || deferred.length < tools.length) return undefined
  return 'At least one tool must have defer_loading=false. All tools cannot be deferred.'
}

export function checkSchemas(tools: unknown, turns: readonly Turn[]): Refusal | undefined {
  const blocks = turns.flatMap((turn) => turn.blocks)
  const added = blocks.flatMap((placed) => {
    const { definition } = changeIn(placed.block) ?? {}
    return definition ? [[`${pathOf(placed)}.tool_addition.tool.definition`, definition] as const] : []
  })
  const declared = listOf(tools).map((tool, index) => [`tools.${index}`, fieldsOf(tool)] as const)
  return firstRefusal([...declared, ...added], ([path, tool]) => {
    const kind = kindOf(tool)
    if (kind === 'custom') return checkSchema(tool, `${path}.custom`)
    return API_TOOL.test(kind) ? undefined : unexpectedTag(path, kind)
  })
}

/** SDK, `ToolUnion` and its beta form; dates are an open list. */
const API_TOOL =
  /^(?:(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset|code_execution|web_search|web_fetch|advisor)_\d{8}|tool_search_tool_(?:regex|bm25)(?:_\d{8})?|mcp_toolset)$/

function checkSchema({ description, input_schema: schema }: Fields, path: string): Refusal | undefined {
  if (description !== undefined && typeof description !== 'string') {
    return `${path}.description: Input should be a valid string`
  }
  const { properties, required, anyOf, oneOf, allOf } = fieldsOf(schema)
  const place = `${path}.input_schema`
  if ([anyOf, oneOf, allOf].some((choice) => choice !== undefined)) {
    return `${place}: input_schema does not support oneOf, allOf, or anyOf at the top level`
  }
  if (properties !== undefined && properties !== null && !isFields(properties)) {
    return `${place}.properties: Input should be a valid dictionary`
  }
  if (Object.keys(fieldsOf(properties)).some((name) => !PROPERTY_NAME.test(name))) {
    return `${place}.properties: Property keys should match pattern '${PROPERTY_NAME.source}'`
  }
  const isNames = Array.isArray(required) && required.every((name) => typeof name === 'string')
  if (required !== undefined && required !== null && !isNames) {
    return `${place}.required: Input should be a valid list`
  }
  if (isSchema(schema)) return undefined
  const rule = 'It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).'
  return `${place}: JSON schema is invalid. ${rule}`
}

/** Checks that every name that a block refers to has a definition. */
export function checkReferences(tools: unknown, turns: readonly Turn[]): Refusal | undefined {
  const entries = listOf(tools).map(fieldsOf)
  const known: Known = {
    kinds: new Map(entries.map((tool) => [nameOf(tool), kindOf(tool)])),
    added: 0,
    size: 0,
  }
  return firstRefusal(
    turns.flatMap((turn) => turn.blocks),
    (placed) => checkSearchResult(placed, known) ?? checkChange(placed, known),
  )
}

/** The definitions so far: kinds by name, and the number and size of those added by value. */
type Known = { readonly kinds: Map<string, string>; added: number; size: number }

const MAX_ADDED = 10_000
const MAX_ADDED_CHARACTERS = 4_194_304

function checkSearchResult({ block }: Placed, known: Known): Refusal | undefined {
  return firstRefusal(referencesIn(block), ({ tool_name: name }) => {
    if (typeof name === 'string' && known.kinds.has(name)) return undefined
    return `Tool reference '${textOf(name)}' not found in available tools`
  })
}

function checkChange(placed: Placed, known: Known): Refusal | undefined {
  const change = changeIn(placed.block)
  if (!change) return undefined
  if (change.definition) return define(change.name, change.definition, placed, known)
  if (known.kinds.has(change.name)) return undefined
  const message = `tool_addition/tool_removal references unknown tool '${change.name}'`
  return { message, code: 'tool_reference_unresolved' }
}

function define(name: string, definition: Fields, placed: Placed, known: Known): Refusal | undefined {
  const path = pathOf(placed)
  const fault = checkToolEntry(definition, `${path}.tool_addition.tool.tool_definition.definition`)
  if (fault) return fault
  const kind = kindOf(definition)
  if ((known.kinds.get(name) ?? kind) !== kind) {
    const message = `${path}: the tool '${name}' is already defined as a tool of another kind`
    return { message, code: 'tool_name_conflict' }
  }
  known.kinds.set(name, kind)
  known.added += 1
  known.size += toJson(definition).length
  if (known.added <= MAX_ADDED && known.size <= MAX_ADDED_CHARACTERS) return undefined
  const message = `${path}: the tools defined in messages are too many or too large`
  return { message, code: 'available_tools_limit_exceeded' }
}
