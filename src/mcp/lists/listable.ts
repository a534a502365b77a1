// Makes entries of many servers safe for one list: a strict client rejects the whole list for one invalid entry, and
// all servers would be affected. Reduces what the protocol's schemas reject to what every client accepts.

import { isSpecType } from '@modelcontextprotocol/server'
import { cleanTexts } from '../../core/tools/index.ts'
import { cleanText, type Fields, isFields } from '../../lib/index.ts'
import { isPlainSchema } from './plain-schema.ts'

/** Parsers of some languages reject messages nested deeper than 64 levels. */
const MAX_DEPTH = 50

const known = new WeakMap<object, Fields>()

/** Returns a tool that every client accepts. Cached by identity, because definitions are listed again and again. */
export function listableTool(tool: Fields): Fields {
  const before = known.get(tool)
  if (before) return before
  const { outputSchema, ...rest } = cleanTexts(tool)
  const output = withObjects(outputSchema)
  const isPlain = isShallow(output) && isPlainSchema(output)
  const whole = {
    ...rest,
    inputSchema: withObjects(rest.inputSchema),
    ...(isPlain ? { outputSchema: output } : {}),
  }
  const listable = isShallow(whole) && isSpecType.Tool(whole) ? whole : plainTool(whole)
  known.set(tool, listable)
  return listable
}

/** Replaces property schemas `true` and `false`, which older clients do not accept. */
function withObjects(schema: unknown): unknown {
  const { properties } = (schema ?? {}) as Fields
  if (!isFields(properties) || Object.values(properties).every(isFields)) return schema
  const entries = Object.entries(properties)
  const asObject = (value: unknown) => (isFields(value) ? value : value === false ? { not: {} } : {})
  return {
    ...(schema as Fields),
    properties: Object.fromEntries(entries.map(([name, value]) => [name, asObject(value)])),
  }
}

function plainTool({ name, description, inputSchema }: Fields): Fields {
  const isUsable = isShallow(inputSchema) && isSpecType.Tool({ name: 'any', inputSchema })
  return { name, ...described(description), inputSchema: isUsable ? inputSchema : { type: 'object' } }
}

/** Returns a prompt that every client accepts; none if it has no name. */
export const listablePrompt = listable(isSpecType.Prompt, 'name')
/** Returns a resource that every client accepts; none if it has no URI. */
export const listableResource = listable(isSpecType.Resource, 'uri')
/** Returns a resource template that every client accepts; none if it has no URI template. */
export const listableTemplate = listable(isSpecType.ResourceTemplate, 'uriTemplate')

/** Parses an entry identified by its `key`; returns none for an entry without it. */
function listable(isRight: (entry: unknown) => boolean, key: string): (entry: unknown) => Fields[] {
  return (entry) => {
    if (isShallow(entry) && isRight(entry)) return [cleanEntry(entry as Fields, key)]
    const { [key]: own, name, description } = cleanEntry((entry ?? {}) as Fields, key)
    if (typeof own !== 'string') return []
    return [{ name: typeof name === 'string' ? name : own, [key]: own, ...described(description) }]
  }
}

/**
 * Cleans an entry's texts. A resource's name is only for display; prompts and their arguments are identified by name.
 */
function cleanEntry(entry: Fields, key: string): Fields {
  const cleaned = cleanTexts(entry)
  const { name, [key]: own } = entry
  const shown = key !== 'name' && typeof name === 'string' ? { name: cleanText(name) } : {}
  return { ...cleaned, [key]: own, ...shown }
}

function described(description: unknown): Fields {
  return typeof description === 'string' ? { description } : {}
}

function isShallow(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false
    const inner: unknown[] = []
    for (const one of level)
      if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) inner.push(item)
    level = inner
  }
  return true
}
