// Makes the texts of a definition harmless that a stranger wrote, and leaves alone what a call has to repeat.
import { cleanText, cleanValue } from '../../lib/index.ts'

/** Read by the model as prose; everything else in a definition is a name or a value. */
const PROSE: ReadonlySet<string> = new Set(['title', 'description', '$comment'])
const MOST_DEPTH = 200

/**
 * Returns the same value, or a copy whose prose is clean. Of names and values (`enum`, `default`, arguments) only hidden
 * tags and marks of ours are changed: no honest server has them, and the rest must reach the server as it was listed.
 */
export function cleanTexts<Value>(value: Value): Value {
  return clean(value, false, 0) as Value
}

function clean(value: unknown, isProse: boolean, depth: number): unknown {
  if (typeof value === 'string') return isProse ? cleanText(value) : cleanValue(value)
  if (typeof value !== 'object' || value === null || depth > MOST_DEPTH) return value
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
