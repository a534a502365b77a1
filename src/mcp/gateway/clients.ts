// Which clients get `list` mode: those that take new tools in the middle of a turn and send them to the model as they
// are. The protocol has no word for it, so this is a table of what was seen; everyone else gets two constant tools.
// Claude Code defers new tools, however they are marked, where the model knows no additions in mid-conversation.
import type { ListingMode } from '../greeting/index.ts'

/** By the name that a client gives itself. */
const TAKES_NEW_TOOLS: ReadonlySet<string> = new Set(['gemini-cli-mcp-client', 'kilo', 'opencode'])

export function modeFor(
  clientName: string | undefined,
  forced: ListingMode | 'auto',
  isStateless: boolean,
): ListingMode {
  if (forced !== 'auto') return isStateless ? 'bridge' : forced
  return !isStateless && TAKES_NEW_TOOLS.has(clientName ?? '') ? 'list' : 'bridge'
}
