// The constant door of the bridge: every tool that joined is called through it.
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

/** A call as the upstream sees it. */
export function throughCallTool(block: Fields): Fields {
  return { ...block, name: CALL_TOOL, input: { name: block.name, arguments: block.input ?? {} } }
}

/** The call that a call of CallTool means; one that names no tool stays what it is. */
export function fromCallTool(block: Fields): Fields {
  const { name, arguments: input } = fieldsOf(block.input)
  if (textOf(name) === '') return block
  return { ...block, name, input: typeof input === 'string' ? parsed(input) : fieldsOf(input) }
}

/** Some models write the arguments as JSON in a string. */
function parsed(text: string): Fields {
  try {
    return fieldsOf(parseExact(text))
  } catch {
    return {}
  }
}
