// Which clients take new tools in the middle of a turn. The protocol has no word for it, so this is a table of what was
// seen; for everyone else two constant tools do.
import type { Mode } from './own-tools.ts'

/** By the name that a client gives itself. */
const TAKES_NEW_TOOLS: ReadonlySet<string> = new Set(['claude-code', 'gemini-cli-mcp-client', 'opencode'])

export function modeFor(clientName: string | undefined, forced: Mode | 'auto', isStateless: boolean): Mode {
  if (forced !== 'auto') return isStateless ? 'bridge' : forced
  return !isStateless && TAKES_NEW_TOOLS.has(clientName ?? '') ? 'list' : 'bridge'
}
