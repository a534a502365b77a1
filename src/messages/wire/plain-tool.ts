// Reduces a tool definition to the fields that every version of the Messages API accepts.
import { kindOf } from '../../core/oracle/index.ts'
import { type Fields, listOf, omitFields, textOf } from '../../lib/index.ts'
import { stringifyExact } from '../json/index.ts'

const OLD = ['name', 'description', 'input_schema', 'type', 'cache_control']
const NEWER = ['defer_loading', 'allowed_callers', 'input_examples', 'strict', 'eager_input_streaming']

/**
 * Returns the fields of a tool that older APIs do not accept. Tools defined by the API itself have fields of their
 * own.
 */
export function newerFields(tool: Fields): string[] {
  const isCustom = kindOf(tool) === 'custom'
  return Object.keys(tool).filter((field) => (isCustom ? !OLD.includes(field) : NEWER.includes(field)))
}

/** Removes newer fields from a tool; moves examples into the description. */
export function plainTool(tool: Fields): Fields {
  const plain = omitFields(tool, ...newerFields(tool))
  const examples = listOf(tool.input_examples)
  if (examples.length === 0) return plain
  const said = `Examples of its input:\n${examples.map(stringifyExact).join('\n')}`
  const description = [textOf(tool.description), said].filter((text) => text !== '').join('\n\n')
  return { ...plain, description }
}
