// Builds the page's view of all tools, in pieces, since there may be ten thousand.
import { definitionTokens, type PoolTool } from '../../core/index.ts'
import { cut, textOf } from '../../lib/index.ts'
import type { ToolView } from '../api.ts'
import { shownName } from './readable-change.ts'
import type { ShownServers } from './types.ts'

const MAX_DESCRIPTION_LENGTH = 4000
/** Tools that one piece holds. */
const PIECE = 100

/** Yields the JSON of all tools in pieces. */
export async function* toolPieces(servers: ShownServers | undefined): AsyncGenerator<string, void> {
  const tools = servers?.shelf.partition().pool.tools ?? []
  yield '['
  for (let from = 0; from < tools.length; from += PIECE) {
    const views = tools.slice(from, from + PIECE).map((tool) => JSON.stringify(toolView(tool, servers!)))
    yield (from > 0 ? ',' : '') + views.join(',')
  }
  yield ']'
}

function toolView(entry: PoolTool, { shelf }: ShownServers): ToolView {
  const { name, server, original, hint, definition } = entry
  return {
    name,
    server: server ?? null,
    original: shownName(original),
    description: cut(textOf(definition.description), MAX_DESCRIPTION_LENGTH),
    hint: cut(hint, MAX_DESCRIPTION_LENGTH),
    tokens: definitionTokens(entry),
    isAlwaysLoaded: !shelf.partition().deferredNames.has(name),
  }
}
