// Validates an object's keys against a table of types; reports unknown or invalid keys and keeps the rest.
import { closestNames, type Fields, isFields } from '@toolshelf/core/internal'

/** A type of value: its name for messages, and a function that returns the value if it matches. */
export type FieldType<Value> = { readonly is: string; readonly read: (value: unknown) => Value | undefined }
export type FieldTypes = { readonly [key: string]: FieldType<unknown> }
export type Values<Table extends FieldTypes> = {
  readonly [key in keyof Table]?: Table[key] extends FieldType<infer Value> ? Value : never
}

type Read<Table extends FieldTypes> = {
  readonly values: Values<Table>
  /** Keys whose value has the wrong type. */
  readonly wrong: readonly string[]
  readonly problems: readonly string[]
}

type ReadOptions = {
  /** Other clients' spellings of keys, for "did you mean" suggestions. */
  readonly others?: readonly string[]
  /** Keys whose invalid value makes the whole object invalid. */
  readonly decisive?: readonly string[]
}

export function readKeys<Table extends FieldTypes>(
  kinds: Table,
  fields: Fields,
  { others = [], decisive = [] }: ReadOptions = {},
): Read<Table> {
  const values: [string, unknown][] = []
  const wrong: string[] = []
  const problems: string[] = []
  for (const [key, given] of Object.entries(fields)) {
    if (given === undefined || given === null) continue
    const kind = Object.hasOwn(kinds, key) ? kinds[key] : undefined
    const value = kind?.read(given)
    if (value !== undefined) values.push([key, value])
    else if (kind) {
      wrong.push(key)
      problems.push(
        `"${key}" must be ${kind.is}; ${decisive.includes(key) ? 'the server is left out' : 'it is ignored'}.`,
      )
    } else problems.push(unknownKey(key, [...Object.keys(kinds), ...others]))
  }
  return { values: Object.fromEntries(values) as Values<Table>, wrong, problems }
}

/** Returns the message about an unknown key, with the most similar known one. */
export function unknownKey(key: string, known: readonly string[]): string {
  const [near] = closestNames(key, known, 1)
  return `unknown key ${JSON.stringify(key.slice(0, 80))}${near ? `; did you mean "${near}"?` : '.'} It is ignored.`
}

const MAX_TIMER_MS = 2 ** 31 - 1

export const text: FieldType<string> = {
  is: 'a text',
  read: (value) => (typeof value === 'string' ? value : undefined),
}

export const flag: FieldType<boolean> = {
  is: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
}

/** A list of strings; converts numbers and booleans. */
export const texts: FieldType<readonly string[]> = {
  is: 'a list of texts',
  read: (value) => (Array.isArray(value) && value.every(isWord) ? value.map(String) : undefined),
}

/** A boolean, or a list of names. */
export const allOrNames: FieldType<boolean | readonly string[]> = {
  is: 'true, false or a list of names',
  read: (value) => flag.read(value) ?? texts.read(value),
}

/** An object of strings; converts numbers and booleans. */
export const textsByName: FieldType<{ readonly [name: string]: string }> = {
  is: 'an object of texts',
  read(value) {
    if (!isFields(value)) return undefined
    const given = Object.entries(value).filter(([, item]) => item !== null)
    return given.every(([, item]) => isWord(item))
      ? recordOf(given.map(([name, item]) => [name, String(item)]))
      : undefined
  },
}

/** A positive number of milliseconds. */
export const milliseconds: FieldType<number> = {
  is: 'a number of milliseconds above 0',
  read: (value) => (typeof value === 'number' && value > 0 ? Math.min(value, MAX_TIMER_MS) : undefined),
}

export const fieldsKind: FieldType<Fields> = {
  is: 'an object',
  read: (value) => (isFields(value) ? value : undefined),
}

export function wholeNumber(min: number): FieldType<number> {
  return {
    is: `a whole number from ${min}`,
    read: (value) => (Number.isSafeInteger(value) && Number(value) >= min ? Number(value) : undefined),
  }
}

export function oneOf<Word extends string>(...words: readonly Word[]): FieldType<Word> {
  return {
    is: `one of ${words.map((word) => `"${word}"`).join(', ')}`,
    read: (value) => words.find((word) => word === value),
  }
}

/** Creates an object without a prototype, so that looking up a tool called "constructor" finds nothing. */
export function recordOf<Item>(entries: readonly (readonly [string, Item])[]): {
  readonly [name: string]: Item
} {
  return Object.assign(Object.create(null), Object.fromEntries(entries))
}

const isWord = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)
