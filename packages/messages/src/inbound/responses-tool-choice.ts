// Converts `tool_choice` and `parallel_tool_calls` of a Responses request.
import { type Fields, fieldsOf, isFields, listOf, textOf } from '@toolshelf/core/internal'
import { refuseRequest } from '../errors.ts'
import { barredBy, type ToolChoice } from './openai-content.ts'
import type { ToolTable } from './responses-tools.ts'

/** Converts the two fields. */
export function fromToolChoice(
  { tool_choice: choice, parallel_tool_calls: isParallel }: Fields,
  table: ToolTable,
): ToolChoice {
  const single = isParallel === false ? { disable_parallel_tool_use: true } : {}
  const auto: Fields = isParallel === false ? { tool_choice: { type: 'auto', ...single } } : {}
  const required = { tool_choice: { type: 'any', ...single } }
  if (choice === undefined || choice === null || choice === 'auto') return { field: auto }
  if (choice === 'none') return { field: { tool_choice: { type: 'none' } } }
  if (choice === 'required') return { field: required }
  if (!isFields(choice)) throw wrong(`"${String(choice).slice(0, 40)}" is not known`)
  if (choice.type === 'allowed_tools') {
    const { list, hosted } = table
    const allowed = listOf(choice.tools).map((tool) => nameIn(fieldsOf(tool), table))
    const barred = barredBy(allowed, list)
    if (barred.size === list.length && hosted.size === 0)
      throw wrong('none of the allowed tools is in "tools"')
    return { barred, field: choice.mode === 'required' ? required : auto }
  }
  const name = nameIn(choice, table)
  if (table.tools.has(name)) return { field: { tool_choice: { type: 'tool', name, ...single } } }
  if (table.hosted.has(textOf(choice.type)))
    return {
      field: {},
      unconvertible: `tool_choice: ${textOf(choice.type)}, which only OpenAI runs`,
    }
  throw wrong(`there is no tool "${(textOf(choice.name) || textOf(choice.type)).slice(0, 80)}" in "tools"`)
}

/** The name inside the gateway; tools such as `apply_patch` are named by their type. */
function nameIn({ type, name, namespace }: Fields, table: ToolTable): string {
  return table.insideName(textOf(namespace), textOf(name) || textOf(type))
}

function wrong(what: string) {
  const expected = 'send "auto", "none", "required", or an object that names one of the tools'
  return refuseRequest(400, 'invalid_request_error', `tool_choice: ${what}; ${expected}`)
}
