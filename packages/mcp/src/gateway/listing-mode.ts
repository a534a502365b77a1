// Decides which clients get `list` mode: those that accept new tools in the middle of a turn and send them to the model
// unchanged. The protocol does not declare this, so the table lists what was observed; all other clients get two
// constant tools. Claude Code defers new tools, however they are marked, if the model does not support additions in
// mid-conversation.
import type { ListingMode } from '../greeting/greeting.ts'

/** Values of `clientInfo.name`. */
const TAKES_NEW_TOOLS: ReadonlySet<string> = new Set(['gemini-cli-mcp-client', 'kilo', 'opencode'])

export function listingModeFor(
  clientName: string | undefined,
  forced: ListingMode | 'auto',
  isStateless: boolean,
): ListingMode {
  if (forced !== 'auto') return isStateless ? 'bridge' : forced
  return !isStateless && TAKES_NEW_TOOLS.has(clientName ?? '') ? 'list' : 'bridge'
}
