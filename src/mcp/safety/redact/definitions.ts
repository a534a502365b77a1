// Hides secrets in what a server lists, before it is shown to a model or kept on disk.
import type { Redactor } from './index.ts'

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
  return entries.map((entry) => (holdsSecret(entry, redactor) ? redactTexts(entry, '', redactor) : entry))
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

type Fields = { readonly [field: string]: unknown }

function holdsSecret(entry: unknown, redactor: Redactor): boolean {
  try {
    return redactor.hasSecret(JSON.stringify(entry) ?? '')
  } catch {
    return false // Nested too deeply to be written; it is dropped later on.
  }
}

function redactTexts(value: unknown, key: string, redactor: Redactor): unknown {
  if (EXACT_KEYS.has(key) && !isSchemaOf(key, value)) return value
  if (typeof value === 'string') return redactor.text(value)
  if (Array.isArray(value)) return value.map((item) => redactTexts(item, '', redactor))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, item]) => [name, redactTexts(item, name, redactor)])
  return Object.fromEntries(fields)
}

/** An argument may be called `name` or `type`: then its schema stands there. */
function isSchemaOf(key: string, value: unknown): boolean {
  return (
    key !== 'enum' && key !== 'const' && typeof value === 'object' && value !== null && !Array.isArray(value)
  )
}
