// Defines the shelf's own tools: search, the call tool of the bridge, and the placeholder.
// Implements D4, S11, Q7, A5, K4.
import { callToolInput } from '../../lib/index.ts'
import { placeOfNames } from '../history/index.ts'
import type { Settings } from '../options.ts'
import type { Definition } from '../types.ts'

/** The name of the placeholder. */
export const PLACEHOLDER = 'DeferredToolPlaceholder'

const LOADED_AT_ONCE =
  'What is found is loaded at once and callable like any other tool: no second search or select is needed.'

/** Returns the search tool; its description says where the names are announced (S11, A5). */
export function searchTool(settings: Settings, outcome = LOADED_AT_ONCE): Definition {
  const { searchTool: name, announce, maxResults } = settings
  const description = `Finds deferred tools and loads them, so that they can be called.

Deferred tools appear by name in ${placeOfNames(announce)} messages. Only the name is known until a tool is fetched here: it has no parameters yet and cannot be called. ${outcome}

Query forms:
- "slack send message": keywords; name the service, the action and the object. Returns up to max_results best matches.
- "+github issue": tools that have "github", ranked by the other words.
- "select:WebFetch,mcp__github__create_issue": exactly these tools, by name.
Fetch all the tools that a step needs in one search.`
  return {
    name,
    description,
    input_schema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Keywords, "+required words", or "select:" with exact names.' },
        max_results: { type: 'number', description: `How many tools at most; ${maxResults} if left out.` },
      },
      required: ['query'],
    },
  }
}

/** Returns the tool through which the model calls every deferred tool on the wire `bridge`. */
export function callTool(settings: Settings): Definition {
  return {
    name: settings.callTool,
    description: `Calls a deferred tool whose definition ${settings.searchTool} has returned.`,
    input_schema: callToolInput(),
  }
}

/** A deferred tool in every request, so that the first real deferred tool does not change the prefix (Q7). */
export const placeholder: Definition = Object.freeze({
  name: PLACEHOLDER,
  description: 'Holds a place. It does nothing and cannot be called.',
  input_schema: { type: 'object', properties: {} },
})

/** Returns the provider's own search tool. */
export function hostedTool(variant: 'bm25' | 'regex'): Definition {
  return { type: `tool_search_tool_${variant}_20251119`, name: `tool_search_tool_${variant}` }
}
