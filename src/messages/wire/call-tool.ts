// CallTool, the tool of the `bridge` wire: the model calls every tool found by a search through it.
import { type Fields, fieldsOf, textOf } from '../../lib/index.ts'
import { parseExact } from '../json/index.ts'

export const CALL_TOOL = 'CallTool'

export const callToolDefinition: Fields = {
  name: CALL_TOOL,
  description:
    'Calls a tool whose definition an earlier result has shown and that is not in your list of tools.',
  input_schema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The full name of the tool.' },
      arguments: { type: 'object', description: "The tool's input, as its definition describes it." },
    },
    required: ['name', 'arguments'],
  },
}

/** Rewrites a call as a call of CallTool. */
export function throughCallTool(block: Fields): Fields {
  return { ...block, name: CALL_TOOL, input: { name: block.name, arguments: block.input ?? {} } }
}

/** Unwraps a call of CallTool; a call that names no tool stays unchanged. */
export function fromCallTool(block: Fields): Fields {
  const { name, arguments: input } = fieldsOf(block.input)
  if (textOf(name) === '') return block
  return { ...block, name, input: typeof input === 'string' ? parsed(input) : fieldsOf(input) }
}

/** Parses arguments that some models write as a JSON string. */
function parsed(text: string): Fields {
  try {
    return fieldsOf(parseExact(text))
  } catch {
    return {}
  }
}
