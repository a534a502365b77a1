// Checks `tools`: each entry by itself, then all together (wire 1–3, 8, 9).
// Implements wire 1, 2, 3, 8, 9.

import {
  type Fields,
  fieldsOf,
  isDeferred,
  isFields,
  isToolset,
  kindOf,
  memberDeferrals,
  nameOf,
} from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'

/** Checks `tools`; `mayAllBeDeferred` if the request has the inline-tools beta, which allows that. */
export function checkTools(tools: unknown, mayAllBeDeferred: boolean): Refusal | undefined {
  if (tools === undefined) return undefined
  if (!Array.isArray(tools)) return { message: 'tools: Input should be a valid list' }
  const each = firstRefusal(tools.entries(), ([index, tool]) => checkToolEntry(tool, `tools.${index}`))
  return each ?? checkNames(tools) ?? checkDeferral(tools, mayAllBeDeferred)
}

/** Checks an entry of `tools`, or the definition in a tool_addition. */
export function checkToolEntry(tool: unknown, path: string): Refusal | undefined {
  if (!isFields(tool)) {
    return { message: `${path}: Input should be a valid dictionary or object to extract fields from` }
  }
  if (tool.type !== undefined && tool.type !== null && typeof tool.type !== 'string') {
    return { message: `${path}.type: Input should be a valid string` }
  }
  if (isToolset(tool)) return checkToolset(tool, `${path}.${kindOf(tool)}`)
  const place = `${path}.${kindOf(tool)}`
  if (tool.defer_loading !== undefined && typeof tool.defer_loading !== 'boolean') {
    return { message: `${place}.defer_loading: Input should be a valid boolean` }
  }
  return kindOf(tool) === 'custom' ? checkCustom(tool, place) : checkSearchTool(tool, place)
}

const MAX_DEFERRED = 10_000
const NAME = /^[a-zA-Z0-9_-]{1,128}$/
const SEARCH_TYPE = /^(tool_search_tool_(?:regex|bm25))(?:_20251119)?$/
/** Fields that a custom tool may have. */
export const CUSTOM_FIELDS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'input_schema', 'type', 'cache_control', 'defer_loading'],
  ...['allowed_callers', 'eager_input_streaming', 'input_examples', 'strict'],
])

function checkCustom(tool: Fields, place: string): Refusal | undefined {
  const extra = Object.keys(tool).find((field) => !CUSTOM_FIELDS.has(field))
  if (extra !== undefined) return { message: `${place}.${extra}: Extra inputs are not permitted` }
  if (tool.name === undefined) return { message: `${place}.name: Field required` }
  if (typeof tool.name !== 'string' || !NAME.test(tool.name)) {
    return { message: `${place}.name: String should match pattern '${NAME.source}'` }
  }
  const schema = tool.input_schema
  if (schema === undefined) return { message: `${place}.input_schema: Field required` }
  if (!isFields(schema)) return { message: `${place}.input_schema: Input should be a valid dictionary` }
  if (schema.type === undefined) return { message: `${place}.input_schema.type: Field required` }
  if (schema.type !== 'object') return { message: `${place}.input_schema.type: Input should be 'object'` }
  return undefined
}

function checkSearchTool(tool: Fields, place: string): Refusal | undefined {
  const name = SEARCH_TYPE.exec(kindOf(tool))?.[1]
  return name === undefined || tool.name === name
    ? undefined
    : { message: `${place}.name: Input should be '${name}'` }
}

function checkToolset(tool: Fields, place: string): Refusal | undefined {
  if (Object.hasOwn(tool, 'defer_loading')) {
    return { message: `${place}.defer_loading: Extra inputs are not permitted` }
  }
  if (new Set(memberDeferrals(tool)).size < 2) return undefined
  return { message: `${place}.configs: defer_loading must be the same for every enabled member` }
}

function checkNames(tools: readonly unknown[]): Refusal | undefined {
  const names = tools.map((tool) => nameOf(fieldsOf(tool))).filter((name) => name !== '')
  return new Set(names).size < names.length ? { message: 'tools: Tool names must be unique.' } : undefined
}

function checkDeferral(tools: readonly unknown[], mayAllBeDeferred: boolean): Refusal | undefined {
  const deferred = tools.map(fieldsOf).filter(isDeferred)
  if (deferred.length > MAX_DEFERRED) {
    const message = `tools: at most ${MAX_DEFERRED} tools can be deferred, but ${deferred.length} are`
    return { message, code: 'available_tools_limit_exceeded' }
  }
  const breakpoint = deferred.find(hasBreakpoint)
  if (breakpoint) {
    const fault = `Tool '${nameOf(breakpoint)}' cannot have both defer_loading=true and cache_control set.`
    return { message: `${fault} Tools with defer_loading cannot use prompt caching.` }
  }
  if (mayAllBeDeferred || tools.length === 0 || deferred.length < tools.length) return undefined
  return { message: 'At least one tool must have defer_loading=false. All tools cannot be deferred.' }
}

function hasBreakpoint(tool: Fields): boolean {
  return tool.cache_control !== undefined && tool.cache_control !== null
}
