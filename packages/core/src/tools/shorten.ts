// Shortens an input schema that is too large to send. The result accepts everything that the original accepts, and says
// what is missing; calls are still validated against the original.
// Implements S17.

import { type Fields, isFields } from '../lib/json.ts'
import { cut } from '../lib/text.ts'

const MAX_ENUM_VALUES = 20
const MAX_TEXT = 200
/** Maximum members of an object or a list; the required ones of an object come first. */
const MAX_MEMBERS = 500
/** Deeper parts become "any value" in any case. */
const MAX_DEPTH = 32

type Step = { readonly isTextCut: boolean; readonly depth: number; readonly isRequiredOnly: boolean }

/** Each step removes more than the previous one. */
const STEPS: readonly Step[] = [
  { isTextCut: false, depth: MAX_DEPTH, isRequiredOnly: false },
  { isTextCut: true, depth: MAX_DEPTH, isRequiredOnly: false },
  { isTextCut: true, depth: 2, isRequiredOnly: false },
  { isTextCut: true, depth: 0, isRequiredOnly: false },
  { isTextCut: true, depth: 0, isRequiredOnly: true },
]

/** Marks a shortened schema. */
export const SHORTENED = '[shortened: the schema is too large to be shown]'
const PART_SHORTENED = '[shortened]'

/** Returns as much of the schema as fits into this many characters of JSON. */
export function shortenSchema(schema: unknown, limit: number): unknown {
  for (const step of STEPS) {
    const shorter = shortenBy(step, schema, limit)
    if (shorter !== undefined && JSON.stringify(shorter).length <= limit) return shorter
  }
  return { type: 'object', description: SHORTENED }
}

/** Returns undefined as soon as the result is too large, to bound the work for a hostile schema. */
function shortenBy(
  { isTextCut, depth: maxDepth, isRequiredOnly }: Step,
  root: unknown,
  limit: number,
): unknown {
  let room = limit

  function shorten(value: unknown, depth: number): unknown {
    room -= 2
    if (room < 0) return undefined
    if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((item) => shorten(item, depth))
    if (!isFields(value)) return value
    if (depth < 0)
      return { ...(typeof value.type === 'string' ? { type: value.type } : {}), description: PART_SHORTENED }
    const isClosed = !isRequiredOnly && countOf(value.properties) <= MAX_MEMBERS
    const kept: Record<string, unknown> = {}
    for (const key of Object.keys(value).slice(0, MAX_MEMBERS)) {
      const inner = value[key]
      if (NARROWING.has(key) || (inner === false && !isClosed)) continue
      // Several shortened alternatives may match at once.
      set(kept, key === 'oneOf' ? 'anyOf' : key, shortenField(key, inner, value, depth))
    }
    const isLongEnum = Array.isArray(value.enum) && value.enum.length > MAX_ENUM_VALUES
    return isLongEnum ? withExamples(kept, value.enum as unknown[]) : kept
  }

  function shortenField(key: string, inner: unknown, schema: Fields, depth: number): unknown {
    room -= key.length + 3
    if (VALUES.has(key)) return isSmall(inner) ? inner : undefined
    if (key === 'required') return inner
    if (typeof inner === 'string') return shortenText(key, inner)
    if (!NAMED.has(key) || !isFields(inner)) return shorten(inner, depth - 1)
    const members: Record<string, unknown> = {}
    for (const name of membersOf(key, inner, schema)) {
      room -= name.length + 3
      set(members, name, shorten(inner[name], depth - 1))
    }
    return members
  }

  function shortenText(key: string, text: string): string | undefined {
    const isCut = isTextCut && text.length > MAX_TEXT
    room -= isCut ? MAX_TEXT : text.length
    if (!isCut) return text
    return REMARKS.has(key) ? cut(text, MAX_TEXT) : undefined
  }

  function membersOf(key: string, members: Fields, { required }: Fields): string[] {
    const first = Array.isArray(required) && key === 'properties' ? required.slice(0, MAX_MEMBERS) : []
    const others = isRequiredOnly && key === 'properties' ? [] : Object.keys(members).slice(0, MAX_MEMBERS)
    const names = [...new Set([...first.map(String), ...others])].filter((name) =>
      Object.hasOwn(members, name),
    )
    return names.slice(0, MAX_MEMBERS)
  }

  const shorter = shorten(root, maxDepth)
  return room < 0 ? undefined : shorter
}

/** Keywords whose shortened form would forbid more than the original. */
const NARROWING = new Set(['not', 'if', 'then', 'else', 'dependentSchemas'])
const REMARKS = new Set(['description', 'title', '$comment'])
/** Keywords with values, not schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'example'])
/** Keywords with schemas by name. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'patternProperties'])

function isSmall(value: unknown): boolean {
  if (Array.isArray(value)) return value.length <= MAX_ENUM_VALUES && value.every(isSmall)
  return (JSON.stringify(value)?.length ?? 0) <= MAX_TEXT
}

/** Replaces a long enum by examples, because a cut enum would forbid the other values. */
function withExamples(schema: Record<string, unknown>, values: readonly unknown[]): Record<string, unknown> {
  const examples = values.slice(0, MAX_ENUM_VALUES).filter(isSmall)
  const remark = `[shortened: one of ${values.length} values, of which ${examples.length} are shown]`
  const description = typeof schema.description === 'string' ? `${schema.description} ${remark}` : remark
  return { ...schema, description, examples }
}

function countOf(members: unknown): number {
  return isFields(members) ? Object.keys(members).length : 0
}

function set(target: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) return
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}
