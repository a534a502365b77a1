// Hides secrets in what a server lists, before it is shown to a model or kept on disk.
import type { Fields } from '../../lib/index.ts'
import type { Redactor } from './redactor.ts'

/** What a call has to repeat exactly: with these changed it could not be made. */
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

/** The same entries; one that holds a secret is copied without it. Names, `enum` and `const` values stay. */
export function redactEntries(entries: readonly unknown[], redactor: Redactor): readonly unknown[] {
  return entries.map((entry) => {
    try {
      return redactTexts(entry, '', redactor)
    } catch {
      // Nested too deeply to be read. What cannot be written either is reported and dropped by its reader.
      return isWritable(entry) ? undefined : entry
    }
  })
}

/** Lists are shown and kept; what a server returns for a call, a resource or a prompt is its own answer. */
export function redactLists(method: string, result: Fields, redactor: Redactor): Fields {
  if (!method.endsWith('/list')) return result
  const entries = Object.entries(result).map(([field, value]) => [
    field,
    Array.isArray(value) ? redactEntries(value, redactor) : value,
  ])
  return Object.fromEntries(entries)
}

/** The same value where nothing had to be hidden. */
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

/** An argument may be called `name` or `type`: then its schema stands there. */
function isSchemaOf(key: string, value: unknown): boolean {
  return (
    key !== 'enum' && key !== 'const' && typeof value === 'object' && value !== null && !Array.isArray(value)
  )
}
