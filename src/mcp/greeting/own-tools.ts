// Defines the gateway's own tools as an MCP client sees them.
import { CALL_TOOL, callToolInput, oneLine, SEARCH_TOOL } from '../../lib/index.ts'

/** How found tools reach the client: on its list, or through CallTool. */
export type ListingMode = 'list' | 'bridge'

/** A tool of the gateway itself, as clients list it. */
export type OwnTool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: { readonly type: 'object'; readonly [field: string]: unknown }
  readonly annotations: { readonly [hint: string]: boolean }
  readonly _meta: { readonly [key: string]: unknown }
}

/** Makes Claude Code show the tool at once; otherwise it would defer the only way to find the others. */
export const ALWAYS_LOAD = { 'anthropic/alwaysLoad': true }

const AFTERWARDS: { readonly [mode in ListingMode]: string } = {
  list: 'What is found is added to your tool list; call it by its name from then on.',
  bridge: `The answer holds the definitions of the tools it found. Call one with ${CALL_TOOL}.`,
}

/** Returns the search tool. Its text names the configured servers, so that it does not change with their state. */
export function gatewaySearchTool(mode: ListingMode, servers: readonly string[]): OwnTool {
  return {
    name: SEARCH_TOOL,
    title: 'Search tools',
    description: `Finds tools of the connected services: ${servers.map((name) => oneLine(name, 60)).join(', ') || 'none yet'}. Only a few tools are listed; all others are found here. Search before you say that something cannot be done. ${AFTERWARDS[mode]}

Query forms:
- "slack send message": keywords; name the service, the action and the object. Returns up to max_results best matches.
- "+github issue": tools that have "github", ranked by the other words.
- "select:github__create_issue,github__get_issue": exactly these tools, by name, with their whole definitions.
Fetch all the tools that a step needs in one search.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Keywords, "+required words", or "select:" with exact names.' },
        max_results: { type: 'number', description: 'How many tools at most; 5 if left out.' },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    _meta: ALWAYS_LOAD,
  }
}

/** The tool that calls a found tool. */
export const gatewayCallTool: OwnTool = {
  name: CALL_TOOL,
  title: 'Call a found tool',
  description: `Calls a tool whose definition ${SEARCH_TOOL} has returned.`,
  inputSchema: callToolInput(`The full name, as ${SEARCH_TOOL} gives it.`),
  annotations: { readOnlyHint: false, openWorldHint: true },
  _meta: ALWAYS_LOAD,
}
