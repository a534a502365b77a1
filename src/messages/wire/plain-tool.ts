// A tool's definition with only the fields that every Messages API has known from the start.
import { kindOf } from '../../core/oracle/catalogue.ts'
import { type Fields, listOf, textOf, without } from '../../core/oracle/json.ts'

const OLD = ['name', 'description', 'input_schema', 'type', 'cache_control']
const NEWER = ['defer_loading', 'allowed_callers', 'input_examples', 'strict', 'eager_input_streaming']

/** Examples are said in the description. Tools that the API defines itself keep the rest of their fields. */
export function plainTool(tool: Fields): Fields {
  const isCustom = kindOf(tool) === 'custom'
  const newer = isCustom ? Object.keys(tool).filter((field) => !OLD.includes(field)) : NEWER
  const plain = without(tool, ...newer)
  const examples = listOf(tool.input_examples)
  if (examples.length === 0) return plain
  const said = `Examples of its input:\n${examples.map((example) => JSON.stringify(example)).join('\n')}`
  const description = [textOf(tool.description), said].filter((text) => text !== '').join('\n\n')
  return { ...plain, description }
}
