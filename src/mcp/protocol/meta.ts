// Decides which `_meta` keys pass between a client and a server: keys that belong to one connection do not.
import type { Fields } from '../../lib/index.ts'

/** Keys that MCP reserves for itself (`io.modelcontextprotocol/…`, `dev.mcp/…`), in the spelling of every revision. */
const RESERVED = /^(?:[^./]+\.)?(?:modelcontextprotocol|mcp)[./]/i
const TRACE_CONTEXT: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])
const MAX_META_LENGTH = 65_536

/** Returns whether a name belongs to MCP itself. */
export function isReservedKey(key: string): boolean {
  return RESERVED.test(key)
}

/**
 * Returns what may pass: trace context and the keys of vendors and extensions, but no progress token and no key that
 * MCP reserves. Of a `_meta` over 64 KB only the trace context passes.
 */
export function passableMeta(meta: unknown): Fields {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return {}
  const entries = Object.entries(meta).filter(([key]) => key !== 'progressToken' && !isReservedKey(key))
  const kept = lengthOf(entries) > MAX_META_LENGTH ? entries.filter(isShortTrace) : entries
  return Object.fromEntries(kept)
}

/** Returns the result with a `_meta` that may pass, or without one. */
export function withPassableMeta({ _meta, ...result }: Fields): Fields {
  const meta = passableMeta(_meta)
  return Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result
}

function isShortTrace([key, value]: readonly [string, unknown]): boolean {
  return TRACE_CONTEXT.has(key) && typeof value === 'string' && value.length <= MAX_META_LENGTH / 8
}

/** Returns the length of the JSON; infinite for a value that is nested too deeply to be serialised. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
