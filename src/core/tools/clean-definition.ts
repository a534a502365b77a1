// Cleans the texts of a server's definition, and keeps the names and values that a call must repeat.
import { cleanText, cleanValue } from '../../lib/index.ts'

/** Fields with prose; everything else in a definition is a name or a value. */
const PROSE: ReadonlySet<string> = new Set(['title', 'description', '$comment'])
const MAX_DEPTH = 200

/**
 * Returns the same value, or a copy with clean prose. In names and values (`enum`, `default`, arguments) only tag
 * characters and our own markup are changed, because calls must repeat everything else exactly.
 */
export function cleanTexts<Value>(value: Value): Value {
  return clean(value, false, 0) as Value
}

function clean(value: unknown, isProse: boolean, depth: number): unknown {
  if (typeof value === 'string') return isProse ? cleanText(value) : cleanValue(value)
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  return Array.isArray(value) ? cleanList(value, depth) : cleanObject(value, depth)
}

function cleanList(list: readonly unknown[], depth: number): readonly unknown[] {
  const cleaned = list.map((item) => clean(item, false, depth + 1))
  return cleaned.every((item, index) => item === list[index]) ? list : cleaned
}

function cleanObject(fields: object, depth: number): object {
  let isChanged = false
  const entries = Object.entries(fields).map(([key, value]) => {
    const name = cleanValue(key)
    const cleaned = clean(value, PROSE.has(key), depth + 1)
    isChanged ||= name !== key || cleaned !== value
    return [name, cleaned]
  })
  return isChanged ? Object.fromEntries(entries) : fields
}
