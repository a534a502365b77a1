// Names of a tool's arguments as the API takes them: one name of another form would have every request refused.
import { type Fields, isFields } from '../../lib/index.ts'
import { PROPERTY_NAME } from '../oracle/checks/index.ts'
import type { Definition } from '../types.ts'

/** Names as they are sent, to the server's own; only those that differ. */
export type ArgumentNames = ReadonlyMap<string, string>

const LONGEST = 64

/** The definition with names that can be sent, and the way back; `names` is missing where nothing had to change. */
export function sendableNames(definition: Definition): { definition: Definition; names?: ArgumentNames } {
  const schema = fieldsOf(definition.input_schema)
  const properties = fieldsOf(schema.properties)
  const given = Object.keys(properties)
  if (given.every((name) => PROPERTY_NAME.test(name))) return { definition }
  const sent = spell(given)
  const renamed = (fields: Fields) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [sent.get(name) ?? name, value]))
  const described = given.map((name) => [
    name,
    sent.has(name) ? told(properties[name], name) : properties[name],
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

/** An input as the model wrote it → as the server reads it. */
export function withOwnNames(input: unknown, names: ArgumentNames | undefined): unknown {
  if (!names || !isFields(input)) return input
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names.get(name) ?? name, value]))
}

/** Other characters become `_`; of names that are then the same, later ones get a number. */
function spell(given: readonly string[]): Map<string, string> {
  const taken = new Set(given.filter((name) => PROPERTY_NAME.test(name)))
  const sent = new Map<string, string>()
  for (const name of given) {
    if (PROPERTY_NAME.test(name)) continue
    const plain = name.replace(/[^a-zA-Z0-9_.-]+/g, '_').slice(0, LONGEST) || '_'
    let spelling = plain
    for (let number = 2; taken.has(spelling); number++) {
      const ending = `_${number}`
      spelling = plain.slice(0, LONGEST - ending.length) + ending
    }
    taken.add(spelling)
    sent.set(name, spelling)
  }
  return sent
}

/** The server's own name helps to tell apart what its description may leave open. */
function told(schema: unknown, name: string): unknown {
  if (!isFields(schema)) return schema
  const own = `(${JSON.stringify(name.slice(0, 100))})`
  const { description } = schema
  return { ...schema, description: typeof description === 'string' ? `${own} ${description}` : own }
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}
