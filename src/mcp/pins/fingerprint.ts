// Computes a tool's fingerprint: a hash of everything in its definition that the model sees or that changes its
// meaning.
import { createHash } from 'node:crypto'
import { isContainer } from '../../lib/index.ts'
import type { ListedTool } from '../types.ts'

/** The fields that count. Other metadata (`_meta`, `execution` …) may change freely. */
const PARTS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

const ALWAYS_LOAD = 'anthropic/alwaysLoad'

/** Returns the parts of a definition that count, including the mark that makes a tool always loaded. */
export function pinnedParts(tool: ListedTool): { readonly [part: string]: unknown } {
  const meta = tool._meta
  const mark = typeof meta === 'object' && meta !== null ? meta[ALWAYS_LOAD] : undefined
  return {
    ...Object.fromEntries(PARTS.map((part) => [part, tool[part]])),
    ...(typeof mark === 'boolean' ? { _meta: { [ALWAYS_LOAD]: mark } } : {}),
  }
}

/** Returns a SHA-256 in hexadecimal. The order of keys does not matter; the order of lists does. */
export function fingerprint(tool: ListedTool): string {
  const hash = createHash('sha256')
  for (const value of Object.values(pinnedParts(tool))) hash.update(written(value ?? null))
  return hash.digest('hex')
}

/** Writes a container's size before its content, so that no two values have the same encoding. No recursion. */
function written(whole: unknown): string {
  let text = ''
  const opened = new Map<object, number>()
  const waiting = [whole]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (!isContainer(value)) {
      text += `${JSON.stringify(value) ?? 'null'};`
    } else if (opened.has(value)) {
      text += `#${opened.get(value)};`
    } else {
      opened.set(value, opened.size)
      const { head, inside } = Array.isArray(value) ? list(value) : fields(value)
      text += `${head};`
      for (const item of inside) waiting.push(item)
    }
  }
  return text
}

type Opened = { readonly head: string; readonly inside: readonly unknown[] }

function list(value: readonly unknown[]): Opened {
  return { head: `[${value.length}`, inside: value }
}

function fields(value: object): Opened {
  const given = Object.entries(value).filter(([, item]) => item !== undefined)
  given.sort(([a], [b]) => (a < b ? -1 : 1))
  return { head: `{${JSON.stringify(given.map(([key]) => key))}`, inside: given.map(([, item]) => item) }
}
