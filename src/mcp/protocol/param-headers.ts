// Validates `x-mcp-header` in a tool's schema, by which servers of the newer protocol request arguments as HTTP
// headers. An invalid declaration makes the tool unusable over HTTP, and clients must leave it out.
import type { Fields } from '../../lib/index.ts'

const KEY = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const TYPES = new Set(['string', 'integer', 'boolean'])
/** Keywords that hold values, not schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples'])
const MAX_DEPTH = 64

/** Returns what is wrong with the declarations of a schema; undefined if nothing is. */
export function headerFault(schema: unknown): string | undefined {
  const seen = new Set<string>()

  function visit(node: unknown, isReachable: boolean, depth: number): string | undefined {
    if (typeof node !== 'object' || node === null || depth > MAX_DEPTH) return undefined
    const fields = node as Fields
    const fault = Object.hasOwn(fields, KEY) ? check(fields, isReachable) : undefined
    if (fault) return fault
    for (const [key, value] of Object.entries(fields)) {
      if (DATA.has(key) || typeof value !== 'object' || value === null) continue
      const isProperties = key === 'properties' && !Array.isArray(value)
      const inner = isProperties ? Object.values(value) : [value].flat()
      for (const one of inner) {
        const found = visit(one, isReachable && isProperties, depth + 1)
        if (found) return found
      }
    }
    return undefined
  }

  function check(fields: Fields, isReachable: boolean): string | undefined {
    const name = fields[KEY]
    if (typeof name !== 'string' || !TOKEN.test(name))
      return `${JSON.stringify(name)} is not a valid header name`
    if (!isReachable) return `the header "${name}" is declared outside of an argument`
    if (!TYPES.has(String(fields.type))) return `the header "${name}" is of a type that headers cannot hold`
    if (seen.has(name.toLowerCase())) return `the header "${name}" is declared twice`
    seen.add(name.toLowerCase())
    return undefined
  }

  return visit(schema, true, 0)
}
