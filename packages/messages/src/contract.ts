// Detects whether a request uses deferred tools, in any of the API's forms.
// Implements wire 43.
import {
  blocksOf,
  type Fields,
  fieldsOf,
  isChange,
  listOf,
  oncePerFrozen,
  referencesIn,
  textOf,
} from '@toolshelf/core/internal'
import { variantOf } from './hosted/hosted-search.ts'
import type { MessagesRequest } from './types.ts'

/** Returns whether a request defers tools, or its messages load or search them. */
export function usesDeferral({ tools, messages }: MessagesRequest): boolean {
  return someDefer(listOf(tools)) || messages.some(loadsOrSearches)
}

const someDefer = oncePerFrozen((tools: readonly unknown[]) => tools.map(fieldsOf).some(isDeferring))

function isDeferring(tool: Fields): boolean {
  const members = [tool.default_config, ...Object.values(fieldsOf(tool.configs))]
  return variantOf(tool) !== undefined || [tool, ...members].some((one) => 'defer_loading' in fieldsOf(one))
}

const loadsOrSearches = oncePerFrozen(
  ({ content }: Fields): boolean =>
    Array.isArray(content) &&
    blocksOf(content).some(
      (block) =>
        referencesIn(block).length > 0 ||
        isChange(block) ||
        textOf(block.type).startsWith('tool_search_tool_') ||
        listOf(block.tool_changes).length > 0 ||
        (block.type === 'server_tool_use' && textOf(block.name).startsWith('tool_search_tool_')),
    ),
)
