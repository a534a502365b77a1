// Entries of many servers in one answer: a client that reads strictly refuses all of it for one that is odd, and every
// server would lose its own. What the protocol's schemas refuse is cut down to what every client takes.

import { isSpecType } from '@modelcontextprotocol/server'
import { cleanTexts } from '../../core/tools/index.ts'
import { cleanText, type Fields, isFields } from '../../lib/index.ts'
import { isPlainSchema } from './plain-schema.ts'

/** Some languages' readers give up at 64 levels of a whole message. */
const MOST_DEPTH = 50

const known = new WeakMap<object, Fields>()

/** Remembered by identity: definitions are listed again and again. */
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

/** Older clients know no properties that are `true` or `false`, as some languages write them. */
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

export const listablePrompt = listable(isSpecType.Prompt, 'name')
export const listableResource = listable(isSpecType.Resource, 'uri')
export const listableTemplate = listable(isSpecType.ResourceTemplate, 'uriTemplate')

/** Reads an entry that is known by its `key`; none for one without. */
function listable(isRight: (entry: unknown) => boolean, key: string): (entry: unknown) => Fields[] {
  return (entry) => {
    if (isShallow(entry) && isRight(entry)) return [cleanEntry(entry as Fields, key)]
    const { [key]: own, name, description } = cleanEntry((entry ?? {}) as Fields, key)
    if (typeof own !== 'string') return []
    return [{ name: typeof name === 'string' ? name : own, [key]: own, ...described(description) }]
  }
}

/** A resource's name is only shown; a prompt is known by it, and so are its arguments. */
function cleanEntry(entry: Fields, key: string): Fields {
  const cleaned = cleanTexts(entry)
  const { name, [key]: own } = entry
  const shown = key !== 'name' && typeof name === 'string' ? { name: cleanText(name) } : {}
  return cleaned === entry && (shown.name ?? name) === name ? entry : { ...cleaned, [key]: own, ...shown }
}

function described(description: unknown): Fields {
  return typeof description === 'string' ? { description } : {}
}

function isShallow(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) return false
    const inner: unknown[] = []
    for (const one of level)
      if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) inner.push(item)
    level = inner
  }
  return true
}
