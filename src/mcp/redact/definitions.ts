// Hides secrets in a server's lists of tools, prompts and resources before a model sees them or the cache stores them.
import type { Fields } from '../../lib/index.ts'
import type { Redactor } from './redactor.ts'

/** Keys whose values a request to the server must repeat exactly, so that they are never changed. */
const EXACT_KEYS: ReadonlySet<string> = new Set([
  'name',
  'enum',
  'const',
  'pattern',
  'required',
  'uri',
  '$ref',
  'type',
])

/** Returns the entries with secrets hidden; unchanged entries are the same objects. Values under `EXACT_KEYS` stay. */
export function redactEntries(entries: readonly unknown[], redactor: Redactor): readonly unknown[] {
  return entries.map((entry) => {
    try {
      return redactTexts(entry, '', redactor)
    } catch {
      // Nested too deeply to walk. Removes an entry that can still be serialised, because it might leak a secret; others are
      // dropped later, with a message.
      return isWritable(entry) ? undefined : entry
    }
  })
}

/**
 * Hides secrets in the response to a `…/list` request. All other responses (of a call, a resource, a prompt) stay as the
 * server sent them.
 */
export function redactLists(method: string, result: Fields, redactor: Redactor): Fields {
  if (!method.endsWith('/list')) return result
  const entries = Object.entries(result).map(([field, value]) => [
    field,
    Array.isArray(value) ? redactEntries(value, redactor) : value,
  ])
  return Object.fromEntries(entries)
}

/** Returns the same value if nothing had to be hidden. */
function redactTexts(value: unknown, key: string, redactor: Redactor): unknown {
  if (EXACT_KEYS.has(key) && !isSchemaOf(key, value)) return value
  if (typeof value === 'string') return redactor.hasSecret(value) ? redactor.text(value) : value
  if (Array.isArray(value)) {
    const items = value.map((item) => redactTexts(item, '', redactor))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
  const redacted = fields.map(([name, item]) => [name, redactTexts(item, name, redactor)] as const)
  return redacted.every(([, item], index) => item === fields[index]![1])
    ? value
    : Object.fromEntries(redacted)
}

function isWritable(entry: unknown): boolean {
  try {
    JSON.stringify(entry)
    return true
  } catch {
    return false
  }
}

/** Returns whether a value is the schema of an argument that is called `name` or `type`. */
function isSchemaOf(key: string, value: unknown): boolean {
  return (
    key !== 'enum' && key !== 'const' && typeof value === 'object' && value !== null && !Array.isArray(value)
  )
}
