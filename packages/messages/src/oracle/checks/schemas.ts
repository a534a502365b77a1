// Checks tool definitions: kinds that the API knows, schemas of draft 2020-12, and valid property names.

import {
  changeIn,
  type Fields,
  fieldsOf,
  isFields,
  isSchema,
  kindOf,
  listOf,
  PROPERTY_NAME,
  pathOf,
  unexpectedTag,
} from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import type { Turn } from '../turns.ts'

export function checkSchemas(tools: unknown, turns: readonly Turn[]): Refusal | undefined {
  const added = turns
    .flatMap(({ blocks }) => blocks)
    .flatMap((placed) => {
      const { definition } = changeIn(placed.block) ?? {}
      return definition ? [[`${pathOf(placed)}.tool_addition.tool.definition`, definition] as const] : []
    })
  const declared = listOf(tools).map((tool, index) => [`tools.${index}`, fieldsOf(tool)] as const)
  return firstRefusal([...declared, ...added], ([path, tool]) => {
    const kind = kindOf(tool)
    if (kind === 'custom') return checkSchema(tool, `${path}.custom`)
    return API_TOOL.test(kind) ? undefined : { message: unexpectedTag(path, kind) }
  })
}

/** SDK, `ToolUnion` and its beta form; dates are an open list. */
const API_TOOL =
  /^(?:(?:bash|text_editor|memory|computer|computer_toolset|browser_toolset|code_execution|web_search|web_fetch|advisor)_\d{8}|tool_search_tool_(?:regex|bm25)(?:_\d{8})?|mcp_toolset)$/

function checkSchema({ description, input_schema: schema }: Fields, path: string): Refusal | undefined {
  if (description !== undefined && typeof description !== 'string') {
    return { message: `${path}.description: Input should be a valid string` }
  }
  const { properties, required, anyOf, oneOf, allOf } = fieldsOf(schema)
  const place = `${path}.input_schema`
  if ([anyOf, oneOf, allOf].some((choice) => choice !== undefined)) {
    return { message: `${place}: input_schema does not support oneOf, allOf, or anyOf at the top level` }
  }
  if (properties !== undefined && properties !== null && !isFields(properties)) {
    return { message: `${place}.properties: Input should be a valid dictionary` }
  }
  if (Object.keys(fieldsOf(properties)).some((name) => !PROPERTY_NAME.test(name))) {
    return { message: `${place}.properties: Property keys should match pattern '${PROPERTY_NAME.source}'` }
  }
  const isNames = Array.isArray(required) && required.every((name) => typeof name === 'string')
  if (required !== undefined && required !== null && !isNames) {
    return { message: `${place}.required: Input should be a valid list` }
  }
  if (isSchema(schema)) return undefined
  const rule = 'It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).'
  return { message: `${place}: JSON schema is invalid. ${rule}` }
}
