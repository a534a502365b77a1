// Extracts the searchable texts of a tool, field by field.
import type { PoolTool } from '../../core/index.ts'

/** The searchable fields of a tool; arrays with one entry per field follow this order. */
export const FIELDS = [
  'name',
  'server',
  'hint',
  'description',
  'argument names',
  'argument descriptions',
  'enum values',
] as const

/** The name of a searchable field. */
export type Field = (typeof FIELDS)[number]

/** One number per field, in the order of FIELDS. */
export type PerField = readonly [number, number, number, number, number, number, number]

const MAX_DEPTH = 6
const MAX_TEXTS = 400
const MAX_SCHEMAS = 2_000
const MAX_TEXT_LENGTH = 20_000
const MAX_NAME_LENGTH = 200

/** Returns the texts of a tool, one list per field in the order of FIELDS. */
export function searchFields(entry: PoolTool): string[][] {
  const server = (entry.server ?? '').slice(0, MAX_NAME_LENGTH)
  const texts: string[][] = [
    [ownName(entry).slice(0, MAX_NAME_LENGTH)],
    [server],
    [indexedText(entry.hint)],
    [indexedText(entry.tool.description)],
  ]
  const [names, descriptions, values] = [[] as string[], [] as string[], [] as string[]]
  const schema = entry.tool.input_schema ?? entry.tool.inputSchema
  readSchema(schema, { names, descriptions, values, seen: new Set() }, 0)
  texts.push(names, descriptions, values)
  return texts
}

/**
 * Returns a tool's name without its server's: both `mcp__slack__send` and `Slack_Send` of the server slack become
 * `send`.
 */
export function ownName({ original, server }: PoolTool): string {
  const name = original.replace(/^mcp__/i, '')
  if (server === undefined) return name
  const end = endOfPrefix(name, server)
  return end > 0 && end < name.length ? name.slice(end) : name
}

/**
 * Returns where the server's name ends at the start of a tool's name, comparing only letters and digits; 0 if it is not
 * there.
 */
function endOfPrefix(name: string, server: string): number {
  const have = name.toLowerCase()
  const wanted = server.toLowerCase()
  let at = 0
  let from = 0
  while (from < wanted.length) {
    if (isSeparator(wanted.charCodeAt(from))) from++
    else if (at < have.length && isSeparator(have.charCodeAt(at))) at++
    else if (have[at++] !== wanted[from++]) return 0
  }
  const isEdge = at < have.length && (isSeparator(have.charCodeAt(at)) || name[at] !== have[at])
  return isEdge ? at : 0
}

/** Returns whether an ASCII character is neither a letter nor a digit. */
function isSeparator(code: number): boolean {
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90)
  return code < 128 && !isLetter && !(code >= 48 && code <= 57)
}

function indexedText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT_LENGTH) : ''
}

type Arguments = {
  readonly names: string[]
  readonly descriptions: string[]
  readonly values: string[]
  /** Schemas already visited: a schema may contain itself, or be shared. */
  readonly seen: Set<unknown>
}

/** Collects the arguments at every depth, up to a limit. */
function readSchema(schema: unknown, into: Arguments, depth: number): void {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return
  if (into.seen.has(schema) || into.seen.size > MAX_SCHEMAS || into.names.length > MAX_TEXTS) return
  into.seen.add(schema)
  const { properties, items, anyOf, oneOf, allOf } = schema as Record<string, unknown>
  if (typeof properties === 'object' && properties !== null) {
    for (const name of Object.keys(properties)) {
      const value = (properties as Record<string, unknown>)[name]
      into.names.push(name.slice(0, MAX_NAME_LENGTH))
      readArgument(value, into)
      readSchema(value, into, depth + 1)
    }
  }
  if (items !== undefined) {
    readArgument(items, into)
    readSchema(items, into, depth + 1)
  }
  for (const list of [anyOf, oneOf, allOf])
    if (Array.isArray(list)) for (const one of list) readSchema(one, into, depth + 1)
}

function readArgument(value: unknown, { descriptions, values }: Arguments): void {
  if (typeof value !== 'object' || value === null) return
  const { description, enum: choices } = value as { description?: unknown; enum?: unknown }
  if (typeof description === 'string') descriptions.push(indexedText(description))
  if (!Array.isArray(choices)) return
  for (const choice of choices.slice(0, MAX_TEXTS))
    if (typeof choice === 'string') values.push(choice.slice(0, MAX_NAME_LENGTH))
}
