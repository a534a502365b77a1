// Renames arguments whose names the API does not accept: one such name would make it refuse every request.
import { type Fields, isFields } from '../../lib/index.ts'
import { PROPERTY_NAME } from '../oracle/checks/index.ts'
import type { Definition } from '../types.ts'

/** Maps argument names as sent to the server's own names, where they differ. */
export type ArgumentNames = ReadonlyMap<string, string>

const MAX_NAME_LENGTH = 64

/** Returns the definition with valid argument names, and the mapping back; no `names` if nothing changed. */
export function sendableNames(definition: Definition): { definition: Definition; names?: ArgumentNames } {
  const schema = fieldsOf(definition.input_schema)
  const properties = fieldsOf(schema.properties)
  const own = Object.keys(properties)
  if (own.every((name) => PROPERTY_NAME.test(name))) return { definition }
  const sent = spell(own)
  const renamed = (fields: Fields) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [sent.get(name) ?? name, value]))
  const described = own.map((name) => [
    name,
    sent.has(name) ? withOwnName(properties[name], name) : properties[name],
  ])
  const { required, ...rest } = schema
  const input_schema = {
    ...rest,
    properties: renamed(Object.fromEntries(described)),
    ...(Array.isArray(required) ? { required: required.map((name) => sent.get(name) ?? name) } : {}),
  }
  const examples = Array.isArray(definition.input_examples)
    ? {
        input_examples: definition.input_examples.map((example) =>
          isFields(example) ? renamed(example) : example,
        ),
      }
    : {}
  const names = new Map([...sent].map(([name, spelling]) => [spelling, name]))
  return { definition: { ...definition, input_schema, ...examples }, names }
}

/** Translates the argument names of an input to the server's own. */
export function withOwnNames(input: unknown, names: ArgumentNames | undefined): unknown {
  if (!names || !isFields(input)) return input
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]))
}

/** Replaces invalid characters by `_`, and numbers names that are then equal. */
function spell(names: readonly string[]): Map<string, string> {
  const taken = new Set(names.filter((name) => PROPERTY_NAME.test(name)))
  const sent = new Map<string, string>()
  for (const name of names) {
    if (PROPERTY_NAME.test(name)) continue
    const plain = name.replace(/[^a-zA-Z0-9_.-]+/g, '_').slice(0, MAX_NAME_LENGTH) || '_'
    let spelling = plain
    for (let number = 2; taken.has(spelling); number++) {
      const ending = `_${number}`
      spelling = plain.slice(0, MAX_NAME_LENGTH - ending.length) + ending
    }
    taken.add(spelling)
    sent.set(name, spelling)
  }
  return sent
}

/** Adds the server's own name to the description, because the changed one may be unclear. */
function withOwnName(schema: unknown, name: string): unknown {
  if (!isFields(schema)) return schema
  const own = `(${JSON.stringify(name.slice(0, 100))})`
  const { description } = schema
  return { ...schema, description: typeof description === 'string' ? `${own} ${description}` : own }
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}
