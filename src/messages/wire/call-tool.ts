// CallTool, the tool of the `bridge` wire: the model calls every tool found by a search through it.
import {
  CALL_TOOL,
  callToolInput,
  type Fields,
  fieldsOf,
  misnamesArguments,
  textOf,
} from '../../lib/index.ts'
import { parseExact } from '../json/index.ts'

/** The definition of CallTool. */
export const callToolDefinition: Fields = {
  name: CALL_TOOL,
  description:
    'Calls a tool whose definition an earlier result has shown and that is not in your list of tools.',
  input_schema: callToolInput(),
}

/** Rewrites a call as a call of CallTool. */
export function throughCallTool(block: Fields): Fields {
  return { ...block, name: CALL_TOOL, input: { name: block.name, arguments: block.input ?? {} } }
}

/** Unwraps a call of CallTool; one that names no tool, or gives its arguments under another key, stays unchanged. */
export function fromCallTool(block: Fields): Fields {
  const call = fieldsOf(block.input)
  const { name, arguments: input } = call
  if (textOf(name) === '' || misnamesArguments(call)) return block
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
