// Defines the names of Toolshelf's own tools, and the input schema that both gateways and the library use for CallTool.
import type { Fields } from './json.ts'

/** The default name of the search tool. */
export const SEARCH_TOOL = 'ToolSearch'

/** The default name of the tool through which the model calls others, for clients whose tool list cannot change. */
export const CALL_TOOL = 'CallTool'

/** The start of the text in front of definitions that the MCP gateway's search found; the offline model reads it. */
export const CALL_THESE = `Call these with ${CALL_TOOL}`

/** Returns the input schema of the tool named `CALL_TOOL`. */
export function callToolInput(nameDescription = 'The full name of the tool.') {
  return {
    type: 'object',
    properties: {
      name: { type: 'string', description: nameDescription },
      arguments: { type: 'object', description: "The tool's input, as its definition describes it." },
    },
    required: ['name', 'arguments'],
  } as const
}

/**
 * Returns whether a call through `CALL_TOOL` has no `arguments` but other keys, such as `input`: run without arguments, the
 * tool would do something else. A call with only a name is allowed.
 */
export function misnamesArguments(call: Fields): boolean {
  return (call.arguments ?? null) === null && Object.keys(call).some((key) => !KEYS.has(key))
}

const KEYS = new Set(['name', 'arguments'])
