// Hides secrets in a server's lists before they are shown to a model or stored on disk.
import type { Fields } from '../../lib/index.ts'
import type { Redactor } from './redactor.ts'

/** Values that a call has to repeat exactly: changing them would make the call impossible. */
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

/** Returns the same entries; one with a secret is copied without it. Names, `enum` and `const` values stay. */
export function redactEntries(entries: readonly unknown[], redactor: Redactor): readonly unknown[] {
  return entries.map((entry) => {
    try {
      return redactTexts(entry, '', redactor)
    } catch {
      // Nested too deeply to be read. What cannot be serialised is reported and dropped later.
      return isWritable(entry) ? undefined : entry
    }
  })
}

/** Only lists are shown and stored; the result of a call, a resource or a prompt is the server's own answer. */
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

/** An argument may be called `name` or `type`: then its value is a schema. */
function isSchemaOf(key: string, value: unknown): boolean {
  return (
    key !== 'enum' && key !== 'const' && typeof value === 'object' && value !== null && !Array.isArray(value)
  )
}
