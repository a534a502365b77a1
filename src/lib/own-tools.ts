// Names of Toolshelf's own tools, and the input that both gateways and the library give CallTool.

/** The default name of the search tool. */
export const SEARCH_TOOL = 'ToolSearch'

/** The default name of the tool through which the model calls others, where it cannot get new definitions. */
export const CALL_TOOL = 'CallTool'

/** The input schema of the tool named `CALL_TOOL`. */
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
