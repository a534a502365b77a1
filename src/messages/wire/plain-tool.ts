// A tool's definition with only the fields that every Messages API has known from the start.
import { type Fields, listOf, textOf, without } from '../../core/oracle/json.ts'

const NEWER = ['defer_loading', 'allowed_callers', 'input_examples', 'strict', 'eager_input_streaming']

/** Examples are said in the description. Tools that the API defines itself keep their fields. */
export function plainTool(tool: Fields): Fields {
  const plain = without(tool, ...NEWER)
  const examples = listOf(tool.input_examples)
  if (examples.length === 0) return plain
  const said = `Examples of its input:\n${examples.map((example) => JSON.stringify(example)).join('\n')}`
  const description = [textOf(tool.description), said].filter((text) => text !== '').join('\n\n')
  return { ...plain, description }
}
